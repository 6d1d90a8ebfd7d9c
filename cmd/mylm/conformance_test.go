package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestConformanceTable checks docs/conformance.md against the tests: every test
// that it names exists, every row names one, and no row is an older form of
// another: one of the same id with the same text or mostly the same tests.
func TestConformanceTable(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	functions := map[string]map[string]bool{}   // of the tests, by folder
	rows, earlier := 0, map[string][][]string{} // by id, the cells split at commas
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 || strings.Contains(cells[0], "---") || strings.TrimSpace(cells[0]) == "row" {
			continue
		}
		rows++
		row := strings.TrimSpace(cells[0])
		refs := strings.Split(strings.ReplaceAll(cells[2], " ", ""), ",")
		for _, other := range earlier[row] {
			if other[0] == cells[1] || 2*shared(other[1:], refs) > min(len(other)-1, len(refs)) {
				t.Errorf("row %s stands there twice:%s", row, cells[1])
			}
		}
		earlier[row] = append(earlier[row], append([]string{cells[1]}, refs...))
		for ref := range strings.SplitSeq(cells[2], ",") {
			where, name, ok := strings.Cut(strings.TrimSpace(ref), " ")
			if !ok || !testExists(t, functions, root, where, name) {
				t.Errorf("row %s names %q, which is no test", row, strings.TrimSpace(ref))
			}
		}
	}
	if rows < 20 {
		t.Errorf("only %d rows were found", rows)
	}
}

// shared counts the elements that both have.
func shared(a, b []string) (n int) {
	for _, x := range a {
		if slices.Contains(b, x) {
			n++
		}
	}
	return n
}

// testExists tells whether a folder has a test. It notes the functions of the folder for
// the next one.
func testExists(t *testing.T, functions map[string]map[string]bool, root, where, name string) bool {
	t.Helper()
	if where == "script" {
		_, err := os.Stat(filepath.Join("testdata", "script", name+".txtar"))
		return err == nil
	}
	if functions[where] == nil {
		functions[where] = map[string]bool{}
		function := regexp.MustCompile(`(?m)^func (\w+)\(`)
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(where), "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range function.FindAllSubmatch(b, -1) {
				functions[where][string(m[1])] = true
			}
		}
	}
	return functions[where][name]
}
