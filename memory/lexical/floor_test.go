package lexical_test

import (
	"slices"
	"testing"

	"mylm/memory/lexical"
)

// TestFunctionWords: in a memory of a few texts those of other languages find
// nothing by themselves. English words that look like them do.
func TestFunctionWords(t *testing.T) {
	m := remember(
		"Der Server im Labor hat die Adresse 172.20.5.9.", "La reunión del consejo es el martes a las 17:00.", "Le code du portail est 4482B.",
		"Совещание проходит в кабинете 306.", "猫の名前はこむぎです。", "He died in the war.", "The red hat is mine.", "The van was towed.",
	)
	for query, want := range map[string][]uint32{
		"welche Adresse hat der Server?":       {0},
		"wie tief ist der Brunnen in der Hand": nil,
		"¿cuándo es la reunión?":               {1},
		"¿quién pintó el retrato de la sala?":  nil,
		"quel est le code ?":                   {2},
		"quel est le nom du chat ?":            nil,
		"где проходит совещание?":              {3},
		"как зовут кошку в доме?":              nil,
		"猫の名前は何ですか？":                           {4},
		"運賃はいくらですか？":                           nil,
		"die war":                              {0, 5},
		"did he die in the war?":               {0, 5},
		"hat":                                  {0, 6},
		"van und hat":                          {0, 6, 7},
	} {
		got := docs(ask(t, m, query))
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%q: found %v, want %v", query, got, want)
		}
	}
}

// TestFloor: a question finds something if enough of its words are known, however rare
// each is; a name of several terms is one word, a pair of Chinese characters is not known
// because each of them is, and a list of words needs fewer.
func TestFloor(t *testing.T) {
	m := remember("The oxygen is in the room behind X-ray.", "Der Schlüssel zum Lager hängt hinter der Kasse.", "大家里外都说发点什么",
		"The lift is inspected in May.", "The lift is red.", "The lift stops at night.")
	for query, want := range map[string][]uint32{
		"where is the oxygen of the clinic?":           {0},
		"how much does the dental x-ray picture cost?": nil,
		"when is the lift cleaned?":                    {3, 4, 5},
		"when does the plumber clean the lift?":        nil,
		"plumber clean lift":                           {3, 4, 5},
		"wo finde ich den Lagerschlüssel?":             {1},
		"去大连的渡轮几点出发？":                                  nil,
	} {
		got := docs(ask(t, m, query))
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%q: found %v, want %v", query, got, want)
		}
	}
}

// People are asked about in words that they did not use, of which fewer must be held.
func TestFloorOfConversations(t *testing.T) {
	for speaker, want := range map[string]int{"": 0, "Ada": 1} {
		var m lexical.Memory
		m.Add(lexical.Entry{Text: "Let us make the remote cheaper.", Speaker: speaker})
		if got := len(ask(t, &m, "summarize the discussion about the appearance of the remote")); got != want {
			t.Errorf("said by %q: found %d", speaker, got)
		}
	}
}
