package prompts_test

import (
	"testing"

	"mylm/prompts"
)

// Every template says what it is for.
func TestAbout(t *testing.T) {
	for _, name := range prompts.Names() {
		if prompts.About(name) == "" {
			t.Errorf("nothing says what %s is for", name)
		}
	}
	if got := prompts.About("bogus"); got != "" {
		t.Errorf("what does not exist is for %q", got)
	}
}
