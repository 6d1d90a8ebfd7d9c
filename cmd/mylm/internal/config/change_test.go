package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mylm/cmd/mylm/internal/config"
)

// Changes that are made at once are all kept.
func TestChangesAtOnce(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("AppData", dir) // Windows
	path, err := config.Path()
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			name := fmt.Sprintf("s%d", i)
			err := config.AddMCP(config.MCP{Name: name, Command: []string{"x"}}, false)
			if err == nil && i%2 == 0 {
				err = config.RemoveMCP(name)
			}
			if i%2 == 1 {
				_, saved := config.SaveForm(config.Entry{Name: name, Provider: "ollama", Model: "m"}, "invoke")
				err = errors.Join(err, saved)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"[mcp.", "[models."} {
		if n := strings.Count(string(text), table); n != 10 {
			t.Errorf("%d tables %s, want 10:\n%s", n, table, text)
		}
	}
}

// Only the form of the entry changes; comments, order, spaces and line ends stay.
func TestSaveForm(t *testing.T) {
	const box = "[models.mine]\nprovider = \"llamacpp\"\n"
	const mine = "[models.mine]\nprovider = \"ollama\"\nmodel = \"m\"\n"
	for name, tt := range map[string]struct{ before, after string }{
		"a new file":        {"", "[models.mine]\nprovider = \"ollama\"\nmodel = \"m\"\nform = \"invoke\"\n"},
		"a new entry":       {"# hello\nmodel = \"mine\" # mine", "# hello\nmodel = \"mine\" # mine\n\n[models.mine]\nprovider = \"ollama\"\nmodel = \"m\"\nform = \"invoke\"\n"},
		"without a form":    {mine, mine + "form = \"invoke\"\n"},
		"no last line end":  {strings.TrimSuffix(mine, "\n"), mine + "form = \"invoke\""},
		"with a form":       {"# a\n[models.mine] # b\nform   = 'tool_call'   # c\n\nprovider=\"ollama\"\n", "# a\n[models.mine] # b\nform   = \"invoke\"   # c\n\nprovider=\"ollama\"\n"},
		"between others":    {"[models.a]\nprovider = \"ollama\"\nform = \"function\"\n\n" + mine + "# about b\n\n[models.b]\nprovider = \"ollama\"\n", "[models.a]\nprovider = \"ollama\"\nform = \"function\"\n\n" + mine + "form = \"invoke\"\n# about b\n\n[models.b]\nprovider = \"ollama\"\n"},
		"a table below it":  {box + "[models.mine.headers]\nform = \"x\"\n", box + "form = \"invoke\"\n[models.mine.headers]\nform = \"x\"\n"},
		"Windows":           {strings.ReplaceAll(mine, "\n", "\r\n"), strings.ReplaceAll(mine+"form = \"invoke\"\n", "\n", "\r\n")},
		"spaces and quotes": {"  [ models . \"mine\" ]\n  provider = \"ollama\"\n", "  [ models . \"mine\" ]\n  provider = \"ollama\"\n  form = \"invoke\"\n"},
		"already so":        {mine + "form = \"invoke\"\n", mine + "form = \"invoke\"\n"},
		"a text of lines":   {box + "model = \"\"\"\\\n# m\n\"\"\"\n", box + "model = \"\"\"\\\n# m\n\"\"\"\nform = \"invoke\"\n"},
		// Written in a way that only a person can change.
		"a table in a text": {box + "model = \"\"\"\n[models.x]\n\"\"\"\n", ""},
		"in braces":         {"[models]\nmine = { provider = \"ollama\", model = \"m\" }\n", ""},
		"dotted":            {"models.mine.provider = \"ollama\"\n", ""},
		"in a long text":    {"[profiles.p]\nsystem = \"\"\"\n[models.mine]\n\"\"\"\n[models]\nmine.provider = \"ollama\"\n", ""},
		"wrong already":     {"model = 7\n", ""},
	} {
		path := filepath.Join(t.TempDir(), "real.toml")
		if err := os.WriteFile(path, []byte(tt.before), 0o640); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(t.TempDir(), "config.toml")
		if err := os.Symlink(path, link); err != nil {
			link = path // Windows needs a right for that
		}
		t.Setenv("MYLM_CONFIG", link)
		_, err := config.SaveForm(config.Entry{Name: "mine", Provider: "ollama", Model: "m"}, "invoke")
		text, _ := os.ReadFile(path)
		want := tt.after
		if want == "" {
			want = tt.before
		}
		if (err != nil) != (tt.after == "") || string(text) != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, text, want)
		}
		info, _ := os.Lstat(path)
		if now, _ := os.Lstat(link); now.Mode().Type() != 0 && link == path || info.Mode().Perm()&0o007 != 0 {
			t.Errorf("%s: the file is %v, behind %v", name, info.Mode(), now.Mode())
		}
		if now, _ := os.Lstat(link); link != path && now.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s: the link was replaced", name)
		}
	}
}
