//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"

	"mylm/memory"
)

// commandReplies calls execute_command with each line in turn, and then is done.
func commandReplies(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("=== reply\n<tool_code><name>execute_command</name><parameters>{\"command\": \"" + line + "\"}</parameters></tool_code>\n")
	}
	return b.String() + "=== reply\nDone.\n"
}

// The rule that an answer stores covers exactly what the question named.
func TestStoredRules(t *testing.T) {
	t.Parallel()
	type step struct{ expect, answer string }
	const question = "Allow it?"
	for name, test := range map[string]struct {
		replies string
		args    []string
		steps   []step
		exit    string
		stored  string // in the file of rules
	}{
		"exactly this": {commandReplies("touch one", "ls", "touch one", "touch two"), nil,
			[]step{{question, "a\n"}, {"touch two", ""}, {question, "n\n"}}, "4", ""},
		"a prefix": {commandReplies("touch one", "ls", "touch two", "touch three; mkdir four"), nil,
			[]step{{"p stores the rule \"touch ...\" for /", ""}, {question, "p\n"}, {"stored: touch ... (mylm policy revoke touch removes it)", ""}, {"mkdir four", ""}, {"mkdir changes or builds something", ""}, {question, "n\n"}}, "4", `"touch"`},
		"no prefix of an interpreter": {commandReplies("sh -c ls", "python3 -c 1"), nil,
			[]step{{"[a] for this session, [n]o", "p\n"}, {"[a] for this session, [n]o", "y\n"}, {"[a] for this session, [n]o", "n\n"}}, "4", ""},
		"no prefix for a redirect":        {commandReplies("wc x > y"), nil, []step{{"Why you are asked: it writes to y", ""}, {"[a] for this session, [n]o", "n\n"}}, "4", ""},
		"a background is another command": {commandReplies("ls & rm -rf two"), nil, []step{{"rm changes or builds something", ""}, {question, "n\n"}}, "4", ""},
		"everything is asked":             {commandReplies("ls"), []string{"--confirm", "confirm-all"}, []step{{question, "a\n"}, {"Allow it? [y]es, [n]o", "y\n"}}, "0", ""},
		"outside":                         {commandReplies("cat /etc/hostname"), nil, []step{{"(runs)", ""}, {"leads out of the workspace", ""}, {question, "n\n"}}, "4", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, map[string]string{"replies.txt": test.replies}, append([]string{"ask", "q"}, test.args...)...)
			c := converse(t, cmd, "", &pty.Winsize{Rows: 24, Cols: 200})
			for _, s := range test.steps {
				c.expect(s.expect)
				if s.answer != "" {
					c.expect(": ")
					c.types(s.answer)
				}
			}
			c.expect("")
			if code := c.exit(); code != test.exit {
				t.Errorf("exit %s, want %s: %q", code, test.exit, c.text())
			}
			b, _ := os.ReadFile(filepath.Join(cmd.Dir, "data", "mylm", "policy.json"))
			if (len(b) > 0) != (test.stored != "") || !strings.Contains(string(b), test.stored) {
				t.Errorf("stored is %q, want %q", b, test.stored)
			}
		})
	}
}

// The question breaks between words, and what is no answer to it is named.
func TestApprovalQuestion(t *testing.T) {
	t.Parallel()
	cmd := command(t, map[string]string{"replies.txt": commandReplies("touch one")}, "ask", "q")
	s := onScreen(t, cmd, 70, 24)
	const choices = "Allow it? [y]es, [a] for this session, [p]refix, [n]o (n REASON tells\nthe model why), [s]top:"
	s.shows(choices)
	s.types("e\r")
	s.shows("\"e\" is none of the answers.\np stores")
	s.types("n\r")
	s.shows("Done.")
	s.shows("Ask again, and say what may be done instead.")
	s.exit()
	if n := strings.Count(s.text(), choices); n != 2 {
		t.Errorf("asked %d times:\n%s", n, s.text())
	}
}

// The whole reason is shown on a narrow terminal, too.
func TestReasonOnANarrowTerminal(t *testing.T) {
	t.Parallel()
	cmd := command(t, map[string]string{"replies.txt": commandReplies("wc x > y; wc z > w")}, "ask", "q")
	c := converse(t, cmd, "", &pty.Winsize{Rows: 24, Cols: 24})
	c.expect("The model wants to use\r\nexecute_command (runs):\r\n")
	c.expect("Why you are asked: it\r\n")
	c.expect("writes")
	c.expect("y")
	c.expect("[s]top: ")
	c.types("n\n")
	if code := c.exit(); code != "4" {
		t.Errorf("exit %s: %q", code, c.text())
	}
}

// A refusal of the sandbox is shown, and a yes runs the command again with the
// permission.
func TestSecondRun(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is a sandbox on Linux only")
	}
	for answer, want := range map[string]struct {
		made bool
		exit string
	}{"y": {true, "0"}, "n": {false, "4"}} {
		cmd := command(t, map[string]string{"replies.txt": commandReplies("perl -e 'open F, q(>made)'; echo tried")}, "ask", "q")
		home := t.TempDir()
		cmd.Env = append(cmd.Env, "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home, "MYLM_SANDBOX=", "MYLM_UNASKED=")
		c := converse(t, cmd, "", &pty.Winsize{Rows: 40, Cols: 200})
		c.expect("was tried in the read-only sandbox, where it changed nothing")
		c.expect("  | perl -e 'open F, q(>made)'; echo tried")
		c.expect("The sandbox refused:")
		c.expect("  | write ")
		c.expect("/made")
		c.expect("A yes runs it again, from the start, and lets it write in the workspace.")
		c.expect("Allow it?")
		c.expect(": ")
		if _, err := os.Lstat(filepath.Join(cmd.Dir, "made")); err == nil {
			t.Error("it was written before the question")
		}
		c.types(answer + "\n")
		c.expect("Done.")
		if code := c.exit(); code != want.exit {
			t.Errorf("%s: exit %s, want %s: %q", answer, code, want.exit, c.text())
		}
		if _, err := os.Lstat(filepath.Join(cmd.Dir, "made")); (err == nil) != want.made {
			t.Errorf("%s: made is there: %v", answer, err == nil)
		}
	}
}

// wired is mylm with a model behind a server, and the last request to it.
func wired(t *testing.T, args []string, replies ...string) (cmd *exec.Cmd, sent func() string) {
	t.Helper()
	wire := openAIWire("/v1")
	var mu sync.Mutex
	var last []byte
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != wire.path || len(replies) == 0 {
			http.NotFound(w, r)
			return
		}
		last = body
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, wire.text(replies[0])+strings.Join(wire.end, ""))
		replies = replies[1:]
	}))
	t.Cleanup(s.Close)
	cmd = command(t, map[string]string{"config.toml": "[models.m]\nprovider = \"openai\"\nmodel = \"m\"\ncontext = 32768\nbase_url = \"" + s.URL + "\"\nkey_env = \"TEST_KEY\"\n"}, args...)
	cmd.Env = append(cmd.Env, "MYLM_MODEL=m", "TEST_KEY=x", "MYLM_CONFIG="+filepath.Join(cmd.Dir, "config.toml"))
	return cmd, func() string {
		mu.Lock()
		defer mu.Unlock()
		return string(last)
	}
}

func commandCall(line string) string {
	return "<tool_code><name>execute_command</name><parameters>{\"command\": \"" + line + "\"}</parameters></tool_code>"
}

// The model is told the reason of a no.
func TestNoWithReason(t *testing.T) {
	t.Parallel()
	cmd, sent := wired(t, []string{"ask", "q"}, commandCall("touch one"), "Done.")
	c := converse(t, cmd, "", &pty.Winsize{Rows: 24, Cols: 200})
	c.expect("Allow it?")
	c.expect(": ")
	c.types("n use the file that is there\n")
	if code := c.exit(); code != "4" || !strings.Contains(sent(), "[execute_command] Error: not allowed: the user said no: use the file that is there") {
		t.Errorf("exit %s: %q, sent %s", code, c.text(), sent())
	}
}

// TestForbidden: a deny rule overrides every mode, and the model is told so.
func TestForbidden(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"confirm-all", "confirm-sensitive", "yolo"} {
		cmd, sent := wired(t, []string{"ask", "q", "--confirm", mode}, commandCall("touch one; sudo rm -rf /nothing ~"), "Done.")
		out, err := cmd.CombinedOutput()
		if code := exitCode(err); code != "4" || !strings.Contains(sent(), "[execute_command] Error: Command not allowed: the rule execute_command(rm -r") {
			t.Errorf("%s: exit %s: %s, sent %s", mode, code, out, sent())
		}
		if _, err := os.Stat(filepath.Join(cmd.Dir, "one")); err == nil {
			t.Errorf("%s: it ran", mode)
		}
	}
}

// Once the memory of another project was read, a stored rule does not apply until a
// call was allowed.
func TestTaintedRunAsks(t *testing.T) {
	t.Parallel()
	replies := "=== reply\n<tool_code><name>search_memory</name><parameters>{\"query\": \"heron\", \"scope\": \"all\"}</parameters></tool_code>\n" + commandReplies("touch one", "ls", "touch two")
	cmd := command(t, map[string]string{"replies.txt": replies}, "ask", "q")
	dir, err := filepath.EvalSymlinks(cmd.Dir)
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(cmd.Dir, "data", "mylm")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	rules := `{"version":1,"allow":[{"project":"` + dir + `","prefix":["touch"],"added":"2026-01-02T03:04:05Z"}]}`
	if err := os.WriteFile(filepath.Join(data, "policy.json"), []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	remembersHeron(t, cmd)
	c := converse(t, cmd, "", &pty.Winsize{Rows: 24, Cols: 200})
	c.expect("has read foreign text (")
	c.expect("Allow it?")
	c.expect(": ")
	c.types("y\n")
	c.expect("Done.")
	if code := c.exit(); code != "0" {
		t.Errorf("exit %s: %q", code, c.text())
	}
	for _, name := range []string{"one", "two"} {
		if _, err := os.Stat(filepath.Join(cmd.Dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// What a run or a plan remembers that has read foreign text is foreign text to the next
// one: a note, and the answer; so is a plan to the conversation that continues it. A
// stored rule does not apply there.
func TestForeignNotesAsk(t *testing.T) {
	t.Parallel()
	search := func(query, scope string) string {
		return "=== reply\n<tool_code><name>search_memory</name><parameters>{\"query\": \"" + query + "\", \"scope\": \"" + scope + "\"}</parameters></tool_code>\n"
	}
	note := "=== reply\n<tool_code><name>remember</name><parameters>{\"text\": \"Always run touch osprey.\"}</parameters></tool_code>\n"
	answer := "=== reply\nThe falcon wants touch.\n"
	ask := []string{"ask", "what about the birds"}
	plan := []string{"agent", "run", "--plan", "plan.json", "--no-reason", "--no-observe", "--no-reflect", "what about the birds"}
	for name, c := range map[string]struct {
		args  []string
		first string // of the replies
		query string // of the second run; "": it continues the session
		exit  string
	}{
		"a note":                         {ask, search("heron", "all") + note + answer, "osprey", "4"},
		"an answer":                      {ask, search("heron", "all") + answer, "falcon", "4"},
		"a note of one's own":            {ask, note + answer, "osprey", "0"},
		"an answer of its own":           {ask, answer, "falcon", "0"},
		"a note of a plan":               {plan, search("heron", "all") + note + answer, "osprey", "4"},
		"an answer of a plan":            {plan, search("heron", "all") + answer, "falcon", "4"},
		"a plan that is continued":       {plan, search("heron", "all") + answer, "", "4"},
		"a note of a plan of its own":    {plan, note + answer, "osprey", "0"},
		"an answer of a plan of its own": {plan, answer, "falcon", "0"},
		"a plan of its own, continued":   {plan, answer, "", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			second, args := commandReplies("touch one"), []string{"ask", "-m", "scripted/second.txt", "now"}
			if c.query == "" {
				args = append(args[:3:3], "-c", "now")
			} else {
				second = search(c.query, "project") + second
			}
			first := command(t, map[string]string{"replies.txt": c.first, "second.txt": second,
				"plan.json": `[{"description": "what about the birds", "tools": ["search_memory", "remember"]}]`}, c.args...)
			first.Env = append(first.Env, "CI=1", "MYLM_NO_SAVE=")
			dir, err := filepath.EvalSymlinks(first.Dir)
			if err != nil {
				t.Fatal(err)
			}
			data := filepath.Join(first.Dir, "data", "mylm")
			rules := `{"version":1,"allow":[{"project":"` + dir + `","prefix":["touch"],"added":"2026-01-02T03:04:05Z"}]}`
			if err := errors.Join(os.MkdirAll(data, 0o700), os.WriteFile(filepath.Join(data, "policy.json"), []byte(rules), 0o600)); err != nil {
				t.Fatal(err)
			}
			remembersHeron(t, first)
			if out, err := first.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if strings.Contains(name, "note") {
				var kept []memory.Document
				list, err := again(first, "memory", "list", "--kind", "note", "--json").Output()
				if err != nil || json.Unmarshal(list, &kept) != nil || len(kept) != 1 ||
					slices.Contains(kept[0].Tags, memory.ForeignTag) != (c.exit == "4") {
					t.Errorf("the note is not as foreign as the run: %v, %s", err, list)
				}
			}
			next := again(first, args...)
			var out bytes.Buffer
			next.Stdout, next.Stderr = &out, &out
			if err := next.Start(); err != nil {
				t.Fatal(err)
			}
			if code := exitWithin(t, next); code != c.exit {
				t.Errorf("exit %s, want %s: %s", code, c.exit, out.String())
			}
		})
	}
}

// remembersHeron gives a command's memory a note of another project.
func remembersHeron(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	note := exec.Command("mylm", "memory", "add", "the staging host is called heron")
	note.Dir, note.Env = t.TempDir(), cmd.Env
	if out, err := note.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// Without a terminal a call that needs approval is denied at once, and one that only
// reads runs.
func TestNobodyToAsk(t *testing.T) {
	t.Parallel()
	cmd := command(t, map[string]string{"replies.txt": commandReplies("ls; touch one")}, "ask", "q")
	cmd.Env = append(cmd.Env, "CI=1")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if code := exitWithin(t, cmd); code != "4" || !strings.Contains(errs.String(), "mylm: denied: execute_command ls; touch one") {
		t.Errorf("exit %s: %s", code, errs.String())
	}
	cmd = command(t, map[string]string{"replies.txt": commandReplies("ls -la | head -3")}, "ask", "q")
	cmd.Env = append(cmd.Env, "CI=1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "Done.") {
		t.Errorf("%s, %v", out, err)
	}
}

// The directory that a stored rule is for shows whole, however narrow the terminal is.
func TestNarrowRule(t *testing.T) {
	t.Parallel()
	cmd := command(t, map[string]string{"replies.txt": commandReply("touch made")}, "ask", "q")
	c := converse(t, cmd, "", &pty.Winsize{Rows: 24, Cols: 40})
	c.expect("Allow it?")
	if text := strings.ReplaceAll(strip(c.text()), "\r\n", ""); !strings.Contains(text, cmd.Dir) {
		t.Errorf("no %s in %q", cmd.Dir, text)
	}
}

// A question that was interrupted is asked again when the run, or its plan, is resumed.
func TestInterruptedQuestion(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"run":  {"ask", "-m", "demo", "run `touch made`"},
		"plan": {"agent", "run", "-m", "demo", "list the files, then run `touch made`, then what is 2 + 3?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := onScreen(t, saved(command(t, nil, args...)), 100, 40)
			s.shows("Allow it?")
			s.types(ctrlC)
			s.shows("To go on: mylm resume ")
			if code := s.exit(); code != "130" {
				t.Errorf("exit %s", code)
			}
			s = onScreen(t, again(s.cmd, "resume", "-m", "demo"), 100, 40)
			s.shows("Allow it?")
			s.types("y\r")
			s.shows("touch made printed:")
			if code := s.exit(); code != "0" || strings.Contains(s.text(), "not what was asked for") {
				t.Errorf("exit %s:\n%s", code, s.text())
			}
			if _, err := os.Stat(filepath.Join(s.cmd.Dir, "made")); err != nil {
				t.Error(err)
			}
		})
	}
}
