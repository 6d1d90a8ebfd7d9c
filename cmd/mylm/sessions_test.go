//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// Sessions unchanged for 90 days are deleted at the end of a run, once a day, and
// reported. A clock that jumped deletes none.
func TestOldSessionsGo(t *testing.T) {
	t.Parallel()
	h := newHome(t, newPlaced(t, "Fine."))
	dir := filepath.Join(h.dir, "data", "mylm", "sessions")
	age := func(path string, days int) {
		t.Helper()
		at := time.Now().AddDate(0, 0, -days)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	told := false // that sessions were deleted
	ask := func() string {
		t.Helper()
		_, errs, code := h.run("ask", "q")
		if code != "0" {
			t.Fatalf("exit %s, %s", code, errs)
		}
		told = strings.Contains(errs, "deleted 1 session that had not changed for 90 days")
		all, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return slices.MaxFunc(all, func(a, b string) int {
			x, err1 := os.Stat(a)
			y, err2 := os.Stat(b)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			return x.ModTime().Compare(y.ModTime())
		})
	}
	there := func(path string) bool { _, err := os.Stat(path); return err == nil }

	old, young := ask(), ask()
	age(old, 91)
	age(young, 89)
	ask()
	if !there(old) || told {
		t.Error("a second time on one day")
	}
	marker := filepath.Join(dir, "pruned")
	jump := func(years int) { // the clock was set ahead: all that is there is older
		trusted, err := time.Now().AddDate(-years, 0, 0).MarshalText()
		if err != nil || os.WriteFile(marker, trusted, 0o600) != nil {
			t.Fatal(err)
		}
		age(marker, 365*years)
	}
	jump(10)
	if ask(); !there(old) || told {
		t.Error("a clock ten years ahead deletes sessions")
	}
	jump(0)
	age(marker, 2)
	if ask(); there(old) || !there(young) || !told {
		t.Errorf("old is there: %v, young: %v, told: %v", there(old), there(young), told)
	}
	age(young, 40)
	if out, _, code := h.run("sessions", "prune", "--days", "30"); code != "0" || out != "deleted 1 session\n" || there(young) {
		t.Errorf("exit %s, %q", code, out)
	}
}

// sum is the checksum of a line of a session.
var sum = regexp.MustCompile(`,"sum":"[0-9a-f]{8}"`)

// The commands in hints about sessions work as they are printed.
func TestHintsCanBeTyped(t *testing.T) {
	t.Parallel()
	typed := regexp.MustCompile(`cd .*|mylm sessions list( --global)?|mylm sessions (show|rm) \w+|mylm resume \w+( "\.\.\.")?|mylm ask "\.\.\."`)
	none := func([]string) []string { return nil }
	spoiled := func(line int) func([]string) []string {
		return func(l []string) []string { l[line-1] = "oops\n"; return l }
	}
	header := func(l []string) []string { return l[:1] }
	for name, test := range map[string]struct {
		spoil func(lines []string) []string // nil: nothing is wrong with the file
		args  string                        // ID stands for the session's
		want  string                        // the commands in the hint
	}{
		"empty":           {none, "sessions show ID", "mylm sessions rm ID"},
		"empty, replayed": {none, "replay ID", "mylm sessions rm ID"},
		"empty, resumed":  {none, "resume ID q", "mylm sessions rm ID"},
		"header alone":    {header, "sessions export ID", "mylm sessions rm ID"},
		"header, resumed": {header, "resume ID", "mylm sessions rm ID"},
		"header, asked":   {header, "resume ID q", "mylm sessions rm ID"},
		"header, last":    {header, "resume last q", "mylm sessions list --global"},
		"damaged":         {spoiled(4), "resume ID q", "mylm sessions show ID"},
		"damaged at once": {spoiled(2), "resume ID", "mylm sessions rm ID"},
		"no run": {func(l []string) []string {
			// Of version 1, which has no checksums.
			header := strings.Replace(sum.ReplaceAllString(l[0], ""), `"version":2`, `"version":1`, 1)
			return []string{header, strings.Replace(sum.ReplaceAllString(l[2], ""), `"seq":2`, `"seq":1`, 1)}
		}, "replay ID", "mylm sessions show ID"},
		"no header, last":  {spoiled(1), "resume", "mylm sessions list --global"},
		"no header, no id": {spoiled(1), "resume 'and now?'", "mylm sessions list"},
		"no such id":       {nil, "sessions show nosuch", "mylm sessions list"},
		"the id forgotten": {nil, "resume 'and now?'", `mylm sessions list, mylm resume last "..."`},
		"answered":         {nil, "resume ID", `mylm resume ID "..."`},
		"elsewhere":        {nil, "resume ID q --workspace '../not here'", `cd DIR && mylm resume ID "..."`},
		"rm without":       {nil, "sessions rm", "mylm sessions list"},
	} {
		t.Run(name, func(t *testing.T) {
			h := &home{t: t, dir: t.TempDir(), host: "127.0.0.1:1"}
			dir := filepath.Join(h.dir, "it's $HOME")
			for _, d := range []string{dir, filepath.Join(h.dir, "not here")} {
				if err := os.MkdirAll(filepath.Join(d, ".git"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			run := func(script string) (errs, code string) {
				cmd := h.command()
				cmd.Path, cmd.Args, cmd.Dir = "/bin/sh", []string{"sh", "-c", script}, dir
				cmd.Env = append(cmd.Env, "MYLM_MODEL=demo")
				var e strings.Builder
				cmd.Stderr = &e
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				code = exitWithin(t, cmd)
				return e.String(), code
			}
			if errs, code := run("mylm ask 'what is 2 + 3?'"); code != "0" {
				t.Fatal(errs)
			}
			files, _ := filepath.Glob(filepath.Join(h.dir, "data", "mylm", "sessions", "*.jsonl"))
			if len(files) != 1 {
				t.Fatal(files)
			}
			id := strings.TrimSuffix(filepath.Base(files[0]), ".jsonl")
			if test.spoil != nil {
				text, err := os.ReadFile(files[0])
				if err == nil {
					err = os.WriteFile(files[0], []byte(strings.Join(test.spoil(strings.SplitAfter(string(text), "\n")), "")), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			errs, code := run("mylm " + strings.ReplaceAll(test.args, "ID", id))
			commands := typed.FindAllString(errs, -1)
			got := strings.NewReplacer(id, "ID", `'`+strings.ReplaceAll(dir, "'", `'\''`)+`'`, "DIR").Replace(strings.Join(commands, ", "))
			if code == "0" || got != test.want {
				t.Errorf("exit %s, the hint says %q, want %q: %s", code, got, test.want, errs)
			}
			for _, command := range commands {
				if errs, code := run(command); code != "0" {
					t.Errorf("%s: exit %s, %s", command, code, errs)
				}
			}
		})
	}
}
