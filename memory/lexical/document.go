package lexical

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Bounds on what one text may cost, however it is made.
const (
	// maxWord is the longest term in bytes. What is longer is data, which
	// nobody types; it is known by its beginning.
	maxWord = 64
	// maxStems is how many words an analyser remembers before it starts afresh.
	maxStems = 1 << 14
)

// Document is what the index knows of a text.
type Document struct {
	// Terms are the distinct index terms in ascending order, of at most 64 bytes
	// each.
	Terms []TermCount
	// Length is the number of words that the terms were made of.
	Length int
	// Flags says whether the text holds TimeWords and whether it Asks.
	Flags Flags
}

// TermCount is a term and how often a text holds it, 65,535 standing for more.
type TermCount struct {
	Term  string
	Count uint16
}

// Flags are properties of a document that the ranking looks at.
type Flags uint8

// The first two are found by Analyse, the others are set by whoever keeps the
// documents.
const (
	TimeWords     Flags = 1 << iota // it says when something was
	Asks                            // more of it is in questions than in statements
	Deleted                         // it is never found and no neighbour of anything
	Superseded                      // a later document corrects it: found with Query.History only
	FromAssistant                   // an assistant said it
	FromTool                        // a tool printed it
)

// Analyse reads a text. Every text is one: NUL and bytes that are no UTF-8
// separate words. It is safe for concurrent use.
func Analyse(text string) Document {
	a := analysers.Get().(*analyser)
	a.scan(text)
	d := Document{Terms: slices.Clone(a.found), Length: a.length}
	if a.times {
		d.Flags |= TimeWords
	}
	if mostlyAsks(text) {
		d.Flags |= Asks
	}
	slices.SortFunc(d.Terms, func(x, y TermCount) int { return strings.Compare(x.Term, y.Term) })
	a.release()
	return d
}

// analysers are kept because most words of a text were in the one before.
var analysers = sync.Pool{New: func() any {
	return &analyser{stems: map[string]string{}, at: map[string]int{}}
}}

// analyser turns text into terms.
type analyser struct {
	stems  map[string]string // folded word to term, "" for a stop word
	at     map[string]int    // term to its place in found
	found  []TermCount       // in the order of their first appearance
	length int
	times  bool // a time word was seen
	buf    []byte
	marks  []int // where the characters of a run begin

	// A query is read in the same way with two differences: single characters
	// are kept only where they stand alone, and each term remembers the word it was
	// made of.
	query bool
	word  string
	words []string // of found
}

func (a *analyser) release() {
	if len(a.at) > 1024 { // a large map is slow to clear for ever after
		a.at, a.found = map[string]int{}, nil
	}
	clear(a.at)
	a.found, a.words, a.length, a.times = a.found[:0], a.words[:0], 0, false
	a.query, a.word = false, ""
	analysers.Put(a)
}

// add counts a term. A string is made of it when it is first seen.
func add[T string | []byte](a *analyser, term T) {
	if i, ok := a.at[string(term)]; ok {
		if c := &a.found[i].Count; *c < math.MaxUint16 {
			*c++
		}
		return
	}
	a.at[string(term)] = len(a.found)
	a.found = append(a.found, TermCount{string(term), 1})
	if a.query {
		a.words = append(a.words, a.word)
	}
}

// mostlyAsks tells whether more of a text is in questions than in statements.
func mostlyAsks(text string) bool {
	var ask, state, start int
	for i, r := range text {
		switch r {
		case '?', '？':
			ask += i - start
			start = i
		case '.', '!', '。', '！':
			state += i - start
			start = i
		}
	}
	return ask > state+len(text)-start
}

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
