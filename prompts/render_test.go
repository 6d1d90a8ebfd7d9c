package prompts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"mylm/prompts"
)

// A user's template gives what text/template makes of it, or an error where
// text/template has one.
func TestTemplateLanguage(t *testing.T) {
	data := prompts.SystemData{
		Identity: "who", End: "T", Environment: &prompts.Environment{OS: "linux"},
		Sections: []prompts.Section{{Title: "A", Text: "a"}, {Title: "B"}},
	}
	for _, text := range []string{
		`x{{/* a comment */}} {{- .Identity -}} y`,
		`{{if .End}}yes{{else}}no{{end}} {{if and .End .Sections}}both{{end}} {{if not .End}}none{{else if eq .Identity "me" "who"}}who{{end}}`,
		`{{with .Environment}}{{.OS}} {{.Shell}}|{{$.End}}{{else}}nowhere{{end}}`,
		`{{range $i, $s := .Sections}}{{if $i}}, {{end}}{{$i}} {{$s.Title}} {{or .Text "-"}}{{end}}`,
		`{{range $s := .Sections}}{{$s.Title}}{{end}}{{range .Sections}}{{.Title}}{{else}}nothing{{end}}`,
		`{{$n := len .Sections}}{{if gt $n 1}}many{{end}}{{if and (ge $n 2) (le $n 2) (ne $n 3) (lt $n 3)}}two{{end}}`,
		`{{$last := ""}}{{range .Sections}}{{$last = .Title}}{{end}}{{$last}}`,
		`{{.Identity | printf "%s=%q" "k"}} {{print 1 1.5 true "s"}} {{(len .End)}} {{.Environment.OS}}`,
		`{{and .End ""}}|{{or "" .End}}|{{or "" 0}}|{{with $e := .Environment}}{{$e.OS}}{{end}}`,
		`{{.Environment}} {{with .Environment}}{{.}}{{end}} {{print .Sections}} {{print 1.0 'a' 0x1e 1e3 -0.5 nil}}{{print}}`,
		`{{lt 10.5 9.5}} {{gt 10.5 9.5}} {{ge 1.5 1.5}} {{le 10 9}} {{lt "10" "9"}} {{eq 1.5 2.5 1.5}} {{ne "a" "b"}} {{eq 1 2 3}}`,
		`{{eq .Environment nil}} {{eq nil nil}} {{eq nil 1}} {{eq .Environment .Environment}} {{eq (len .Sections) 2}} {{eq 1 1 "1"}} {{eq true false}}`,
		`{{eq 1 "1"}}`, `{{eq 1 2 "1"}}`, `{{eq 1 1.0}}`, `{{ne true "true"}}`, `{{lt 1 "2"}}`, `{{lt 1 2.5}}`, `{{lt true false}}`,
		`{{gt nil 1}}`, `{{eq .Sections .Sections}}`, `{{eq .Environment .Sections}}`, `{{le .Environment .Environment}}`,
		`{{$x := "X"}}{{$y := "Y"}}{{range $x = .Sections}}{{$x.Title}}{{end}}{{$x.Title}}{{$y}}`,
		`{{$i := 7}}{{$x := "X"}}{{range $i, $x = .Sections}}{{$i}}{{$x.Title}}{{end}}{{$i}}{{$x.Title}}`,
		`{{range $x, $x := .Sections}}{{$x.Title}}{{end}}{{range .Sections}}{{$n := .Title}}{{$n}}{{end}}`,
		`{{$x = 1}}{{$x}}`, `{{range $x = .Sections}}{{end}}`, `{{and "" ($z := 1)}}{{$z}}`,
		`{{range "ab"}}{{.}}{{end}}`, `{{range .End}}{{.}}{{end}}`, `{{range ""}}{{end}}`, `{{range true}}{{end}}`, `{{range 1.5}}{{end}}`,
		`{{printf}}`, `{{printf 3}}`, `{{printf nil}}`, `{{3 | printf}}`, `{{not}}`, `{{not 1 2}}`, `{{and}}`, `{{or}}`, `{{len}}`, `{{len 3}}`, `{{len nil}}`,
		`{{len .Sections .Sections}}`, `{{eq}}`, `{{eq 1}}`, `{{ne 1}}`, `{{lt 1}}`, `{{ge 1 2 3}}`, `{{1 | lt}}`, `{{nil}}`, `{{if nil}}{{end}}`, `{{nil | print}}`,
		`{{.End | and}} {{.End | or ""}} {{.End | and ""}} {{or nil}} {{not nil}} {{1 | lt 0}} {{.End | not | not}}`,
		`{{print (print) print -0x1e 0b11 'e' 1_0 0x1p4}} {{eq 'a' 97}}`, `{{eq -0x1e -30}}`, `{{print not}}`, `{{print 99999999999999999999}}`,
		`{{range .Sections}}{{.}}{{$}}{{end}} {{.Sections}} {{$e := .Environment}}{{$e}} {{printf "%d %s %v" "x" 1 .End}}`,
		`{{if .End}}{{$x := 1}}{{$x = 2}}{{$x}}{{end}}{{with $y := .End}}{{$y}}{{.}}{{else with .Identity}}{{.}}{{end}}`,
		`{{"x" .End}}`, `{{(.Environment).OS}}`, `{{(.Environment).OS .End}}`, `{{$.End 1}}`, `{{1 | .End}}`, `{{(len .End) 1}}`,
		`{{.Nothing}}`, `{{.Identity.Nothing}}`, `{{nothing .End}}`, `{{.End .Identity}}`, `{{len .Environment}}`, `{{not}}`,
		`{{range .Identity`, `{{$x}}`, `{{end}}`, `{{range .Environment}}{{end}}`, `{{printf .Environment}}`,
	} {
		got, err := systemTemplate(t, text).System(data)
		var want strings.Builder
		tmpl, wantErr := template.New("system").Parse(text)
		if wantErr == nil {
			wantErr = tmpl.Execute(&want, data)
		}
		if (err == nil) != (wantErr == nil) {
			t.Errorf("%s: %v, text/template has %v", text, err, wantErr)
		} else if err == nil && got != strings.TrimSpace(want.String()) {
			t.Errorf("%s: %q, text/template makes it %q", text, got, want.String())
		}
		if err != nil && !strings.Contains(err.Error(), "system.tmpl:1") {
			t.Errorf("%s: %v does not say where", text, err)
		}
		if err != nil && (strings.Contains(err.Error(), "runtime") || strings.Contains(err.Error(), "reflect")) {
			t.Errorf("%s: an error of Go's: %v", text, err)
		}
	}
}

// systemTemplate is a set with a system template of the user's.
func systemTemplate(t *testing.T, text string) *prompts.Set {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "system.tmpl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := prompts.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// What text/template has and prompts have not is an error, also where nothing
// runs it.
func TestUnsupported(t *testing.T) {
	for text, want := range map[string]string{
		`x{{range .Sections}}{{if .Title}}{{else}}{{break}}{{end}}{{end}}`: "{{break}} is not supported",
		`x{{if false}}{{range .Sections}}{{continue}}{{end}}{{end}}`:       "{{continue}} is not supported",
		`x{{with false}}{{template "y"}}{{end}}`:                           `{{template "y"}} is not supported`,
		`x{{define "y"}}z{{end}}`:                                          "{{define}} is not supported",
		`x{{block "y" .}}z{{end}}`:                                         "is not supported",
		`x{{1i}}`:                                                          "1i is not supported",
		`x{{print 0i}}`:                                                    "0i is not supported",
		`x{{range 3}}{{end}}`:                                              "range needs a list, not int",
		`x{{index .Sections 0}}`:                                           `function "index" not defined`,
	} {
		err := systemTemplate(t, text).Check()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "system.tmpl:1") {
			t.Errorf("%s: got %v, want %q in it", text, err, want)
		}
	}
}

func TestTemplateErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{{not}}`:                  "not needs 1 argument, got 0",
		`{{and}}`:                  "and needs at least 1 argument, got 0",
		`{{printf}}`:               "printf needs at least 1 argument, got 0",
		`{{eq 1}}`:                 "eq needs at least 2 arguments, got 1",
		`{{lt 1}}`:                 "lt needs 2 arguments, got 1",
		`{{printf 3}}`:             "printf: the format is int, not string",
		`{{eq 1 "1"}}`:             "eq: cannot compare int with string",
		`{{lt 1 "1"}}`:             "lt: cannot order int and string",
		`{{len 3}}`:                "len: int has no length",
		`{{range "ab"}}{{end}}`:    "range needs a list, not string",
		`{{range .End}}{{end}}`:    "range needs a list, not string",
		`{{.Nothing}}`:             "prompts.SystemData has no field Nothing",
		`{{.Identity.Nothing}}`:    "string has no field Nothing",
		`{{.Environment.OS}}`:      "OS of a value that is nil",
		`{{.Identity .End}}`:       ".Identity is not a function",
		`{{$x = 1}}`:               "undefined variable $x",
		`{{18446744073709551615}}`: "18446744073709551615 is too large",
	} {
		_, err := systemTemplate(t, text).System(prompts.SystemData{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", text, err, want)
		}
	}
}

// A template is checked with something for all that it may look at.
func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		`{{with .Environment}}{{.OS}}{{end}}`:                      "",
		`{{with .Environment}}{{.Date}}{{end}}`:                    "",
		`{{range $i, $s := .Sections}}{{$i}}={{$s.Title}};{{end}}`: "",
		`{{range .Sections}}{{.Text}}{{end}}`:                      "",
		`{{.Identity}}`:                                            "",
		" \n":                                                      "system.tmpl is empty",
		`{{if false}}x{{end}}`:                                     "system.tmpl is empty",
		`{{with .Environment}}{{.Nothing}}{{end}}`:                 "has no field Nothing",
	} {
		err := systemTemplate(t, text).Check()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

// A FIFO would be waited for, without an end.
func TestNotRegularFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "system.tmpl")
	if err := os.Symlink(os.DevNull, path); err != nil {
		t.Skip(err)
	}
	set, err := prompts.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := set.Source(prompts.SystemPrompt); err == nil || !strings.Contains(err.Error(), path+": not a regular file") {
		t.Errorf("got %v", err)
	}
}
