//go:build unix

package mcp_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mylm/tools"
	"mylm/tools/mcp"
)

// fakeServer is a server of this test binary.
func fakeServer(t *testing.T, name, mode string, env ...string) mcp.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return mcp.Server{Name: name, Command: []string{self}, Dir: t.TempDir(), Env: append([]string{fakeMode + "=" + mode, "PATH=" + os.Getenv("PATH")}, env...)}
}

// hub makes a hub that is closed with the test.
func hub(t *testing.T, o mcp.Options) *mcp.Hub {
	t.Helper()
	h, err := mcp.NewHub(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// registry is what a model has of a hub.
func registry(t *testing.T, h *mcp.Hub) *tools.Registry {
	t.Helper()
	find, err := h.Find()
	if err != nil {
		t.Fatal(err)
	}
	r, err := tools.NewRegistry(find)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// call makes a call, as an agent does.
func call(t *testing.T, r *tools.Registry, name, args string, permits ...tools.Refusal) tools.Outcome {
	t.Helper()
	inv, err := r.Prepare(name, json.RawMessage(args))
	if err != nil {
		return tools.Outcome{Error: err.Error()}
	}
	inv.Permits = permits
	return inv.Run(t.Context(), time.Minute)
}

func wantText(t *testing.T, o tools.Outcome, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(o.Body(), part) {
			t.Errorf("got %q, want %q in it", shortened(o.Body()), part)
		}
	}
}

func shortened(s string) string { return s[:min(len(s), 2000)] }

// A tool is called by its name though nothing of its server was known before.
func TestFirstCallStartsTheServer(t *testing.T) {
	t.Parallel()
	r := registry(t, hub(t, mcp.Options{Servers: []mcp.Server{fakeServer(t, "one", "good")}}))
	o := call(t, r, "one__echo", `{"text":"hi"}`)
	wantText(t, o, "you said hi")
	if !o.Success() || o.Origin != tools.Web {
		t.Errorf("success %v, origin %q", o.Success(), o.Origin)
	}
	wantText(t, call(t, r, "one__echo", `{}`), "text: missing") // the schema is known by now
	wantText(t, call(t, r, "one__ehco", `{}`), "did you mean one__echo")
	wantText(t, call(t, r, "two__echo", `{}`), "unknown tool")
}

// The tools of all servers are found at once; one that fails does not hide the others.
func TestFind(t *testing.T) {
	t.Parallel()
	h := hub(t, mcp.Options{Servers: []mcp.Server{fakeServer(t, "one", "good"), fakeServer(t, "two", "forty"), fakeServer(t, "three", "dead")}})
	r := registry(t, h)
	o := call(t, r, mcp.FindName, `{"query":"give text back"}`)
	wantText(t, o, "name: one__echo", "description: Give the text back.", `parameters: {"properties"`, "of 42 tools", "three", "cannot open the database")
	if names := h.Unknown(); !slices.Equal(names, []string{"three"}) {
		t.Errorf("unknown: %v", names)
	}
	wantText(t, call(t, r, "two__tool_ab", `{"text":"x"}`), "you said x")
	wantText(t, call(t, r, mcp.FindName, `{"query":"zzzz qqqq"}`), "None of the 42 tools")
}

func TestNothingIsStartedUnasked(t *testing.T) {
	t.Parallel()
	s := fakeServer(t, "one", "good")
	s.Command = []string{filepath.Join(t.TempDir(), "missing")}
	h := hub(t, mcp.Options{Servers: []mcp.Server{s}})
	r := registry(t, h)
	if len(h.Known()) > 0 || len(r.Names()) != 1 {
		t.Errorf("known %v, names %v", h.Known(), r.Names())
	}
	if inv, err := r.Prepare("one__echo", json.RawMessage(`{}`)); err != nil || inv.Effect != tools.Runs|tools.Network {
		t.Errorf("%v, %v", inv, err)
	}
	wantText(t, call(t, r, "one__echo", `{}`), "could not be started", "missing")
}

// Definitions are pinned; one that changed is asked about, and the old one is not
// what is called.
func TestChangedDefinitionAsksAgain(t *testing.T) {
	t.Parallel()
	changed := filepath.Join(t.TempDir(), "changed")
	pins := mcp.Pins{Dir: t.TempDir()}
	s := fakeServer(t, "one", "good", "CHANGED="+changed)
	h := hub(t, mcp.Options{Servers: []mcp.Server{s}, Pins: pins})
	wantText(t, call(t, registry(t, h), "one__echo", `{"text":"hi"}`), "you said hi")
	h.Close()
	if err := os.WriteFile(changed, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var said []string
	h = hub(t, mcp.Options{Servers: []mcp.Server{s}, Pins: pins, Notify: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, text)
	}})
	r := registry(t, h)
	if got := h.Known(); len(got) != 1 || got[0].Name != "one__echo" {
		t.Fatalf("known without a start: %v", got)
	}
	o := call(t, r, "one__echo", `{"text":"hi"}`)
	wantText(t, o, "changed the definition")
	if len(o.Refused) != 1 || o.Refused[0].Kind != mcp.Changed || !strings.Contains(o.Refused[0].Text, `"message"`) {
		t.Fatalf("refused: %v", o.Refused)
	}
	mu.Lock()
	if len(said) == 0 || !strings.Contains(said[0], "since you agreed to it: one__echo") {
		t.Errorf("the user was told %q", said)
	}
	mu.Unlock()
	wantText(t, call(t, r, "one__echo", `{"text":"hi"}`), "changed the definition") // no means no, not once
	wantText(t, call(t, r, "one__echo", `{"text":"hi"}`, o.Refused...), "message")
	wantText(t, call(t, r, "one__echo", `{"message":"hi"}`), "you said new hi")
	h.Close()
	// What was agreed to holds in the next run.
	wantText(t, call(t, registry(t, hub(t, mcp.Options{Servers: []mcp.Server{s}, Pins: pins})), "one__echo", `{"message":"hi"}`), "you said new hi")
}

// A server that shows one definition and has another when it is called.
func TestDefinitionThatChangesInBetween(t *testing.T) {
	t.Parallel()
	r := registry(t, hub(t, mcp.Options{Servers: []mcp.Server{fakeServer(t, "one", "rug")}}))
	wantText(t, call(t, r, mcp.FindName, `{"query":"text"}`), "Give the text back.")
	wantText(t, call(t, r, "one__echo", `{"text":"first"}`), "you said first") // made by the list that was shown
	o := call(t, r, "one__echo", `{"text":"second"}`)
	wantText(t, o, "changed the definition")
	if len(o.Refused) != 1 || !strings.Contains(o.Refused[0].Text, "every key you know") {
		t.Errorf("refused: %v", o.Refused)
	}
}

func TestToolsThatComeLater(t *testing.T) {
	t.Parallel()
	r := registry(t, hub(t, mcp.Options{Servers: []mcp.Server{fakeServer(t, "one", "grown")}}))
	wantText(t, call(t, r, "one__echo", `{"text":"a"}`), "you said a")
	wantText(t, call(t, r, "one__later", `{"text":"b"}`), "you said b")
}

// What a server has since it said that its tools have changed is found.
func TestToolsThatAreTold(t *testing.T) {
	t.Parallel()
	r := registry(t, hub(t, mcp.Options{Servers: []mcp.Server{fakeServer(t, "one", "tells")}}))
	wantText(t, call(t, r, mcp.FindName, `{"query":"later"}`), "None of the 1 tools")
	wantText(t, call(t, r, "one__echo", `{"text":"a"}`), "you said a")
	for !strings.Contains(call(t, r, mcp.FindName, `{"query":"later"}`).Text, "name: one__later") { // what it says comes beside its answer
		select {
		case <-t.Context().Done():
			t.Fatal("the later tool is not found")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// listed is a hub with one server that behaves in some way, and what it lists.
func listed(t *testing.T, mode string) (*mcp.Hub, mcp.Listed) {
	t.Helper()
	h := hub(t, mcp.Options{Servers: []mcp.Server{fakeServer(t, "one", mode)}})
	lists, err := h.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return h, lists[0]
}

// Names that cannot be told apart are refused, both, and both are named.
func TestNames(t *testing.T) {
	t.Parallel()
	h, list := listed(t, "collide")
	var names []string
	for _, l := range list.Tools {
		names = append(names, l.Call)
		if len(l.Call) > 64 {
			t.Errorf("%s has %d bytes", l.Call, len(l.Call))
		}
	}
	if !slices.Contains(names, "one__echo") || !slices.Contains(names, "one__sub_dir_tool") || len(names) != 3 {
		t.Errorf("names: %v", names)
	}
	want := map[string]string{"read_file": "read-file", "read-file": "read_file", "Iist": "list", "list": "Iist", "еcho": "'е'", "twice": "twice", strings.Repeat("x", 128) + "…": "200 bytes"}
	for _, p := range list.Problems {
		if part, ok := want[p.Tool]; !ok || !strings.Contains(p.Reason, part) {
			t.Errorf("problem %s", p)
		}
	}
	if len(list.Problems) != 8 {
		t.Errorf("%d problems: %v", len(list.Problems), list.Problems)
	}
	r := registry(t, h)
	wantText(t, call(t, r, "one__list", `{"text":"x"}`), "cannot be called", "Iist")
	wantText(t, call(t, r, "one__sub_dir_tool", `{"text":"x"}`), "you said x")
}

// A schema that cannot be used costs its tool, and no other.
func TestSchemas(t *testing.T) {
	t.Parallel()
	h, list := listed(t, "schemas")
	reasons := map[string]string{}
	for _, p := range list.Problems {
		reasons[p.Tool] = p.Reason
	}
	for tool, part := range map[string]string{"big": "at most 65536", "deep": "nested", "remote": "https://example.com", "array": "not of an object", "wrong": "no JSON Schema"} {
		if !strings.Contains(reasons[tool], part) {
			t.Errorf("%s: %q", tool, reasons[tool])
		}
	}
	r := registry(t, h)
	wantText(t, call(t, r, "one__tree", `{"root":{"left":{"left":{}}}}`), "you said")
	wantText(t, call(t, r, "one__tree", `{"root":`+strings.Repeat(`{"left":`, 90)+"{}"+strings.Repeat("}", 90)+"}"), "you said")
	wantText(t, call(t, r, "one__untyped", `{"text":"x"}`), "you said x")
	wantText(t, call(t, r, "one__backwards", `{"text":"x","more":"y"}`), "you said x")
	call(t, r, "one__circle", `{"a":1}`) // ends
	wantText(t, call(t, r, "one__big", `{}`), "at most 65536")
}

// Text of a server is data: nobody sees less of it than the model.
func TestDescriptions(t *testing.T) {
	t.Parallel()
	h := hub(t, mcp.Options{Servers: []mcp.Server{fakeServer(t, "one", "inject")}})
	o := call(t, registry(t, h), mcp.FindName, `{"query":"helper"}`)
	wantText(t, o, "one__helper", "obey")
	if strings.ContainsAny(o.Text, "\u200b\U000e0041") {
		t.Error("hidden characters have stayed")
	}
	if o.Origin != tools.Web {
		t.Errorf("the origin is %q", o.Origin)
	}
}

func TestEndlessLists(t *testing.T) {
	t.Parallel()
	r := registry(t, hub(t, mcp.Options{Servers: []mcp.Server{fakeServer(t, "one", "pages"), fakeServer(t, "two", "many")}}))
	wantText(t, call(t, r, "one__echo", `{"text":"x"}`), "does not end")
	wantText(t, call(t, r, "two__echo", `{"text":"x"}`), "more than 1000 tools")
}

func TestNoise(t *testing.T) {
	t.Parallel()
	r := registry(t, hub(t, mcp.Options{Servers: []mcp.Server{fakeServer(t, "one", "noise")}}))
	wantText(t, call(t, r, "one__echo", `{"text":"x"}`), "you said x")
}

// A server that ignores what it does not know is asked for an older revision. One that
// was only slow knows the newest, and is started again: it refuses the older one.
func TestDiscoverUnanswered(t *testing.T) {
	t.Parallel()
	for mode, env := range map[string][]string{"ignores": nil, "late": {"REVISION=2026-07-28", "STARTED=" + filepath.Join(t.TempDir(), "started")}} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := fakeServer(t, "one", mode, env...)
			s.Start = 15 * time.Second // a third of it passes
			r := registry(t, hub(t, mcp.Options{Servers: []mcp.Server{s}}))
			wantText(t, call(t, r, "one__echo", `{"text":"x"}`), "you said x")
		})
	}
}

func TestNeverAnswers(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"silent", "deaf"} {
		s := fakeServer(t, "one", mode)
		s.Start = 300 * time.Millisecond
		wantText(t, call(t, registry(t, hub(t, mcp.Options{Servers: []mcp.Server{s}})), "one__echo", `{}`), "not ready within 300ms")
	}
	s := fakeServer(t, "one", "hang")
	s.Timeout = 300 * time.Millisecond
	h := hub(t, mcp.Options{Servers: []mcp.Server{s}})
	wantText(t, call(t, registry(t, h), "one__echo", `{"text":"x"}`), "did not answer within 300ms")
}

// A cancelled call is cancelled at the server, and returns at once.
func TestCancel(t *testing.T) {
	t.Parallel()
	told := filepath.Join(t.TempDir(), "cancelled")
	h := hub(t, mcp.Options{Servers: []mcp.Server{fakeServer(t, "one", "hang", "CANCELLED="+told)}})
	r := registry(t, h)
	call(t, r, mcp.FindName, `{"query":"echo"}`) // it runs
	inv, err := r.Prepare("one__echo", json.RawMessage(`{"text":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan tools.Outcome)
	go func() { ended <- inv.Run(ctx, time.Minute) }()
	cancel()
	wantText(t, <-ended, "cancelled")
	wasTold(t, told)
}

// wasTold waits until a fake server has written that a call is cancelled: it gets to know
// a moment later.
func wasTold(t *testing.T, path string) {
	t.Helper()
	for {
		if b, err := os.ReadFile(path); err == nil && len(b) > 0 {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal("the server was not told")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// A server that dies in a call is started again for the next one.
func TestCrash(t *testing.T) {
	t.Parallel()
	r := registry(t, hub(t, mcp.Options{Servers: []mcp.Server{fakeServer(t, "one", "crash")}}))
	o := call(t, r, "one__echo", `{"text":"crash"}`)
	wantText(t, o, "has ended", "exit status 3", "segmentation fault")
	wantText(t, call(t, r, "one__echo", `{"text":"x"}`), "you said x")
}

func TestDead(t *testing.T) {
	t.Parallel()
	r := registry(t, hub(t, mcp.Options{Servers: []mcp.Server{fakeServer(t, "one", "dead")}}))
	wantText(t, call(t, r, "one__echo", `{"text":"x"}`), "MCP server one", "has ended", "cannot open the database")
}

// Results that are too large, or nested without end, do no harm.
func TestLargeResults(t *testing.T) {
	t.Parallel()
	r := registry(t, hub(t, mcp.Options{Servers: []mcp.Server{fakeServer(t, "one", "flood"), fakeServer(t, "two", "nested")}}))
	wantText(t, call(t, r, "one__echo", `{"text":"x"}`), "more than 16 MB")
	wantText(t, call(t, r, "two__echo", `{"text":"x"}`), "after")
}

func TestProgress(t *testing.T) {
	t.Parallel()
	r := registry(t, hub(t, mcp.Options{Servers: []mcp.Server{fakeServer(t, "one", "progress")}}))
	inv, err := r.Prepare("one__echo", json.RawMessage(`{"text":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	n := 0
	o := inv.Run(tools.WithProgress(t.Context(), func(text string) {
		mu.Lock()
		defer mu.Unlock()
		n++
	}), time.Minute)
	wantText(t, o, "you said x")
	mu.Lock()
	defer mu.Unlock()
	if n == 0 || n > 1000 {
		t.Errorf("%d reports of progress", n)
	}
}

func TestContent(t *testing.T) {
	t.Parallel()
	r := registry(t, hub(t, mcp.Options{Servers: []mcp.Server{fakeServer(t, "one", "content"), fakeServer(t, "two", "structured")}}))
	o := call(t, r, "one__echo", `{"text":"x"}`)
	if len(o.Images) != 1 || string(o.Images[0]) != "hello" {
		t.Errorf("pictures %v", o.Images)
	}
	wantText(t, o, "words\n[a picture, image/png, 5 bytes]\n[resource file:///a.txt a]\n[resource file:///b.txt]\nthe file\n[a recording")
	if o = call(t, r, "one__echo", `{"text":"fail"}`); o.Success() || !strings.Contains(o.Error, "words") || o.Origin != tools.Web {
		t.Errorf("%+v", o)
	}
	wantText(t, call(t, r, "two__echo", `{"text":"x"}`), `{"degrees":21.5}`)
}

// Nothing of a server is left, whatever it starts and ignores.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	h := hub(t, mcp.Options{Servers: []mcp.Server{fakeServer(t, "one", "child"), fakeServer(t, "two", "stubborn")}})
	r := registry(t, h)
	o := call(t, r, "one__echo", `{"text":"x"}`)
	var pid int
	if err := json.Unmarshal([]byte(o.Text), &pid); err != nil {
		t.Fatal(o)
	}
	call(t, r, mcp.FindName, `{"query":"echo"}`) // starts the other
	h.Close()
	if err := syscall.Kill(pid, 0); err == nil {
		t.Errorf("the grandchild %d is alive", pid)
	}
}

// A server gets its own environment and none of ours.
func TestEnvironment(t *testing.T) {
	t.Setenv("SECRET_OF_OURS", "1")
	r := registry(t, hub(t, mcp.Options{Servers: []mcp.Server{fakeServer(t, "one", "environment", "OF_ITS_OWN=1")}}))
	o := call(t, r, "one__echo", `{"text":"x"}`)
	wantText(t, o, "OF_ITS_OWN=1")
	if strings.Contains(o.Text, "SECRET_OF_OURS") {
		t.Errorf("it got %s", o.Text)
	}
}

// What a server asks for is refused unless it is allowed; what is allowed has bounds.
func TestAsks(t *testing.T) {
	t.Parallel()
	var plain []mcp.Server
	for _, mode := range []string{"samples", "elicits", "roots"} {
		plain = append(plain, fakeServer(t, mode, mode))
	}
	r := registry(t, hub(t, mcp.Options{Servers: plain}))
	wantText(t, call(t, r, "samples__echo", `{"text":"x"}`), "0 granted, 50 refused")
	wantText(t, call(t, r, "elicits__echo", `{"text":"name"}`), "does not support")
	wantText(t, call(t, r, "roots__echo", `{"text":"x"}`), `"roots":[]`)

	allowed := slices.Clone(plain)
	asked := 0
	for i := range allowed {
		allowed[i].Roots = []string{"/src/shop"}
		allowed[i].Elicit = func(_ context.Context, server, message string, schema json.RawMessage) (map[string]any, bool, error) {
			asked++
			return map[string]any{"value": "blue"}, true, nil
		}
		allowed[i].Sample = func(context.Context, string, mcp.Prompt) (string, error) { return "hello", nil }
	}
	var said []string
	r = registry(t, hub(t, mcp.Options{Servers: allowed, Notify: func(text string) { said = append(said, text) }}))
	wantText(t, call(t, r, "samples__echo", `{"text":"x"}`), "20 granted, 30 refused")
	wantText(t, call(t, r, "roots__echo", `{"text":"x"}`), "file:///src/shop")
	wantText(t, call(t, r, "elicits__echo", `{"text":"favourite colour"}`), "accept", "blue")
	for _, secret := range []string{"password", "API key", "SSH_KEY", "credit card", "GitHub token", "pass\u200bword"} {
		wantText(t, call(t, r, "elicits__echo", `{"text":"`+secret+`"}`), "decline")
	}
	if asked != 1 || len(said) != 6 || !strings.Contains(said[0], "looks like a secret") {
		t.Errorf("asked %d times, the user was told %q", asked, said)
	}
}

// What a server asks for in another form than MCP has for it is refused, in a request
// and in an answer that wants input.
func TestMalformedAsks(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"sampling/createMessage", `null`}, {"sampling/createMessage", `{"maxTokens":1,"messages":[null]}`},
		{"sampling/createMessage", `{"maxTokens":1,"messages":[{"role":"user"}]}`}, {"sampling/createMessage", `{"maxTokens":1,"messages":[{"role":"user","content":[null]}]}`},
		{"elicitation/create", `null`}, {"elicitation/create", `{"message":"x","requestedSchema":[]}`},
		{"elicitation/create", `{"message":"x","requestedSchema":{"type":"object","properties":{"a":null}}}`}, {"roots/list", `null`},
	} {
		input := resulting(`{"resultType":"input_required","inputRequests":{"a":{"method":"` + c[0] + `","params":` + c[1] + `}}}`)
		for want, s := range map[string]mcp.Server{"answered": fakeServer(t, "one", "asks", "ASK="+c[0], "PARAMS="+c[1]), "MCP server one": fakeServer(t, "one", "good", input)} {
			s.Roots = []string{"/src/shop"}
			s.Elicit = func(context.Context, string, string, json.RawMessage) (map[string]any, bool, error) {
				return nil, true, nil
			}
			s.Sample = func(context.Context, string, mcp.Prompt) (string, error) { return "hello", nil }
			wantText(t, call(t, registry(t, hub(t, mcp.Options{Servers: []mcp.Server{s}})), "one__echo", `{"text":"x"}`), want)
		}
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	s := fakeServer(t, "one", "forty")
	s.Tools = []string{"tool_a*", "!tool_aa"}
	s.Effect = func(tool string) tools.Effect {
		if tool == "tool_ab" {
			return tools.Reads
		}
		return tools.Runs
	}
	h := hub(t, mcp.Options{Servers: []mcp.Server{s}})
	lists, err := h.List(t.Context())
	if err != nil || len(lists[0].Tools) != 25 {
		t.Fatalf("%v: %v", err, lists)
	}
	r := registry(t, h)
	wantText(t, call(t, r, "one__tool_aa", `{"text":"x"}`), "has no tool one__tool_aa")
	inv, err := r.Prepare("one__tool_ab", json.RawMessage(`{"text":"x"}`))
	if err != nil || inv.Effect != tools.Reads {
		t.Errorf("%v %v", inv, err)
	}
}

// Many calls at once share one connection, and one start.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	r := registry(t, hub(t, mcp.Options{Servers: []mcp.Server{fakeServer(t, "one", "good")}}))
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { wantText(t, call(t, r, "one__echo", `{"text":"x"}`), "you said x") })
	}
	all.Wait()
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	h := hub(t, mcp.Options{Servers: []mcp.Server{fakeServer(t, "one", "hang"), fakeServer(t, "two", "silent")}})
	r := registry(t, h)
	call(t, r, mcp.FindName+"x", `{}`)
	ended := make(chan tools.Outcome, 2)
	for _, name := range []string{"one__echo", "two__echo"} {
		inv, err := r.Prepare(name, json.RawMessage(`{"text":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		go func() { ended <- inv.Run(t.Context(), time.Minute) }()
	}
	h.Close()
	for range 2 {
		if o := <-ended; o.Success() {
			t.Error(o)
		}
	}
	if o := call(t, r, "one__echo", `{"text":"x"}`); o.Success() {
		t.Error("a closed hub was used")
	}
}

func TestChecks(t *testing.T) {
	t.Parallel()
	ok := []string{"true"}
	for want, s := range map[string]mcp.Server{
		"the name":               {Name: "a__b", Command: ok},
		"both set":               {Name: "a", Command: ok, URL: "https://example.com"},
		"missing":                {Name: "a"},
		"not encrypted":          {Name: "a", URL: "http://example.com/mcp"},
		"name or password":       {Name: "a", URL: "https://user:pw@example.com/mcp"},
		"begin with https":       {Name: "a", URL: "file:///etc/passwd"},
		"cannot be read":         {Name: "a", Command: ok, Tools: []string{"[a"}},
		"directory \"relative\"": {Name: "a", Command: ok, Dir: "relative"},
	} {
		if _, err := mcp.NewHub(mcp.Options{Servers: []mcp.Server{s}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	two := mcp.Server{Name: "a", Command: ok}
	if _, err := mcp.NewHub(mcp.Options{Servers: []mcp.Server{two, two}}); err == nil || !strings.Contains(err.Error(), "two MCP servers") {
		t.Error(err)
	}
}
