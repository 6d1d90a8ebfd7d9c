package lexical

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A text is cut into chunks: letters, digits and marks, and what joins them in
// names that programs have (main.go, max_size, /etc/hosts, v1.2.3, CVE-2024-1).
// A chunk gives its words, and itself if it has several. A word gives itself,
// and the parts of names in mixed case (parseConfig) or with a number (llama3).

// class is what a byte of ASCII is in a text.
type class = byte

const (
	other class = '.'
	lower class = 'a'
	upper class = 'A'
	digit class = '0'
	joint class = '-' // joins words when it stands alone between two
)

// classes has the class of each byte of ASCII, 32 a row.
const classes = "................................" + // control characters
	"......-......---0000000000-....." + // & - . / and : are joints
	"-AAAAAAAAAAAAAAAAAAAAAAAAAA.-..-" + // @ \ and _
	".aaaaaaaaaaaaaaaaaaaaaaaaaa....."

// scan counts the terms of a text.
func (a *analyser) scan(text string) {
	for i := 0; i < len(text); {
		kind, size := kindAt(text, i)
		switch kind {
		case wordKind:
			i = a.chunk(text, i)
		case noKind:
			i += size
		default:
			i = a.run(text, i, kind)
		}
	}
}

// chunk reads the chunk that begins at start and returns where it ends.
func (a *analyser) chunk(text string, start int) int {
	end, joints := start, 0
	for end < len(text) {
		kind, size := kindAt(text, end)
		if kind == wordKind {
			end += size
			continue
		}
		if c := text[end]; c >= utf8.RuneSelf || classes[c] != joint {
			break
		}
		if kind, _ := kindAt(text, end+1); kind != wordKind {
			break
		}
		joints++
		end++
	}
	chunk := text[start:end]
	if n := negation(text[end:]); n > 0 && joints == 0 {
		return end + n
	}
	a.word = chunk
	if n := symbol(text[end:]); n > 0 {
		a.whole(text[start : end+n])
	}
	if joints == 0 {
		a.name(chunk)
		return end
	}
	a.joined(chunk)
	return end
}

// negation is the size of the 't behind a word, 0 if there is none. A word with
// it is dropped: won't says nothing that can be looked for, won does.
func negation(rest string) int {
	for _, t := range []string{"'t", "’t"} {
		if kind, _ := kindAt(rest, len(t)); strings.HasPrefix(rest, t) && kind != wordKind {
			return len(t)
		}
	}
	return 0
}

// symbol is the size of what belongs to a name though it is no letter: C++, C#.
func symbol(rest string) int {
	for _, s := range []string{"++", "#"} {
		if kind, _ := kindAt(rest, len(s)); strings.HasPrefix(rest, s) && kind == noKind {
			return len(s)
		}
	}
	return 0
}

// joined reads a chunk of several words.
func (a *analyser) joined(chunk string) {
	a.whole(chunk)
	if len(chunk) > 2 && chunk[0]|' ' == 'v' && classAt(chunk, 1) == digit {
		a.whole(chunk[1:]) // v1.2.3 is 1.2.3 to most
	}
	element := 0 // of a path
	inner := false
	start := 0
	for i := 0; i <= len(chunk); i++ {
		c := byte('/')
		if i < len(chunk) {
			if c = chunk[i]; c >= utf8.RuneSelf || classes[c] != joint {
				continue
			}
		}
		a.name(chunk[start:i])
		start = i + 1
		if c != '/' && c != '\\' {
			inner = true
			continue
		}
		if inner && i-element < len(chunk) {
			a.whole(chunk[element:i])
		}
		element, inner = i+1, false
	}
}

// whole adds a chunk as it stands. One that is too long is known by its words.
func (a *analyser) whole(chunk string) {
	if len(chunk) > maxWord {
		return
	}
	a.fold(chunk)
	for i, c := range a.buf {
		if c == '\\' {
			a.buf[i] = '/'
		}
	}
	add(a, a.buf)
}

// name reads one word, and its parts if it has any.
func (a *analyser) name(word string) {
	if len(word) == 0 {
		return
	}
	if len(word) > maxWord {
		word = cut(word)
	}
	if parted(word) {
		start := 0
		for i := 1; i < len(word); i++ {
			if boundary(word, i) {
				a.term(word[start:i])
				start = i
			}
		}
		a.term(word[start:])
	}
	a.term(word)
}

// parted tells whether the parts of a word are words by themselves: those of
// mixed case are, and letters beside a number. Digits and letters in turns are
// a hash or an id, whose parts mean nothing.
func parted(word string) bool {
	cases, numbers := 0, 0
	for i := 1; i < len(word); i++ {
		switch {
		case !boundary(word, i):
		case classAt(word, i-1) == digit || classAt(word, i) == digit:
			numbers++
		default:
			cases++
		}
	}
	return numbers <= 1 && cases+numbers > 0
}

// boundary tells whether a part of a name begins at i: parse|Config,
// HTTP|Server, llama|3.
func boundary(word string, i int) bool {
	a, b := classAt(word, i-1), classAt(word, i)
	switch {
	case a == other || b == other:
		return false
	case a == digit || b == digit:
		return a != b
	case a == lower:
		return b == upper
	}
	// Two small letters: the one in DVDs begins no word.
	return a == upper && b == upper && classAt(word, i+1) == lower && classAt(word, i+2) == lower
}

func classAt(s string, i int) class {
	if i >= len(s) || s[i] >= utf8.RuneSelf {
		return other
	}
	return classes[s[i]]
}

// term adds a word in the form in which it is looked for: folded, and the stem
// of it, unless it is a stop word.
func (a *analyser) term(word string) {
	a.fold(word)
	if len(a.buf) == 0 {
		return
	}
	stem, ok := a.stems[string(a.buf)]
	if !ok {
		w := string(a.buf)
		stem = stemOf(w)
		if len(a.stems) >= maxStems {
			clear(a.stems)
		}
		a.stems[w] = stem
	}
	if !a.times {
		a.times = timeWord(a.buf)
	}
	if stem != "" {
		a.length++
		add(a, stem)
	}
}

// cut ends a word where it has maxWord bytes, but not within a character.
func cut(word string) string {
	n := maxWord
	for n > 0 && !utf8.RuneStart(word[n]) {
		n--
	}
	return word[:n]
}

// kind is how a character takes part in a text.
type kind uint8

const (
	noKind   kind = iota // separates
	wordKind             // belongs to a word
	// Scripts that put no space between words, each by itself: a run ends where
	// the script changes, as between the kanji of a word and its ending.
	han
	hiragana
	katakana
	hangul
	thai
	lao
	khmer
	burmese
)

// scripts are those of the kinds.
var scripts = []*unicode.RangeTable{han: unicode.Han, hiragana: unicode.Hiragana, katakana: unicode.Katakana,
	hangul: unicode.Hangul, thai: unicode.Thai, lao: unicode.Lao, khmer: unicode.Khmer, burmese: unicode.Myanmar}

// kindAt tells the kind and size of the character at i, noKind at the end.
func kindAt(text string, i int) (kind, int) {
	if i >= len(text) {
		return noKind, 0
	}
	if c := text[i]; c < utf8.RuneSelf {
		if k := classes[c]; k == other || k == joint {
			return noKind, 1
		}
		return wordKind, 1
	}
	r, size := utf8.DecodeRuneInString(text[i:])
	return kindOf(r), size
}

func kindOf(r rune) kind {
	switch {
	case r < 0x0E00:
		if unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || strings.ContainsRune(silent, r) {
			return wordKind
		}
		return noKind
	case r == utf8.RuneError:
		return noKind
	case r == 'ー', r == '\uff70', r == '\uff9e', r == '\uff9f': // half-width signs, which Unicode counts to no script
		return katakana
	}
	for k := han; int(k) < len(scripts); k++ {
		if unicode.Is(scripts[k], r) {
			return k
		}
	}
	if unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || strings.ContainsRune(silent, r) {
		return wordKind
	}
	return noKind
}

// run reads characters of a script without spaces: each pair of neighbours is
// a term, and each Chinese character, since it may be a word. A query looks
// for single characters only where there is no pair.
func (a *analyser) run(text string, start int, script kind) int {
	end := start
	for end < len(text) {
		k, size := kindAt(text, end)
		if k != script {
			break
		}
		end += size
	}
	s := text[start:end]
	if !norm.NFKC.IsNormalString(s) { // half-width kana are two characters where others are one
		s = norm.NFKC.String(s)
	}
	a.marks = a.marks[:0]
	for i, r := range s {
		if i == 0 || !unicode.IsMark(r) {
			a.marks = append(a.marks, i)
		}
	}
	a.marks = append(a.marks, len(s))
	n := len(a.marks) - 1
	if n == 1 || script == han && !a.query {
		for i := range n {
			a.gram(s[a.marks[i]:a.marks[i+1]])
		}
	}
	for i := range n - 1 {
		a.gram(s[a.marks[i]:a.marks[i+2]])
	}
	a.length += max(1, n-1)
	return end
}

func (a *analyser) gram(s string) {
	if len(s) > maxWord { // marks without end
		s = cut(s)
	}
	a.word = s
	a.buf = append(a.buf[:0], s...)
	a.times = a.times || timeWord(a.buf)
	add(a, a.buf)
}
