package tools

import (
	"math/big"
	"strconv"
	"strings"
)

// maxInteger is how many digits an integer that was written with an exponent
// may have when written out. float64 ends at 309.
const maxInteger = 1000

// number is the exact value of a literal. An exponent so large that the value is
// beyond every float64 is replaced by a smaller one that is, too, so that
// 1e999999999 costs no more than 1.
func number(literal string) *big.Rat {
	mantissa, exponent := literal, "0"
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		mantissa, exponent = literal[:i], literal[i+1:]
	}
	most := int64(maxInteger + len(literal))
	n, _ := strconv.ParseInt(exponent, 10, 64) // one that is out of range becomes the largest
	value, ok := new(big.Rat).SetString(mantissa + "e" + strconv.FormatInt(min(max(n, -most), most), 10))
	if !ok {
		return new(big.Rat)
	}
	return value
}

// float is the shortest decimal that reads back as f: what the author of a
// schema wrote, not its binary neighbour.
func float(f float64) *big.Rat { return number(formatFloat(f)) }

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// isInteger reports whether a literal is the number of an integer.
func isInteger(literal string) bool {
	return !strings.ContainsAny(literal, ".eE") || number(literal).IsInt()
}

// integer writes an integral number without point and exponent. It returns nil
// if that has more digits than maxInteger.
func integer(v *node) *node {
	literal := string(v.raw)
	if !strings.ContainsAny(literal, ".eE") {
		return v
	}
	switch n := number(literal); {
	case !n.IsInt():
		return v
	default:
		text := n.Num().String()
		if len(text) > maxInteger && len(text) > len(literal) {
			return nil
		}
		return &node{kind: isNumber, raw: []byte(text)}
	}
}
