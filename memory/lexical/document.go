package lexical

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
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
	*a = analyser{stems: a.stems, at: a.at, found: a.found[:0], words: a.words[:0], buf: a.buf, marks: a.marks}
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

// silent are characters that may stand inside a word and say nothing: a soft hyphen, a
// non-joiner, a joiner.
const silent = "\u00ad\u200c\u200d"

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
		case strings.ContainsRune(silent, r), r == utf8.RuneError:
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

// stemOf gives the term of a folded word, "" for a stop word. Words of other
// languages go the same way: what the stemmer takes from them, it takes from
// them everywhere, so that they find themselves whatever the text around them
// is written in.
func stemOf(word string) string {
	l := lexicon()
	if l.stop[word] {
		return ""
	}
	if base, ok := l.irregular[word]; ok {
		word = base
	}
	return english.Stem(word, true)
}

type words struct {
	stop, times, kinds      map[string]bool
	english, others, asking map[string]bool   // see functions
	irregular               map[string]string // an inflected form to its base
}

// lexicon is made when the first text is read, so that a run that never
// searches does not pay for it.
var lexicon = sync.OnceValue(func() words {
	w := words{set(stopWords), set(timeWords), set(kindTerms), set(onlyEnglish), set(otherLanguages), set(askingForKinds), map[string]string{}}
	for _, forms := range strings.Split(irregularForms, ",") {
		f := strings.Fields(forms)
		for _, form := range f[1:] {
			w.irregular[form] = f[0]
		}
	}
	return w
})

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// timeWord tells whether a folded word says when: one of timeWords, a year, or
// an ordinal.
func timeWord(word []byte) bool {
	rest := bytes.TrimLeft(word, "0123456789")
	digits := len(word) - len(rest)
	return lexicon().times[string(word)] || digits == 4 && len(rest) == 0 ||
		digits > 0 && slices.Contains([]string{"st", "nd", "rd", "th"}, string(rest))
}

// stopWords are the function words of English. Those of other languages are
// left to their low weight.
const stopWords = `a about above after again against all also am an and any are as at be because been before being below between
both but by can cannot could did do does doing done down during each few for from further had has have having he her here hers herself
him himself his how i if in into is it its itself just ll m may me might mine more most must my myself nor no not of off on once only or
other our ours ourselves out over own re s same shall she should so some such t than that the their theirs them themselves then there
these they this those through to too under until up us ve very was we were what when where which while who whom whose why will with
would d you your yours yourself yourselves`

// timeWords are words that say when something was, folded, in English, German,
// Spanish, Chinese and Japanese; in the last two a word is a pair.
const timeWords = `yesterday today tonight tomorrow last next ago since week weeks weekend month months year years day days
monday tuesday wednesday thursday friday saturday sunday
january february march april may june july august september october november december
summer winter spring fall autumn recently just soon morning evening night
gestern heute morgen vorgestern ubermorgen letzte letzten letzter nachste nachsten woche wochen monat monate jahr jahre tag tage
montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar marz mai juni juli oktober dezember sommer herbst fruhling abend
ayer hoy manana anoche pasado pasada proximo proxima semana semanas mes meses ano anos dia dias
lunes martes miercoles jueves viernes sabado domingo
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre verano invierno primavera otono tarde noche
昨天 今天 明天 昨日 今日 明日 去年 今年 明年 来年 上周 下周 周末 上月 下月 星期 先週 来週 今週 週末 先月 来月 月曜 火曜 水曜 木曜 金曜 土曜 日曜`

// irregularForms are groups of a base and the forms of it that a stemmer,
// which only cuts endings, cannot bring together.
const irregularForms = `become became,begin began begun,bite bit bitten,blow blew blown,break broke broken,bring brought,build built,
buy bought,catch caught,choose chose chosen,come came,deal dealt,dig dug,draw drew drawn,dream dreamt,drink drank drunk,
drive drove driven,eat ate eaten,fall fell fallen,feed fed,feel felt,fight fought,find found,fly flew flown,forget forgot forgotten,
forgive forgave forgiven,freeze froze frozen,get got gotten,give gave given,go went gone,grow grew grown,hang hung,hear heard,
hide hid hidden,hold held,keep kept,know knew known,lead led,learn learnt,leave left,lend lent,lose lost,make made,mean meant,
meet met,pay paid,prove proven,ride rode ridden,ring rang rung,rise rose risen,run ran,say said,see saw seen,seek sought,sell sold,
send sent,shake shook shaken,shine shone,shoot shot,show shown,sing sang sung,sink sank sunk,sit sat,sleep slept,speak spoke spoken,
spend spent,stand stood,steal stole stolen,stick stuck,strike struck,swear swore sworn,swim swam swum,take took taken,teach taught,
tear tore torn,tell told,think thought,throw threw thrown,understand understood,wake woke woken,wear wore worn,win won,
write wrote written,child children,person people,man men,woman women,foot feet,tooth teeth,mouse mice,wife wives,life lives,
knife knives,half halves,shelf shelves,leaf leaves,good better best,bad worse worst`
