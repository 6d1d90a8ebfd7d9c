package lexical

import (
	"bytes"
	"strings"
	"sync"

	"github.com/kljensen/snowball/english"
)

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
	stop, times map[string]bool
	irregular   map[string]string // an inflected form to its base
}

// lexicon is made when the first text is read, so that a run that never
// searches does not pay for it.
var lexicon = sync.OnceValue(func() words {
	w := words{set(stopWords), set(timeWords), map[string]string{}}
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
	if lexicon().times[string(word)] {
		return true
	}
	switch rest := bytes.TrimLeft(word, "0123456789"); string(rest) {
	case "":
		return len(word) == 4
	case "st", "nd", "rd", "th":
		return len(rest) < len(word)
	}
	return false
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
