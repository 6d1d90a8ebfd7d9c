package lexical

import (
	"strings"
	"unicode"
)

// functions reads the function words of a query, and whether it is a list of words.
//
// Kinds are the terms of words that name the kind of the answer: which port, how many
// hours, quel jour. An answer need not hold them.
//
// Others are the terms that are function words of another language than English, none
// if the query may well be English. The index has them, since a word may be one in one
// language and mean something in another (war, die, come), and in a memory of one
// language they are common. In one of a few texts, or of several languages, they are
// not, and would find whatever holds them.
func (s *search) functions(a *analyser) (kinds, others map[string]bool) {
	kinds, others, s.listed = map[string]bool{}, map[string]bool{}, true
	for _, t := range a.found { // pairs of characters
		if lexicon().others[t.Term] {
			others[t.Term] = true
		}
	}
	english, asked := 0, false
	for _, word := range strings.FieldsFunc(s.query.Text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
		kind, _ := kindAt(word, 0)
		a.fold(word)
		w := string(a.buf)
		s.listed = s.listed && kind == wordKind && !lexicon().stop[w]
		if lexicon().english[w] {
			english++
		} else if lexicon().others[w] {
			others[stemOf(w)] = true
		}
		if lexicon().asking[w] {
			asked = true
		} else if asked && w != "de" {
			kinds[stemOf(w)], asked = true, false
		}
	}
	if len(others) < 2 || len(others) <= english {
		return kinds, nil
	}
	return kinds, others
}

// askingForKinds are words before the one that names the kind of the answer, folded.
const askingForKinds = `which what many much welche welcher welches welchen welchem viel viele que cual cuanto cuanta cuantos cuantas
quel quelle quels quelles combien quale quali quanti quante qual quais quantos quantas welk welke hoeveel vilken vilket vilka jaki jaka jakie
какой какая какое какие каком каким какого сколько`

// functionCharacter tells whether a Chinese character is a function word by itself. It
// says nothing where it stands for a pair that nobody used.
func functionCharacter(r rune) bool {
	return strings.ContainsRune("的了是在有和与就都也很不没我你他她它们这那哪谁什么怎吗呢吧啊个几多少会要能可以到从对给把被让用为说", r)
}

// onlyEnglish are frequent English words that are frequent in no other of the
// languages below.
const onlyEnglish = `the of and are to for with by from at this that what which who when where why how did does my your his her our their
i you she they have has been will would should could can not it its there about`

// otherLanguages are function words of German, Spanish, French, Italian, Portuguese,
// Dutch, Swedish, Polish and Russian, folded, and pairs of characters of Japanese and
// Chinese. A word that English has, too, counts only beside others.
const otherLanguages = `der die das den dem des ein eine einen einem einer eines und oder aber nicht kein keine ich er sie es wir ihr mich dich sich
uns euch mir dir ihm ihn ihnen mein meine meinen meinem meiner dein deine deinen sein seine seinen ihre ihren unser unsere unseren unserem
unserer ist sind war waren bin bist hat habe haben hatte wird werden wurde kann konnen muss mussen soll darf im am auf aus bei mit nach seit
von vom zu zum zur um fur uber unter vor durch ohne gegen als wenn dass wie wer wen wem wo wann warum welche welcher welches welchen
welchem wohin woher wogegen viel
el la los las un una unos unas y pero no de del al en con por para sin sobre entre es son era fue ser esta estan hay ha he se te le nos les lo
mi tu su mis sus nuestro nuestra nuestros nuestras que quien quienes cual cuales como cuando donde cuanto cuanta cuantos cuantas
une du et ou mais l d j n c qu va ne pas je il elle nous vous ils elles on ce cet cette ces est sont etait ont au aux dans par pour sur sous avec sans chez
mon ma mes ton ta tes sa ses notre votre leur leurs qui quoi quel quelle quels quelles comment quand combien pourquoi
il gli uno e non di della dei delle da dal nel nella per tra ti ci mio mia suo sua sono ho che chi quale quali dove quanto quanti perche
os um uma do dos das na nas nao com por sem ao meu minha seu sua quem qual quais onde quanto
het een en niet ik jij hij zij wij zijn heeft van op aan met voor naar uit te mijn jouw onze wat waar wanneer hoe welk welke waarom veel
och att det som ett pa ar av till var vad vem nar hur vilken vilket vilka
w na z do nie sie jest co kto gdzie kiedy jak ile jaki jaka
и в во не на я он она они мы вы ты с со к у о об от до за по из для но а же ли бы то что кто как где когда какой какая какое какие каком
каким какого чей сколько почему это этот мой моя мое наш наша наше их его ее мне меня нас был была было есть
です すか ます ませ せん まし でし した てい いる ある あり いつ どこ なに なん だれ いく くら 什么 是什 么时 时候 哪里 在哪 是哪 哪天 多少 怎么`
