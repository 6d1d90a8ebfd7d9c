//go:build unix

package main

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// On a terminal the help breaks between words where the terminal ends.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	examples := regexp.MustCompile(`(?s)EXAMPLES:.*?\n\n`) // which are to be copied
	for columns, path := range map[int]string{80: "ask", 60: "doctor", 44: "undo"} {
		cmd := command(t, nil, "help", path)
		s := onScreen(t, cmd, columns, 200)
		s.exit()
		got := s.text()
		piped, err := exec.Command("mylm", "help", path).Output()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Fields(examples.ReplaceAllString(string(piped), ""))
		if words := strings.Fields(examples.ReplaceAllString(got, "")); !slices.Equal(words, want) {
			t.Errorf("%d columns: words of the help of %s are broken:\n%s", columns, path, got)
		}
	}
}
