package agent

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"mylm/tools"
)

// What characters cost in hundredths of a token. Tokenizers take 3.5 to 4.5
// letters of English for a token, one to three digits, and most characters
// beyond the alphabets by themselves or in pieces. The figures are on the high
// side: they hold until the backend has counted a prompt, and a prompt that is
// taken for too long costs less than one that is cut.
const (
	costLetter  = 30
	costCapital = 40
	costSpace   = 15
	costDigit   = 60
	costSymbol  = 70
	costForeign = 60  // letters of two bytes: Latin with accents, Cyrillic, Greek
	costWide    = 120 // three bytes: Chinese, Japanese, Korean and others
	costOther   = 250 // four bytes: emoji and rare scripts
	costNoise   = 55  // a letter or digit in a run that is no word: hashes, base64

	longestWord = 16 // letters and digits in a row before they are taken for noise

	messageTokens = 8 // what a chat template puts around a message
)

// cost is that of a character of ASCII.
func cost(c rune) int {
	switch {
	case 'a' <= c && c <= 'z':
		return costLetter
	case c == ' ':
		return costSpace
	case 'A' <= c && c <= 'Z':
		return costCapital
	case '0' <= c && c <= '9':
		return costDigit
	}
	return costSymbol
}

// gauge adds up what characters cost, in either direction of reading.
type gauge struct {
	total int // hundredths of a token
	run   int // letters and digits since the last other character
}

func (g *gauge) add(r rune) {
	if r >= utf8.RuneSelf {
		g.run = 0
		switch {
		case r == utf8.RuneError:
			g.total += costWide
		case r < 0x800:
			g.total += costForeign
		case r < 0x10000:
			g.total += costWide
		default:
			g.total += costOther
		}
		return
	}
	c := cost(r)
	if c == costSymbol || c == costSpace {
		g.run = 0
	} else if g.run++; g.run > longestWord {
		c = max(c, costNoise)
	}
	g.total += c
}

// estimate guesses the tokens of a text.
func estimate(s string) int {
	var g gauge
	for _, r := range s {
		g.add(r)
	}
	return (g.total + 99) / 100
}

// countWords counts the words between spaces.
func countWords(s string) (n int) {
	inWord := false
	for _, r := range s {
		space := unicode.IsSpace(r)
		if !space && !inWord {
			n++
		}
		inWord = !space
	}
	return n
}

// headOf is how many bytes of s, in whole characters, are within limit tokens.
func headOf(s string, limit int) int {
	var g gauge
	for i, r := range s {
		if g.add(r); g.total > 100*limit {
			return i
		}
	}
	return len(s)
}

// tailOf is where the last limit tokens of s begin.
func tailOf(s string, limit int) int {
	var g gauge
	for end := len(s); end > 0; {
		r, size := utf8.DecodeLastRuneInString(s[:end])
		if g.add(r); g.total > 100*limit {
			return end
		}
		end -= size
	}
	return 0
}

// markerTokens is what the marker of a cut takes at most.
const markerTokens = 24

// shorten keeps the first two thirds and the last third of what limit tokens
// hold, see tools.Abridge. A limit of 0 keeps everything.
func shorten(s string, limit int) string {
	if limit <= 0 || len(s) <= limit || headOf(s, limit) == len(s) {
		return s
	}
	limit = max(3, limit-markerTokens)
	head := headOf(s, limit*2/3)
	short := tools.Abridge(s, head, len(s)-max(head, tailOf(s, limit/3)))
	if estimate(short) >= estimate(s) {
		return s
	}
	return short
}

func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if stem, ok := strings.CutSuffix(thing, "y"); ok {
		thing = stem + "ie"
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
