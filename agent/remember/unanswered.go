package remember

import (
	"slices"
	"strings"
	"sync"
	"unicode"
)

// maxUnanswered is how long a reply without an answer is at most, in bytes: it may
// repeat the question, and offer help.
const maxUnanswered = 600

// unanswered reports whether a reply says no more than that its author does not
// know, or has found nothing. Every clause of it must do so, apologise, ask back, or
// offer help: what is said besides is an answer.
func unanswered(reply string) bool {
	if len(reply) > maxUnanswered {
		return false
	}
	said := false
	for clause := range strings.SplitSeq(clauses().Replace(strings.ToLower(reply)+"\n"), "\n") {
		clause = strings.TrimSpace(clause)
		holds := func(words string) bool { return strings.Contains(clause, words) }
		begins := func(words string) bool { return strings.HasPrefix(clause, words) }
		switch {
		case oneOf(denials, holds):
			said = true
		case clause != "" && !strings.HasSuffix(clause, "?") && !oneOf(courtesies, begins):
			return false
		}
	}
	return said
}

// maxEchoed is how many words a reply has at most that repeats a statement, besides those of
// the statement: "Good to know that … I will use that from now on."
const maxEchoed = 12

// echoes reports whether a reply only repeats a statement, as sentences of their own. It says
// nothing new, and next to it the statement would be taken for a request that the reply has
// carried out. What goes on in the sentence is an answer, and a number besides may be news.
func echoes(reply, statement string) bool {
	if lead, text, ok := strings.Cut(statement, ": "); ok && strings.Count(lead, " ") < 5 { // "For your information: …"
		statement = text
	}
	told := strings.Trim(sentences(statement), " .")
	before, after, ok := strings.Cut(" "+sentences(reply)+" . ", " "+told+" . ")
	rest := strings.Fields(strings.ReplaceAll(before+" "+after, ".", " "))
	return told != "" && ok && len(rest) <= maxEchoed && !strings.ContainsFunc(before+after, unicode.IsDigit)
}

// sentences is a text as its words, with a point behind each sentence.
func sentences(text string) string {
	text = strings.NewReplacer("! ", " . ", "? ", " . ", ". ", " . ", "\n", " . ", "。", " . ", "！", " . ").Replace(strings.ToLower(text) + " ")
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' }), " ")
}

func oneOf(list string, is func(string) bool) bool {
	return slices.ContainsFunc(strings.Split(list, "\n"), is)
}

// clauses ends each clause with a line end, and writes what is written in several
// ways in one.
var clauses = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("’", "'", "n't", " not", "n’t", " not", "cannot", "can not", "i'm", "i am", "*", "", "`", "", "\"", "", "…", "",
		". ", "\n", ".\n", "\n", "! ", "\n", "!\n", "\n", "? ", "?\n", "?\n", "?\n", "。", "\n", "！", "\n", "？", "?\n", "; ", "\n",
		", but ", "\n", ", however", "\n", ", though ", "\n", ", aber ", "\n", ", pero ", "\n", ", mais ", "\n", ", ma ", "\n", ", mas ", "\n",
		", maar ", "\n", ", men ", "\n", ", ale ", "\n", ", но ", "\n", "，但", "\n")
})

// denials are how somebody says that they do not know, or have found nothing, in the
// languages whose function words the ranking knows, and Korean.
const denials = `i do not know
i do not have any information
i do not have information
i do not have that information
i do not have any record
i do not have a record
i do not have any memor
i do not have enough information
i do not recall
i do not remember
i have no information
i have no record
i have no memor
i have no idea
i have nothing
i am not sure
i can not find
i can not answer
i could not find
i could not locate
i did not find
i am unable to
i was unable to
i was not able to
i could not finish
i could not complete
i ran out of
i am not able to
i found nothing
i found no
no information
no record of
no records of
no results
no relevant
no memories
no memory of
nothing found
nothing was found
nothing matches
nothing relevant
nothing about
nothing in my memory
nothing in the memory
not in my memory
could not be found
ich weiß nicht
ich weiß es nicht
weiß ich nicht
weiss nicht
keine information
keine angabe
keine einträge
keine erinnerung
nichts gefunden
nichts dazu
nichts darüber
nicht finden
konnte nichts
no lo sé
no sé
no encontré
no he encontrado
no pude encontrar
no tengo información
no tengo ning
no hay información
no dispongo de
je ne sais pas
je l'ignore
rien trouvé
pas trouvé
aucune information
je n'ai aucun
je n'ai pas d'information
non lo so
non ho trovato
nessuna informazione
non ho informazioni
não sei
não encontrei
não tenho informa
nenhuma informação
ik weet het niet
ik weet niet
niets gevonden
geen informatie
niet vinden
jag vet inte
hittade inget
ingen information
nie wiem
nie znalazł
brak informacji
nie mam informacji
не знаю
не нашёл
не нашел
не нашла
не найдено
нет информации
нет сведений
わかりません
分かりません
知りません
見つかりません
見つけられません
情報はありません
情報がありません
不知道
没有找到
没找到
找不到
未找到
没有相关
没有关于
沒有找到
모르겠
찾지 못
찾을 수 없
정보가 없`

// courtesies are how a clause begins that accompanies them.
const courtesies = `please
let me know
if you
sorry
i am sorry
i apolog
unfortunately
feel free
i searched
bitte
leider
tut mir leid
entschuldig
wenn du
wenn sie
falls
lo siento
por favor
si quieres
désolé
je suis désolé
malheureusement
n'hésite
mi dispiace
desculpe
sinto muito
infelizmente
helaas
tyvärr
niestety
przepraszam
к сожалению
извините
простите
пожалуйста
申し訳
すみません
抱歉
对不起
请
如果`
