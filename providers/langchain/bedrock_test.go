package langchain_test

import (
	"testing"

	"mylm/providers"
	"mylm/providers/langchain"
)

// TestMissingProvider is about builds without the tags.
func TestMissingProvider(t *testing.T) {
	p, ok := langchain.Lookup("bedrock")
	if !ok {
		t.Fatal("a build without Bedrock does not know its name")
	}
	if p.Missing == "" {
		t.Skip("this build has it")
	}
	_, err := langchain.Open("bedrock", langchain.Config{Model: "m"})
	wantError(t, err, providers.BadRequest, "go build -tags bedrock")
}
