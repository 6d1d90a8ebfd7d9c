package main

import (
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// helped is every command with its help. It is asked for once for all tests, which do
// not change it.
func helped(t *testing.T) map[string]string {
	t.Helper()
	all, err := everyHelp()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var everyHelp = sync.OnceValues(func() (map[string]string, error) { return helpBelow() })

// helpBelow is a command with its help and that of its subcommands.
func helpBelow(path ...string) (map[string]string, error) {
	out, err := exec.Command("mylm", append([]string{"help"}, path...)...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("help %v: %w: %s", path, err, out)
	}
	all := map[string]string{strings.Join(path, " "): string(out)}
	_, list, _ := strings.Cut(string(out), "\nCOMMANDS:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for line := range strings.Lines(list) {
		name := strings.Fields(line)[0]
		if name == "help" {
			continue
		}
		below, err := helpBelow(append(path[:len(path):len(path)], name)...)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, below)
	}
	return all, nil
}

// The help of every command fits 100 columns, says how it is used, and gives an
// example where it takes arguments.
func TestHelp(t *testing.T) {
	t.Parallel()
	all := helped(t)
	if len(all) < 40 {
		t.Errorf("only %d commands have help", len(all))
	}
	example := regexp.MustCompile(`(?m)^EXAMPLES:$|^      .*mylm `)
	for path, text := range all {
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > 100 {
				t.Errorf("mylm %s: a line has %d columns: %s", path, n, line)
			}
			if strings.TrimRight(line, " ") != line || strings.Contains(line, "command options") {
				t.Errorf("mylm %s: %q", path, line)
			}
		}
		_, use, _ := strings.Cut(text, "\nUSAGE:\n")
		use, _, _ = strings.Cut(use, "\n\n")
		for line := range strings.Lines(use) {
			if !strings.HasPrefix(line, strings.TrimRight("   mylm "+path, " ")) {
				t.Errorf("mylm %s is used as %q", path, line)
			}
		}
		args := strings.TrimPrefix(strings.ReplaceAll(strings.TrimSpace(use), " [FLAG...]", ""), "mylm "+path)
		takes := args != "" && !strings.Contains(text, "\nCOMMANDS:\n")
		if takes && path != "help" && !example.MatchString(text) {
			t.Errorf("mylm %s has no example", path)
		}
	}
	for path, groups := range map[string]string{
		"ask":       "INPUT MODEL PERMISSIONS OUTPUT MEMORY AND SESSIONS LIMITS OTHER",
		"agent run": "PLAN INPUT MODEL PERMISSIONS OUTPUT MEMORY AND SESSIONS LIMITS OTHER",
		"tools":     "FLAGS",
	} {
		var found []string
		for _, m := range regexp.MustCompile(`(?m)^([A-Z ]+):$`).FindAllStringSubmatch(all[path], -1) {
			if m[1] != "NAME" && m[1] != "USAGE" && m[1] != "DESCRIPTION" && m[1] != "EXAMPLES" {
				found = append(found, m[1])
			}
		}
		if got := strings.Join(found, " "); got != groups {
			t.Errorf("mylm %s has the groups %s, want %s", path, got, groups)
		}
	}
}

// The manual page has every command and flag that the help has, and groff takes
// it without a warning.
func TestManualPage(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("mylm", "__man").Output()
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(string(out), `\-`, "-")
	for path, text := range helped(t) {
		if path != "" && !strings.Contains(page, "\n.SS mylm "+path+"\n") {
			t.Errorf("mylm %s is not in the page", path)
		}
		for _, m := range regexp.MustCompile(`(?m)^   (?:   |-., )(--[a-z-]+)`).FindAllStringSubmatch(text, -1) {
			if !strings.Contains(page, m[1]) && m[1] != "--help" {
				t.Errorf("%s of mylm %s is not in the page", m[1], path)
			}
		}
	}
	for line := range strings.Lines(string(out)) {
		if request, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(line, ".") &&
			!slices.Contains([]string{".TH", ".SH", ".SS", ".B", ".PP", ".TP", ".RS", ".RE", ".nf", ".fi", ".br"}, request) {
			t.Errorf("a text became a request: %q", line)
		}
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not installed")
	}
	cmd := exec.Command(groff, "-man", "-ww", "-z")
	cmd.Stdin = strings.NewReader(string(out))
	if warnings, err := cmd.CombinedOutput(); err != nil || len(warnings) > 0 {
		t.Errorf("%v: %s", err, warnings)
	}
}
