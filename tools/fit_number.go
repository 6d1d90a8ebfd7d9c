package tools

import (
	"strconv"
	"strings"
)

// decimal is the exact value of a number literal: 0.digits times ten to the
// power of exp. It is compared without being written out, so that 1e999999999
// costs no more than 1.
type decimal struct {
	neg    bool
	digits string // without leading and trailing zeros; "" is zero
	exp    int64
}

// maxExponent is where exponents are cut off. Two numbers beyond it on the
// same side compare by their digits; nobody means such numbers.
const maxExponent = 1 << 50

// maxInteger is how many digits an integer that was written with an exponent
// may have when written out. float64 ends at 309.
const maxInteger = 1000

func parseDecimal(literal string) decimal {
	var d decimal
	literal, d.neg = strings.CutPrefix(literal, "-")
	mantissa, exponent := literal, ""
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		mantissa, exponent = literal[:i], literal[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	d.exp = int64(len(whole)) + parseExponent(exponent)
	digits := whole + fraction
	d.digits = strings.TrimLeft(digits, "0")
	d.exp -= int64(len(digits) - len(d.digits))
	d.digits = strings.TrimRight(d.digits, "0")
	if d.digits == "" {
		return decimal{}
	}
	return d
}

func parseExponent(s string) int64 {
	if s == "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil { // the syntax is valid: it is out of range
		n = maxExponent
		if s[0] == '-' {
			n = -n
		}
	}
	return min(max(n, -maxExponent), maxExponent)
}

// compare returns -1, 0 or 1 as d is less than, equal to or greater than e.
func (d decimal) compare(e decimal) int {
	if a, b := d.sign(), e.sign(); a != b || a == 0 {
		return compareInt(int64(a), int64(b))
	}
	c := compareInt(d.exp, e.exp)
	if c == 0 {
		c = strings.Compare(d.digits, e.digits)
	}
	if d.neg {
		return -c
	}
	return c
}

func compareInt(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.neg:
		return -1
	}
	return 1
}

func (d decimal) isInteger() bool { return int64(len(d.digits)) <= d.exp || d.digits == "" }

// integer writes d without point and exponent; "" if that is too long.
func (d decimal) integer() string {
	switch {
	case d.digits == "":
		return "0"
	case d.exp > maxInteger && d.exp > int64(len(d.digits)):
		return ""
	}
	s := d.digits + strings.Repeat("0", int(d.exp)-len(d.digits))
	if d.neg {
		return "-" + s
	}
	return s
}

// float is the shortest decimal that reads back as f: what the author of a
// schema wrote, not its binary neighbour.
func float(f float64) decimal { return parseDecimal(formatFloat(f)) }

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
