package prompts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mylm/prompts"
)

var environment = &prompts.Environment{OS: "linux", Shell: "sh", Directory: "/work", Date: "2026-01-02"}

func definitions(n int) (tools []prompts.Tool, block string) {
	block = "<tool_definitions>\n"
	for i := range n {
		name, description := fmt.Sprintf("tool%d", i), fmt.Sprintf("does %d", i)
		tools = append(tools, prompts.Tool{Name: name, Description: description, Parameters: "{}"})
		block += fmt.Sprintf("<tool><name>%s</name><description>%s</description><parameters>{}</parameters></tool>\n", name, description)
	}
	return tools, block + "</tool_definitions>"
}

func TestSystemSections(t *testing.T) {
	for _, n := range []int{0, 1, 12} {
		tools, block := definitions(n)
		text, err := prompts.Default().System(prompts.SystemData{Tools: tools, Form: "tool_code", Call: "<tool_code>\n</tool_code>", End: "</tool_code>", Environment: environment})
		if err != nil {
			t.Fatal(err)
		}
		order := []string{prompts.DefaultIdentity, "# TOOLS", "# PROTOCOL", "# OUTPUT FORMAT", "# CONSTRAINTS", "OS: linux\nShell: sh\nDirectory: /work\nDate: 2026-01-02"}
		if n == 0 {
			order = []string{prompts.DefaultIdentity, "# TOOLS", "# CONSTRAINTS", "Date: 2026-01-02"}
		}
		rest := text
		for _, s := range order {
			_, after, ok := strings.Cut(rest, s)
			if !ok {
				t.Fatalf("%d tools: %q is missing or out of order in\n%s", n, s, text)
			}
			rest = after
		}
		if strings.TrimSpace(rest) != "" {
			t.Errorf("the environment is not last: %q follows", rest)
		}
		if n > 0 && !strings.Contains(text, block) {
			t.Errorf("the definitions are not in\n%s", text)
		}
		if strings.Contains(text, "\n\n\n") {
			t.Errorf("%d tools: empty lines that the model pays for in\n%s", n, text)
		}
		// One token is about four bytes of English.
		if fixed := (len(text) - len(block)) / 4; fixed >= 450 {
			t.Errorf("the fixed part is %d tokens with %d tools", fixed, n)
		} else {
			t.Logf("%d tools: the fixed part is about %d tokens", n, fixed)
		}
	}
}

func TestSystemData(t *testing.T) {
	text, err := prompts.Default().System(prompts.SystemData{
		Identity:    "  You are a pirate.\n",
		Sections:    []prompts.Section{{Title: "PROJECT NOTES", Text: "Use tabs."}},
		Environment: environment,
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(text, "You are a pirate.\n\n# TOOLS") {
		t.Errorf("identity:\n%s", text)
	}
	notes, env := strings.Index(text, "# PROJECT NOTES\nUse tabs."), strings.Index(text, "OS: ")
	if notes < 0 || env < notes {
		t.Errorf("section at %d, environment at %d in\n%s", notes, env, text)
	}
}

func TestCorrections(t *testing.T) {
	const call = "<tool_code>\n<name>read_file</name>\n<parameters>{\"path\": \"…\"}</parameters>\n</tool_code>"
	for _, reason := range []string{
		"empty", "only_thought", "truncated", "no_name", "bad_json", "not_object", "duplicate_key", "too_deep", "too_large",
		"fenced_call", "call_after_answer", "invented_observation",
	} {
		text, err := prompts.Default().Correction(prompts.CorrectionData{Reason: reason, Detail: "unexpected end", Tool: "read_file", Example: `{"path": "…"}`, Call: call})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(strings.Fields(text)); n > 60 || n < 12 {
			t.Errorf("%s: %d words:\n%s", reason, n, text)
		}
	}
	text, err := prompts.Default().Correction(prompts.CorrectionData{Reason: "bad_json", Detail: "unexpected end", Tool: "read_file", Example: `{"path": "…"}`, Call: call})
	if err != nil || !strings.Contains(text, "<name>read_file</name>\n<parameters>{\"path\": \"…\"}</parameters>") || !strings.Contains(text, "unexpected end") {
		t.Errorf("the right form is not filled in (%v):\n%s", err, text)
	}
}

func TestLoad(t *testing.T) {
	write := func(t *testing.T, name, text string) string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	t.Run("replaces", func(t *testing.T) {
		dir := write(t, "system.tmpl", "I am {{.Identity}}\n{{.Tools}}")
		s, err := prompts.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		tools, block := definitions(2)
		if got, err := s.System(prompts.SystemData{Identity: "x", Tools: tools}); got != "I am x\n"+block || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if s.Path(prompts.SystemPrompt) == "" || s.Path(prompts.Correction) != "" {
			t.Error("it is not told which template is the user's")
		}
		if _, err := s.Correction(prompts.CorrectionData{Reason: "empty"}); err != nil {
			t.Error(err)
		}
	})
	for name, tt := range map[string]struct{ file, text, want string }{
		"unknown name":  {"sistem.tmpl", "x", "there are: system"},
		"no template":   {"system.tmpl", "a\n{{if}}", "system.tmpl:2"},
		"unknown field": {"system.tmpl", "a\n{{.Toolz}}", "system.tmpl:2"},
		"remedy":        {"system.tmpl", "{{.Toolz}}", "delete it"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := prompts.Load(write(t, tt.file, tt.text))
			if err == nil {
				_, err = s.System(prompts.SystemData{})
				if check := s.Check(); (check == nil) != (err == nil) {
					t.Errorf("Check says %v, rendering %v", check, err)
				}
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
	for _, text := range []string{"{{.Toolz}}", ""} {
		path := filepath.Join(write(t, "given.tmpl", text), "given.tmpl")
		if err := prompts.Default().With(prompts.SystemPrompt, path).Check(); err == nil || strings.Contains(err.Error(), "delete it") {
			t.Errorf("of a template that is not in the directory: %v", err)
		}
	}
	t.Run("no directory", func(t *testing.T) {
		if _, err := prompts.Load(filepath.Join(t.TempDir(), "none")); err != nil {
			t.Error(err)
		}
	})
	if _, err := prompts.Builtin("nope"); err == nil || !strings.Contains(err.Error(), "system") {
		t.Errorf("got %v", err)
	}
}

func TestCompacted(t *testing.T) {
	for _, tt := range []struct {
		data prompts.CompactedData
		want string
	}{
		{prompts.CompactedData{Summary: "A and B."}, "[Summary of earlier steps, which are no longer shown]\nA and B."},
		{prompts.CompactedData{Dropped: 7}, "[7 earlier messages are no longer shown, since the conversation grew too long.]"},
		{prompts.CompactedData{Summary: "A.", Dropped: 7}, "[Summary of earlier steps, which are no longer shown]\nA.\n[7 earlier messages are no longer shown, since the conversation grew too long.]"},
	} {
		if got, err := prompts.Default().Compacted(tt.data); got != tt.want || err != nil {
			t.Errorf("%+v: %q, %v; want %q", tt.data, got, err, tt.want)
		}
	}
}

func TestRetry(t *testing.T) {
	got, err := prompts.Default().Retry(prompts.RetryData{Issues: []string{"a is missing", "b is wrong"}, Suggestion: "look at c"})
	if err != nil || !strings.Contains(got, "\n- a is missing\n- b is wrong\nSuggestion: look at c\n") {
		t.Errorf("%q, %v", got, err)
	}
}

func ExampleSet_Text() {
	text, _ := prompts.Default().Text(prompts.Continue)
	fmt.Println(text)
	// Output: Your reply was cut off by the length limit. Go on exactly where it stopped, without repeating anything.
}

// The templates that were replaced can be carried elsewhere.
func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.tmpl")
	if err := os.WriteFile(path, []byte("Go on, please."), 0o600); err != nil {
		t.Fatal(err)
	}
	texts, err := prompts.Default().With(prompts.Resume, path).Replaced()
	if err != nil || len(texts) != 1 || texts[prompts.Resume] != "Go on, please." {
		t.Fatalf("%q, %v", texts, err)
	}
	set := prompts.Default().Replace(texts)
	if text, err := set.Text(prompts.Resume); err != nil || text != "Go on, please." {
		t.Errorf("%q, %v", text, err)
	}
	own, err := prompts.Default().Text(prompts.Unknown)
	if text, failed := set.Text(prompts.Unknown); err != nil || failed != nil || text != own {
		t.Errorf("%q, %v, %v", text, err, failed)
	}
	if err := os.WriteFile(path, []byte("Another."), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := set.With(prompts.Resume, path).Text(prompts.Resume); err != nil || text != "Another." {
		t.Errorf("%q, %v", text, err)
	}
}
