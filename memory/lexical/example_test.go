package lexical_test

import (
	"context"
	"fmt"
	"time"

	"mylm/memory/lexical"
)

func Example() {
	var memory lexical.Memory
	day := time.Date(2025, time.March, 3, 9, 0, 0, 0, time.UTC)
	for _, text := range []string{
		"What do we call the staging host?",
		"It is called heron, after the bird.",
		"Lunch was pumpkin soup.",
	} {
		memory.Add(lexical.Entry{Text: text, Session: 1, Time: day})
	}
	hits, err := lexical.Default().Rank(context.Background(), &memory, lexical.Query{Text: "Which bird is the satging host?"}, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, h := range hits {
		fmt.Println(h.Doc, h.Terms, h.Nearby, h.Corrected)
	}
	// Output: 1 [bird] [host satging] [{satging stage}]
}
