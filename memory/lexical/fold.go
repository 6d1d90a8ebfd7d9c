package lexical

import (
	"cmp"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Half-width signs of katakana, which Unicode counts to no script.
const (
	halfLong       = '\uff70'
	halfVoiced     = '\uff9e'
	halfHalfVoiced = '\uff9f'
)

// Characters that may stand inside a word and say nothing.
const (
	softHyphen = '\u00ad'
	nonJoiner  = '\u200c'
	joiner     = '\u200d'
)

// fold writes a word to buf without the difference of case, of accents and of
// width: Müller, MULLER and a decomposed Mu¨ller are one.
func (a *analyser) fold(word string) {
	a.buf = a.buf[:0]
	for i := 0; i < len(word); i++ {
		c := word[i]
		if c >= utf8.RuneSelf {
			a.foldWide(word)
			return
		}
		if classes[c] == upper {
			c |= ' '
		}
		a.buf = append(a.buf, c)
	}
}

// foldWide is fold for a word that is not all ASCII. Accents are dropped from
// letters of the scripts where a word without them is still read; elsewhere
// marks are vowels, and stay, decomposed in documents and queries alike.
func (a *analyser) foldWide(word string) {
	a.buf = a.buf[:0]
	var plain bool // the last letter was Latin, Greek or Cyrillic
	for _, r := range norm.NFKD.String(word) {
		switch {
		case r == softHyphen, r == nonJoiner, r == joiner, r == utf8.RuneError:
		case unicode.Is(unicode.Mn, r):
			if !plain {
				a.buf = utf8.AppendRune(a.buf, r)
			}
		default:
			r = unicode.ToLower(r)
			plain = r < 0x0530
			a.buf = append(a.buf, cmp.Or(plainLetters[r], string(r))...)
		}
	}
	if len(a.buf) > maxWord { // a ligature may stand for many letters
		a.buf = a.buf[:len(cut(string(a.buf)))]
	}
}

// plainLetters is how a letter without a decomposition is written where the
// keyboard lacks it.
var plainLetters = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th", 'ı': "i", 'ς': "σ",
}
