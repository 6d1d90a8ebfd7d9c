package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// Every command that the documentation shows exists, with its subcommands and flags.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	help := helped(t)
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(docs) == 0 {
		t.Fatal(docs, err)
	}
	calls := 0
	for _, doc := range append(docs, "../../README.md", "../../CONTRIBUTING.md") {
		source, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range shownLines(string(source)) {
			file, err := syntax.NewParser().Parse(strings.NewReader(line), doc)
			if err != nil {
				t.Errorf("%s: %s: %v", doc, line, err)
				continue
			}
			syntax.Walk(file, func(n syntax.Node) bool {
				if call, ok := n.(*syntax.CallExpr); ok {
					if words := literals(line, call); len(words) > 0 && words[0] == "mylm" {
						calls++
						for _, fault := range undocumentedWords(help, words[1:]) {
							t.Errorf("%s: %s: %s", filepath.Base(doc), line, fault)
						}
					}
				}
				return true
			})
		}
	}
	if calls < 200 {
		t.Errorf("only %d commands were found", calls)
	}
	for _, wrong := range []string{"aks q", "memory serch x", "ask --temprature 1 q", "sessions list -x"} {
		if words := strings.Fields(wrong); len(undocumentedWords(help, words)) == 0 {
			t.Errorf("mylm %s passes", wrong)
		}
	}
}

var (
	fence     = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```")
	indented  = regexp.MustCompile(`(?m)^( {4})(.*)$`)
	inText    = regexp.MustCompile("`(mylm [a-z][^`]*)`")
	shownCall = regexp.MustCompile(`(?m)^(?:\$ )?((?:[^#\n]*\| *)?(?:[A-Z_]+=\S+ )?mylm(?: [^\n]*)?)$`)
)

// shownLines are the lines of a document that call mylm: in its blocks of code, and in
// its text.
func shownLines(source string) (lines []string) {
	var code strings.Builder
	for _, form := range []*regexp.Regexp{fence, indented} {
		for _, m := range form.FindAllStringSubmatch(source, -1) {
			if lang := strings.TrimSpace(m[1]); lang == "" || lang == "sh" {
				code.WriteString(m[2] + "\n")
			}
		}
	}
	for _, m := range shownCall.FindAllStringSubmatch(code.String(), -1) {
		lines = append(lines, m[1])
	}
	for _, m := range inText.FindAllStringSubmatch(source, -1) {
		lines = append(lines, strings.Join(strings.Fields(m[1]), " "))
	}
	return lines
}

// literals are the words of a call as they stand in the line.
func literals(line string, call *syntax.CallExpr) (words []string) {
	for _, w := range call.Args {
		words = append(words, line[w.Pos().Offset():w.End().Offset()])
	}
	return words
}

// undocumentedWords are the subcommands and flags of a call that the help lacks.
func undocumentedWords(help map[string]string, words []string) (faults []string) {
	path := ""
	for len(words) > 0 {
		next := strings.TrimSpace(path + " " + words[0])
		if _, ok := help[next]; !ok {
			break
		}
		path, words = next, words[1:]
	}
	if len(words) > 0 && strings.Contains(help[path], "\nCOMMANDS:\n") && regexp.MustCompile(`^[a-z]+$`).MatchString(words[0]) && words[0] != "help" {
		return []string{"mylm " + path + " has no command " + words[0]}
	}
	for _, w := range words {
		name, _, _ := strings.Cut(w, "=")
		if w == "--" {
			break
		}
		if strings.HasPrefix(name, "-") && name != "-" && !regexp.MustCompile(`(?m)(^|[ ,])`+regexp.QuoteMeta(name)+`($|[ ,=\n])`).MatchString(help[path]) {
			faults = append(faults, "mylm "+path+" has no flag "+name)
		}
	}
	return faults
}
