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
		Identity: "who", Tools: "T", Environment: &prompts.Environment{OS: "linux"},
		Sections: []prompts.Section{{Title: "A", Text: "a"}, {Title: "B"}},
	}
	for _, text := range []string{
		`x{{/* a comment */}} {{- .Identity -}} y`,
		`{{if .Tools}}yes{{else}}no{{end}} {{if and .Tools .Sections}}both{{end}} {{if not .Tools}}none{{else if eq .Identity "me" "who"}}who{{end}}`,
		`{{with .Environment}}{{.OS}} {{.Shell}}|{{$.Tools}}{{else}}nowhere{{end}}`,
		`{{range $i, $s := .Sections}}{{if $i}}, {{end}}{{$i}} {{$s.Title}} {{or .Text "-"}}{{end}}`,
		`{{range $s := .Sections}}{{$s.Title}}{{end}}{{range .Sections}}{{.Title}}{{else}}nothing{{end}}`,
		`{{$n := len .Sections}}{{if gt $n 1}}many{{end}}{{if and (ge $n 2) (le $n 2) (ne $n 3) (lt $n 3)}}two{{end}}`,
		`{{$last := ""}}{{range .Sections}}{{$last = .Title}}{{end}}{{$last}}`,
		`{{.Identity | printf "%s=%q" "k"}} {{print 1 1.5 true "s"}} {{(len .Tools)}} {{.Environment.OS}}`,
		`{{and .Tools ""}}|{{or "" .Tools}}|{{or "" 0}}|{{with $e := .Environment}}{{$e.OS}}{{end}}`,
		`{{.Nothing}}`, `{{.Identity.Nothing}}`, `{{nothing .Tools}}`, `{{.Tools .Identity}}`, `{{len .Environment}}`, `{{not}}`,
		`{{range .Identity`, `{{$x}}`, `{{end}}`, `{{range .Environment}}{{end}}`, `{{printf .Environment}}`,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "system.tmpl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		set, err := prompts.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		got, err := set.System(data)
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
	}
}
