package lexical_test

import (
	"strings"
	"testing"

	"mylm/memory/lexical"
)

// TestEchoIsHeldBack: a question that asks what the query asks is not its answer,
// however long it is.
func TestEchoIsHeldBack(t *testing.T) {
	const question = "what temperature do I set for the large aquarium in the hall when the fish have young?"
	m := remember(question, "The large aquarium should stay at 25 degrees when the fish have young.")
	if hits := ask(t, m, question); len(hits) != 2 || hits[0].Doc != 1 {
		t.Errorf("found %v", docs(hits))
	}
}

// TestLongQuestionTells: a question is held back less the longer it is and the more else
// it holds, steeply between six and ten words: a long one tells something.
func TestLongQuestionTells(t *testing.T) {
	const query = "how long does the nightly backup take?"
	words := strings.Fields("tape drive accounting server floor storage vendor contract budget winter office cable shelf colleague")
	var questions []string
	for n := range len(words) + 1 {
		questions = append(questions, "nightly backup "+strings.Join(words[:n], " ")+"?")
	}
	found, err := lexical.Default().Candidates(t.Context(), remember(append(questions, "The nightly backup is slow.")...), lexical.Query{Text: query}, 50)
	if err != nil {
		t.Fatal(err)
	}
	held := map[int]float64{}
	for _, c := range found {
		held[int(c.Doc)+2] = c.Features[lexical.Question] // by its words
	}
	for n := 3; n < len(questions)+2; n++ {
		if held[n] >= held[n-1] {
			t.Errorf("%d words are held back by %.3f, and one less by %.3f", n, held[n], held[n-1])
		}
	}
	if held[6] < 0.9 || held[10] > 0.5 || held[16] > 0.02 || held[len(questions)+2] != 0 {
		t.Errorf("held back by %v", held)
	}
	told := "since the nightly backup goes to the tape drive of the accounting server on the third floor it takes six hours, could the vendor make the storage faster?"
	m := remember("is the nightly backup done?", told, "The nightly backup was mentioned.")
	if hits := ask(t, m, query); len(hits) != 3 || hits[0].Doc != 1 || hits[2].Doc != 0 {
		t.Errorf("found %v, want the long question first and the short one last", docs(hits))
	}
}
