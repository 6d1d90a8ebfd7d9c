package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestConformanceTable holds docs/conformance.md to what there is: every test
// that it names exists, and every row names one.
func TestConformanceTable(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 || strings.Contains(cells[0], "---") || strings.TrimSpace(cells[0]) == "row" {
			continue
		}
		rows++
		row := strings.TrimSpace(cells[0])
		for ref := range strings.SplitSeq(cells[2], ",") {
			where, name, ok := strings.Cut(strings.TrimSpace(ref), " ")
			if !ok || !testExists(t, root, where, name) {
				t.Errorf("row %s names %q, which is no test", row, strings.TrimSpace(ref))
			}
		}
	}
	if rows < 20 {
		t.Errorf("only %d rows were found", rows)
	}
}

func testExists(t *testing.T, root, where, name string) bool {
	t.Helper()
	if where == "script" {
		_, err := os.Stat(filepath.Join("testdata", "script", name+".txtar"))
		return err == nil
	}
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(where), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	definition := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(name) + `\(`)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if definition.Match(b) {
			return true
		}
	}
	return false
}
