package calling

import (
	"time"
	"unicode/utf8"

	"mylm/providers"
)

// mostTokens is beyond what any backend reads or writes in one call.
const mostTokens = 1 << 30

// plausible is a backend's account without what nothing can have cost.
func plausible(u providers.Usage) providers.Usage {
	for _, n := range []*int{&u.Prompt, &u.Output, &u.Evaluated} {
		if *n < 0 || *n > mostTokens {
			*n = 0
		}
	}
	for _, d := range []*time.Duration{&u.Load, &u.PromptTime, &u.OutputTime} {
		if *d < 0 {
			*d = 0
		}
	}
	return u
}

// What characters cost in hundredths of a token. Tokenizers take 3.5 to 4.5
// letters of English for a token, one to three digits, and most characters
// beyond the alphabets by themselves or in pieces. The figures are on the high
// side: they hold until the backend has counted a prompt, and overestimating a
// prompt costs less than having it truncated.
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

	// MessageTokens is what a chat template puts around a message.
	MessageTokens = 8
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

// tokenCounter adds up what characters cost, in either direction of reading.
type tokenCounter struct {
	total int // hundredths of a token
	run   int // letters and digits since the last other character
}

func (g *tokenCounter) add(r rune) {
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

// Estimate guesses the tokens of a text, on the high side.
func Estimate(s string) int {
	var g tokenCounter
	for _, r := range s {
		g.add(r)
	}
	return (g.total + 99) / 100
}

// HeadOf is how many bytes of s, in whole characters, are within limit tokens.
func HeadOf(s string, limit int) int {
	var g tokenCounter
	for i, r := range s {
		if g.add(r); g.total > 100*limit {
			return i
		}
	}
	return len(s)
}

// TailOf is where the last limit tokens of s begin.
func TailOf(s string, limit int) int {
	var g tokenCounter
	for end := len(s); end > 0; {
		r, size := utf8.DecodeLastRuneInString(s[:end])
		if g.add(r); g.total > 100*limit {
			return end
		}
		end -= size
	}
	return 0
}
