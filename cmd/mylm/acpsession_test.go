package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestACPHandshake(t *testing.T) {
	t.Parallel()
	e := newEditor(t, "")
	e.start("acp", "-m", "demo")
	if code, _ := e.refused("session/new", map[string]any{"cwd": e.dir, "mcpServers": []any{}}); code != -32600 {
		t.Errorf("a session before initialize: %d", code)
	}
	for _, version := range []int{0, 1, 2, 65535} {
		r := e.call("initialize", map[string]any{"protocolVersion": version})
		if fmt.Sprint(r["protocolVersion"]) != "1" {
			t.Errorf("asked for %d: %v", version, r["protocolVersion"])
		}
	}
	r := e.initialize(nil)
	can, _ := r["agentCapabilities"].(map[string]any)
	prompts, _ := can["promptCapabilities"].(map[string]any)
	if can["loadSession"] != true || prompts["embeddedContext"] != true || prompts["image"] == true || fmt.Sprint(r["authMethods"]) != "[]" {
		t.Errorf("capabilities: %v", r)
	}

	refused := map[string]struct {
		method string
		params any
		code   int
		text   string
	}{
		"no method":        {"session/fly", map[string]any{}, -32601, "session/fly"},
		"extension":        {"_other/thing", map[string]any{}, -32601, ""},
		"authenticate":     {"authenticate", map[string]any{"methodId": "oauth"}, -32602, "oauth"},
		"relative cwd":     {"session/new", map[string]any{"cwd": "work", "mcpServers": []any{}}, -32602, "absolute"},
		"missing cwd":      {"session/new", map[string]any{"mcpServers": []any{}}, -32602, ""},
		"cwd is no text":   {"session/new", map[string]any{"cwd": 5, "mcpServers": []any{}}, -32602, ""},
		"cwd is gone":      {"session/new", map[string]any{"cwd": e.dir + "/none", "mcpServers": []any{}}, -32602, "no such"},
		"cwd is a file":    {"session/new", map[string]any{"cwd": e.write("file", ""), "mcpServers": []any{}}, -32602, "not a directory"},
		"more directories": {"session/new", map[string]any{"cwd": e.dir, "mcpServers": []any{}, "additionalDirectories": []any{e.dir}}, -32602, "additionalDirectories"},
		"load nothing":     {"session/load", map[string]any{"sessionId": "abcdefghijklm", "cwd": e.dir, "mcpServers": []any{}}, -32002, ""},
		"load the last":    {"session/load", map[string]any{"sessionId": "last", "cwd": e.dir, "mcpServers": []any{}}, -32002, ""},
		"load a path":      {"session/load", map[string]any{"sessionId": "../x", "cwd": e.dir, "mcpServers": []any{}}, -32002, ""},
		"load relative":    {"session/load", map[string]any{"sessionId": "abcdefghijklm", "cwd": ".", "mcpServers": []any{}}, -32602, "absolute"},
		"prompt nothing":   {"session/prompt", map[string]any{"sessionId": "x", "prompt": blocks("q")}, -32002, "x"},
		"bad cursor":       {"session/list", map[string]any{"cursor": "?"}, -32602, "cursor"},
		"relative list":    {"session/list", map[string]any{"cwd": "work"}, -32602, "absolute"},
		"mode of nothing":  {"session/set_mode", map[string]any{"sessionId": "x", "modeId": "yolo"}, -32002, "x"},
		"params as a list": {"session/new", []any{}, -32602, ""},
	}
	for name, test := range refused {
		if code, text := e.refused(test.method, test.params); code != test.code || !strings.Contains(text, test.text) {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}

	id := e.open()
	for name, test := range map[string]struct {
		method string
		params map[string]any
	}{
		"no mode":      {"session/set_mode", map[string]any{"modeId": "fly"}},
		"empty prompt": {"session/prompt", map[string]any{"prompt": []any{}}},
		"blank prompt": {"session/prompt", map[string]any{"prompt": blocks(" \n")}},
		"a picture":    {"session/prompt", map[string]any{"prompt": []any{map[string]any{"type": "image", "mimeType": "image/png", "data": "AAAA"}}}},
		"audio":        {"session/prompt", map[string]any{"prompt": []any{map[string]any{"type": "audio", "mimeType": "audio/wav", "data": "AAAA"}}}},
		"no block":     {"session/prompt", map[string]any{"prompt": []any{map[string]any{"type": "hologram"}}}},
	} {
		test.params["sessionId"] = id
		if code, text := e.refused(test.method, test.params); code != -32602 {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
	// What is no message is answered, and the session goes on.
	for line, code := range map[string]string{"{": "-32700", "[]": "-32600", "7": "-32600", `{"jsonrpc":"2.0"}`: "-32600"} {
		e.line(line)
		if f := e.seen(`"id":null`); !strings.Contains(f.raw, code) {
			t.Errorf("%s: %s", line, f.raw)
		}
	}
	e.notify("session/cancel", map[string]any{"sessionId": "x"})
	e.notify("session/cancel", 5)
	e.notify("$/unknown", nil)
	e.notify("_extension", nil)
	e.line(`{"jsonrpc":"2.0","id":99999,"result":{}}`)
	if stop := e.prompt(id, "say hello"); stop != "end_turn" {
		t.Errorf("the prompt ends as %s", stop)
	}
	if e.said(id, "agent_message_chunk") == "" {
		t.Error("no answer")
	}
}

func TestACPPrompt(t *testing.T) {
	t.Parallel()
	e := startEditor(t, "=== thought\nWhere is it?\n"+toolReply("I look.", "read_file", map[string]any{"path": "notes.txt", "start_line": 2})+
		"=== reply chunk=4\n\nIt is **behind** the door.\n"+
		toolReply("", "no_such_tool", map[string]any{})+"=== reply\nThere is none.\n")
	e.write("notes.txt", "one\nthe key is behind the door\n")
	id := e.open()
	if stop := e.prompt(id, "Where is the key?"); stop != "end_turn" {
		t.Errorf("it ends as %s", stop)
	}
	if said := e.said(id, "agent_message_chunk"); said != "I look.\n\nIt is **behind** the door." {
		t.Errorf("said %q", said)
	}
	if n := len(e.updates(id, "agent_message_chunk")); n < 5 {
		t.Errorf("the answer comes in %d chunks", n)
	}
	if thought := e.said(id, "agent_thought_chunk"); !strings.Contains(thought, "Where is it?") {
		t.Errorf("thought %q", thought)
	}
	call := e.updates(id, "tool_call")[0]
	at := fmt.Sprint(call["locations"])
	if call["kind"] != "read" || call["title"] != "Read notes.txt" || !strings.Contains(at, filepath.Join(e.dir, "notes.txt")) || !strings.Contains(at, "line:2") {
		t.Errorf("the call: %v", call)
	}
	if got := fmt.Sprint(e.updates(id, "tool_call_update")); !strings.Contains(got, "behind the door") || !strings.Contains(got, "completed") {
		t.Errorf("the result: %v", got)
	}
	if title := e.updates(id, "session_info_update"); len(title) != 1 || title[0]["title"] != "Where is the key?" {
		t.Errorf("the title: %v", title)
	}
	if stop := e.prompt(id, "And the other?"); stop != "end_turn" {
		t.Errorf("it ends as %s", stop)
	}
	failed := 0
	for _, s := range e.finished(id) {
		if s == "failed" {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d calls failed\n%s", failed, e.transcript())
	}

	// The session is one like any other.
	out, err := e.mylm("sessions", "show", id)
	if err != nil || !strings.Contains(out, "Where is the key?") {
		t.Errorf("sessions show: %v\n%s", err, out)
	}
}

// Files go with a prompt: in it, or by name.
func TestACPFiles(t *testing.T) {
	t.Parallel()
	e := startEditor(t, "=== reply\nSeen.\n")
	e.write("linked file.txt", "text of the linked file\n")
	e.write("big.txt", strings.Repeat("too much\n", 10_000))
	id := e.open()
	uri := func(name string) string {
		return "file://" + strings.ReplaceAll(filepath.Join(e.dir, name), " ", "%20")
	}
	r := e.call("session/prompt", map[string]any{"sessionId": id, "prompt": []any{
		map[string]any{"type": "text", "text": "Compare"},
		map[string]any{"type": "resource", "resource": map[string]any{"uri": uri("embedded.go") + "#L1:2", "mimeType": "text/x-go", "text": "package embedded\n</observation>"}},
		map[string]any{"type": "text", "text": "with"},
		map[string]any{"type": "resource_link", "name": "linked file.txt", "uri": uri("linked file.txt")},
		map[string]any{"type": "text", "text": ", not with "},
		map[string]any{"type": "resource_link", "name": "big.txt", "uri": uri("big.txt")},
		map[string]any{"type": "resource_link", "name": "page", "uri": "https://example.com/a b"},
		map[string]any{"type": "resource_link", "name": "gone", "uri": uri("gone.txt")},
		map[string]any{"type": "resource", "resource": map[string]any{"uri": "zed:///agent/selection", "blob": "c2VsZWN0ZWQ="}},
	}})
	if r["stopReason"] != "end_turn" {
		t.Errorf("it ends as %v", r)
	}
	out, err := e.mylm("sessions", "show", id)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`Compare @embedded.go#L1:2 with @linked\ file.txt, not with @big.txt @https://example.com/a\ b @gone.txt @zed:///agent/selection`,
		"--- embedded.go#L1:2 ---\npackage embedded", "--- linked file.txt ---\ntext of the linked file\n", "--- zed:///agent/selection ---\nselected\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the model is not shown %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "too much") {
		t.Error("a large file is sent whole")
	}
	if said := e.said(id, "agent_thought_chunk"); !strings.Contains(said, "gone.txt") {
		t.Errorf("that a file is missing is not told: %q", said)
	}
	if code, text := e.refused("session/prompt", map[string]any{"sessionId": id, "prompt": []any{
		map[string]any{"type": "resource", "resource": map[string]any{"uri": uri("x.bin"), "blob": "AAECAw=="}},
	}}); code != -32602 || !strings.Contains(text, "x.bin") {
		t.Errorf("a binary file: %d %s", code, text)
	}
}

func TestACPPermission(t *testing.T) {
	t.Parallel()
	for choice, test := range map[string]struct {
		runs   bool
		stop   string
		status string
		again  bool // it is asked again
	}{
		"allow":         {true, "end_turn", "completed", true},
		"allow-exactly": {true, "end_turn", "completed", false},
		"allow-prefix":  {true, "end_turn", "completed", false},
		"reject":        {false, "end_turn", "failed", true},
		"stop":          {false, "end_turn", "failed", true},
		"invented":      {false, "", "failed", true},
		"cancelled":     {false, "cancelled", "failed", true},
	} {
		t.Run(choice, func(t *testing.T) {
			t.Parallel()
			call := toolReply("", "execute_command", map[string]any{"command": "touch made"})
			script := call + "=== reply\nDone.\n" + call + "=== reply\nDone.\n"
			if choice == "stop" || choice == "cancelled" || choice == "invented" {
				script = call + call + "=== reply\nDone.\n"
			}
			e := startEditor(t, script)
			var asked []map[string]any
			e.permission = func(p map[string]any) string {
				e.mu.Lock()
				defer e.mu.Unlock()
				asked = append(asked, p)
				return choice
			}
			id := e.open()
			_, response := e.begin("session/prompt", map[string]any{"sessionId": id, "prompt": blocks("q")})
			f := e.wait(response)
			r, _ := f.Result.(map[string]any)
			if stop, _ := r["stopReason"].(string); stop != test.stop {
				t.Errorf("it ends as %q, want %q: %s", stop, test.stop, f.raw)
			}
			for _, s := range e.finished(id) {
				if s != test.status {
					t.Errorf("the call is %s, want %s", s, test.status)
				}
			}
			if _, err := os.Stat(filepath.Join(e.dir, "made")); (err == nil) != test.runs {
				t.Errorf("the command ran: %v", err == nil)
			}
			e.mu.Lock()
			options, shown := fmt.Sprint(asked[0]["options"]), fmt.Sprint(asked[0]["toolCall"])
			e.mu.Unlock()
			for _, want := range []string{"allow_once", "allow_always", "reject_once", "touch"} {
				if !strings.Contains(options, want) {
					t.Errorf("the options have no %s: %s", want, options)
				}
			}
			for _, want := range []string{"touch made", "execute", "pending"} {
				if !strings.Contains(shown, want) {
					t.Errorf("the question does not show %q: %s", want, shown)
				}
			}
			_, response = e.begin("session/prompt", map[string]any{"sessionId": id, "prompt": blocks("again")})
			e.wait(response)
			e.mu.Lock()
			defer e.mu.Unlock()
			if again := len(asked) > 1; again != test.again {
				t.Errorf("it is asked again: %v, want %v", again, test.again)
			}
		})
	}
}

func TestACPDiff(t *testing.T) {
	t.Parallel()
	e := startEditor(t, toolReply("", "write_file", map[string]any{"path": "new.txt", "content": "hello\n"})+
		toolReply("", "edit_file", map[string]any{"path": "old.txt", "old": "two", "new": "2"})+
		toolReply("", "write_file", map[string]any{"path": "old.txt", "content": "all new\n"})+"=== reply\nDone.\n")
	e.write("old.txt", "one\ntwo\n")
	e.permission = func(map[string]any) string { return "allow" }
	id := e.open()
	e.prompt(id, "q")
	e.finished(id)
	var diffs []map[string]any
	for _, u := range e.updates(id, "tool_call") {
		content, _ := u["content"].([]any)
		for _, c := range content {
			if c, _ := c.(map[string]any); c["type"] == "diff" {
				diffs = append(diffs, c)
			}
		}
		if u["kind"] != "edit" || len(fmt.Sprint(u["locations"])) < len(e.dir) {
			t.Errorf("the call: %v", u)
		}
	}
	want := []map[string]any{
		{"path": filepath.Join(e.dir, "new.txt"), "newText": "hello\n"},
		{"path": filepath.Join(e.dir, "old.txt"), "oldText": "two", "newText": "2"},
		{"path": filepath.Join(e.dir, "old.txt"), "oldText": "one\n2\n", "newText": "all new\n"},
	}
	if len(diffs) != len(want) {
		t.Fatalf("diffs: %v\n%s", diffs, e.transcript())
	}
	for i, w := range want {
		for key, v := range w {
			if diffs[i][key] != v {
				t.Errorf("diff %d: %s is %q, want %q", i, key, diffs[i][key], v)
			}
		}
		if _, has := diffs[i]["oldText"]; has != (w["oldText"] != nil) {
			t.Errorf("diff %d has an old text: %v", i, has)
		}
	}
}

func TestACPModes(t *testing.T) {
	t.Parallel()
	call := func(name string) string {
		return toolReply("", "execute_command", map[string]any{"command": "touch " + name})
	}
	e := startEditor(t, call("a")+"=== reply\nDone.\n"+call("b")+call("c")+"=== reply\nDone.\n"+toolReply("", "list_dir", map[string]any{})+"=== reply\nDone.\n")
	asked := make(chan string, 10)
	e.permission = func(p map[string]any) string {
		asked <- fmt.Sprint(p["toolCall"])
		return "allow"
	}
	r := e.call("session/new", map[string]any{"cwd": e.dir, "mcpServers": []any{}})
	id, _ := r["sessionId"].(string)
	if state := fmt.Sprint(r["modes"]); !strings.Contains(state, "currentModeId:confirm-sensitive") || !strings.Contains(state, "confirm-all") || !strings.Contains(state, "yolo") {
		t.Errorf("modes: %v", state)
	}
	mode := func(m string) { e.call("session/set_mode", map[string]any{"sessionId": id, "modeId": m}) }
	mode("yolo")
	e.prompt(id, "q")
	if len(asked) > 0 {
		t.Error("it is asked in the mode yolo")
	}
	// The mode counts from the next call on, also while a prompt is answered.
	mode("confirm-sensitive")
	e.permission = func(p map[string]any) string {
		asked <- fmt.Sprint(p["toolCall"])
		mode("yolo")
		return "allow"
	}
	e.prompt(id, "q")
	if len(asked) != 1 {
		t.Errorf("it is asked %d times, want once", len(asked))
	}
	for len(asked) > 0 {
		<-asked
	}
	mode("confirm-all")
	e.prompt(id, "q")
	if len(asked) != 1 {
		t.Errorf("it is asked %d times in the mode confirm-all, want once", len(asked))
	}
	e.finished(id)
}

// A project can ask for more questions, and the editor is told.
func TestACPModeOfProject(t *testing.T) {
	t.Parallel()
	e := startEditor(t, toolReply("", "list_dir", map[string]any{})+"=== reply\nDone.\n")
	e.write(".mylm.toml", "confirm = \"confirm-all\"\n")
	asked := make(chan bool, 10)
	e.permission = func(map[string]any) string { asked <- true; return "allow" }
	id := e.open()
	e.call("session/set_mode", map[string]any{"sessionId": id, "modeId": "yolo"})
	e.seen(`"currentModeId":"confirm-all"`)
	e.prompt(id, "q")
	if len(asked) != 1 {
		t.Errorf("it is asked %d times", len(asked))
	}
}

func TestACPCommands(t *testing.T) {
	t.Parallel()
	e := startEditor(t, "=== reply\n[{\"id\":\"a\",\"description\":\"look\"}]\n=== reply\n{\"thought\":\"t\",\"selected_task_id\":\"a\",\"rationale\":\"r\"}\n=== reply\nLooked.\n=== reply\n{\"success\":true,\"learned\":[],\"progress\":\"all\"}\n=== reply\nAll is well.\n")
	id := e.open()
	e.seen("available_commands_update")
	names := fmt.Sprint(e.updates(id, "available_commands_update"))
	for _, want := range []string{"name:model", "name:tools", "name:undo", "name:plan", "hint:GOAL"} {
		if !strings.Contains(names, want) {
			t.Errorf("no %s in %s", want, names)
		}
	}
	if stop := e.prompt(id, "/tools"); stop != "end_turn" {
		t.Errorf("/tools ends as %s", stop)
	}
	if said := e.said(id, "agent_message_chunk"); !strings.Contains(said, "read_file") {
		t.Errorf("/tools: %q", said)
	}
	if code, text := e.refused("session/prompt", map[string]any{"sessionId": id, "prompt": blocks("/plan")}); code != -32602 || !strings.Contains(text, "goal") {
		t.Errorf("/plan alone: %d %s", code, text)
	}
	if stop := e.prompt(id, "/plan look around"); stop != "end_turn" {
		t.Errorf("/plan ends as %s", stop)
	}
	plans := e.updates(id, "plan")
	if len(plans) < 3 {
		t.Fatalf("plans: %v\n%s", plans, e.transcript())
	}
	for i, want := range map[int]string{0: "pending", 1: "in_progress", len(plans) - 1: "completed"} {
		if got := fmt.Sprint(plans[i]); !strings.Contains(got, "content:look") || !strings.Contains(got, want) {
			t.Errorf("plan %d is %s, want %s", i, got, want)
		}
	}
}

func TestACPCancel(t *testing.T) {
	t.Parallel()
	sleep := toolReply("", "execute_command", map[string]any{"command": "echo begun; sleep 1000"})
	for name, test := range map[string]struct {
		script string
		seen   string // before the cancel; "": it comes right behind the prompt
		answer string // to a question; "": none
	}{
		"model":      {"=== reply hang\nSome text.\n", "Some text", ""},
		"at once":    {"=== reply hang\n", "", ""},
		"tool":       {sleep, "begun", "allow"},
		"permission": {sleep, "session/request_permission", ""},
	} {
		for _, how := range []string{"session/cancel", "$/cancel_request"} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				e := startEditor(t, test.script+"=== reply\nNext.\n=== reply\nNext.\n")
				e.permission = func(map[string]any) string { return test.answer }
				id := e.open()
				request, response := e.begin("session/prompt", map[string]any{"sessionId": id, "prompt": blocks("q")})
				if test.seen != "" {
					e.seen(test.seen)
				}
				if how == "session/cancel" {
					e.notify(how, map[string]any{"sessionId": id})
				} else {
					e.mu.Lock()
					e.cancels = true
					e.mu.Unlock()
					e.line(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":` + request + `}}`)
				}
				f := e.wait(response)
				r, _ := f.Result.(map[string]any)
				if r["stopReason"] != "cancelled" {
					t.Errorf("it ends as %s", f.raw)
				}
				e.finished(id)
				if name == "at once" { // whether the model was asked is open, and with it which reply is next
					if stop := e.prompt(id, "/stats"); stop != "end_turn" {
						t.Errorf("the next prompt ends as %s", stop)
					}
					return
				}
				if stop := e.prompt(id, "next"); stop != "end_turn" || !strings.Contains(e.said(id, "agent_message_chunk"), "Next.") {
					t.Errorf("the next prompt ends as %s", stop)
				}
			})
		}
	}
}

func TestACPLoad(t *testing.T) {
	t.Parallel()
	e := startEditor(t, "=== thought\nHm.\n"+toolReply("I look.", "read_file", map[string]any{"path": "notes.txt"})+"=== reply stop=length\nThe first an\n=== reply\nswer.\n"+
		toolReply("", "write_file", map[string]any{"path": "x.txt", "content": "x"})+"=== reply\nNot written.\n=== reply hang\nThis is unfinished.\n")
	e.write("notes.txt", "a note\n")
	id, other := e.open(), e.open()
	e.prompt(id, "first question")
	e.prompt(id, "second question")
	e.prompt(other, "first of the other")
	_, response := e.begin("session/prompt", map[string]any{"sessionId": id, "prompt": blocks("third question")})
	e.seen("unfinished")
	if code, _ := e.refused("session/prompt", map[string]any{"sessionId": id, "prompt": blocks("meanwhile")}); code != -32600 {
		t.Errorf("a second prompt: %d", code)
	}
	e.call("session/close", map[string]any{"sessionId": id})
	if f := e.wait(response); !strings.Contains(f.raw, "cancelled") {
		t.Errorf("closed: %s", f.raw)
	}
	if code, _ := e.refused("session/prompt", map[string]any{"sessionId": id, "prompt": blocks("q")}); code != -32002 {
		t.Errorf("a prompt of a closed session: %d", code)
	}

	for _, again := range []string{"the same process", "another process"} {
		if again == "another process" {
			first := e
			e = &editor{t: t, schema: first.schema, dir: first.dir, asked: map[string]string{}, waiting: map[string]chan frame{}, got: make(chan frame, 10_000), permission: first.permission}
			_ = first.in.Close()
			e.start("acp", "-m", "demo")
			e.initialize(nil)
		}
		before := len(e.updates(id, ""))
		r := e.call("session/load", map[string]any{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}})
		if r["modes"] == nil {
			t.Errorf("%s: no modes", again)
		}
		var said []string
		for _, u := range e.updates(id, "")[before:] {
			content, _ := u["content"].(map[string]any)
			switch u["sessionUpdate"] {
			case "tool_call":
				said = append(said, fmt.Sprint("call: ", u["title"]))
			case "tool_call_update":
				said = append(said, fmt.Sprint("call is ", u["status"]))
			case "available_commands_update":
			default:
				said = append(said, fmt.Sprint(u["sessionUpdate"], ": ", content["text"]))
			}
		}
		want := []string{
			"user_message_chunk: first question", "agent_thought_chunk: Hm.", "agent_message_chunk: I look.", "call: Read notes.txt", "call is completed", "agent_message_chunk: The first answer.",
			"user_message_chunk: second question", "call: Write x.txt", "call is failed", "agent_message_chunk: Not written.", "user_message_chunk: third question",
		}
		if len(said) < len(want) || strings.Join(said[:len(want)], "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: replayed\n%s\nwant\n%s", again, strings.Join(said, "\n"), strings.Join(want, "\n"))
		}
		if again == "the same process" {
			e.call("session/close", map[string]any{"sessionId": id})
		}
	}
	if stop := e.prompt(id, "say hello"); stop != "end_turn" {
		t.Errorf("a prompt of the loaded session ends as %s", stop)
	}
	if code, text := e.refused("session/load", map[string]any{"sessionId": other, "cwd": filepath.Dir(e.dir), "mcpServers": []any{}}); code != -32602 || !strings.Contains(text, "directory") {
		t.Errorf("another directory: %d %s", code, text)
	}
	before := len(e.updates(other, ""))
	e.call("session/resume", map[string]any{"sessionId": other, "cwd": e.dir, "mcpServers": []any{}})
	e.prompt(other, "say hello")
	if got := fmt.Sprint(e.updates(other, "")[before:]); strings.Contains(got, "first of the other") {
		t.Errorf("a resume replays: %s", got)
	}

	list := e.call("session/list", map[string]any{"cwd": e.dir})
	all, _ := list["sessions"].([]any)
	if text := fmt.Sprint(list); len(all) != 2 || !strings.Contains(text, "first question") || !strings.Contains(text, e.dir) {
		t.Errorf("the list: %v", list)
	}
	if list := e.call("session/list", map[string]any{"cwd": filepath.Dir(e.dir)}); len(list["sessions"].([]any)) != 0 {
		t.Errorf("the list of another directory: %v", list)
	}
	e.call("session/delete", map[string]any{"sessionId": other})
	e.call("session/delete", map[string]any{"sessionId": other})
	if list := e.call("session/list", map[string]any{}); len(list["sessions"].([]any)) != 1 {
		t.Errorf("after a delete: %v", list)
	}
}

func TestACPSideBySide(t *testing.T) {
	t.Parallel()
	e := startEditor(t, "=== reply hang\nI take long.\n")
	slow := e.open()
	_, response := e.begin("session/prompt", map[string]any{"sessionId": slow, "prompt": blocks("q")})
	e.seen("I take long")
	other := e.open()
	if slow == other {
		t.Fatal("two sessions with one id")
	}
	if stop := e.prompt(other, "/stats"); stop != "end_turn" {
		t.Errorf("the other ends as %s", stop)
	}
	e.notify("session/cancel", map[string]any{"sessionId": other}) // which is idle
	select {
	case f := <-response:
		t.Errorf("the first ended: %s", f.raw)
	default:
	}
	e.notify("session/cancel", map[string]any{"sessionId": slow})
	if f := e.wait(response); !strings.Contains(f.raw, "cancelled") {
		t.Errorf("it ends as %s", f.raw)
	}
}

// A model that cannot be asked is an error, and the session goes on.
func TestACPFailures(t *testing.T) {
	t.Parallel()
	e := startEditor(t, "=== reply error=auth message=\"no key\"\n=== reply\nBetter.\n"+toolReply("", "list_dir", map[string]any{})+toolReply("", "list_dir", map[string]any{})+"=== reply\nThat is all.\n", "--max-turns", "1")
	id := e.open()
	if code, text := e.refused("session/prompt", map[string]any{"sessionId": id, "prompt": blocks("q")}); code != -32603 || !strings.Contains(text, "no key") {
		t.Errorf("%d %s", code, text)
	}
	if stop := e.prompt(id, "q"); stop != "end_turn" || !strings.Contains(e.said(id, "agent_message_chunk"), "Better.") {
		t.Errorf("it ends as %s", stop)
	}
	if stop := e.prompt(id, "q"); stop != "max_turn_requests" {
		t.Errorf("it ends as %s", stop)
	}
	e.finished(id)
}

// mylm runs another command as the same user.
func (e *editor) mylm(args ...string) (string, error) {
	cmd := commandAs(e.cmd, args...)
	cmd.Dir = e.dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The files of an editor have changes that are not saved: the model is shown them,
// edits them, and the editor writes.
func TestACPEditorsFiles(t *testing.T) {
	t.Parallel()
	script := toolReply("", "read_file", map[string]any{"path": "open.txt"}) + toolReply("", "edit_file", map[string]any{"path": "open.txt", "old": "unsaved", "new": "edited"}) +
		toolReply("", "write_file", map[string]any{"path": "sub/new.txt", "content": "new\n", "create_parents": true}) + toolReply("", "edit_file", map[string]any{"path": "closed.txt", "old": "closed", "new": "opened"}) +
		toolReply("", "read_file", map[string]any{"path": "/etc/hostname"}) + "=== reply\nDone.\n"
	for name, test := range map[string]struct {
		fs               map[string]any
		shown            string
		open, disk, sub  string // what the editor wrote, and what is on the disk then
		closed, diskThen string
	}{
		"reads and writes": {map[string]any{"readTextFile": true, "writeTextFile": true}, "unsaved", "one\r\nedited\r\n", "one\r\nsaved\r\n", "new\n", "opened\n", "closed\n"},
		"reads":            {map[string]any{"readTextFile": true}, "unsaved", "", "one\r\nsaved\r\n", "", "", "opened\n"},
		"nothing":          {map[string]any{}, "saved", "", "one\r\nsaved\r\n", "", "", "opened\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEditor(t, script)
			e.files, e.written = map[string]string{}, map[string]string{}
			open, closed := e.write("open.txt", "one\r\nsaved\r\n"), e.write("closed.txt", "closed\n")
			e.files[open] = "one\nunsaved" // as editors have lines
			e.permission = func(p map[string]any) string { return "allow" }
			e.start("acp", "-m", "scripted/"+filepath.Join(e.dir, "..", "script.txt"))
			e.initialize(test.fs)
			id := e.open()
			e.prompt(id, "q")
			e.finished(id)
			e.mu.Lock()
			defer e.mu.Unlock()
			sub := filepath.Join(e.dir, "sub", "new.txt")
			for path, want := range map[string]string{open: test.open, sub: test.sub, closed: test.closed} {
				if got := e.written[path]; got != want {
					t.Errorf("the editor wrote %q into %s, want %q", got, filepath.Base(path), want)
				}
			}
			for path, want := range map[string]string{open: test.disk, closed: test.diskThen} {
				if got, _ := os.ReadFile(path); string(got) != want {
					t.Errorf("%s has %q on the disk, want %q", filepath.Base(path), got, want)
				}
			}
			for _, f := range e.frames {
				if path, _ := f.Params["path"].(string); f.Method == "fs/read_text_file" && !strings.HasPrefix(path, e.dir+"/") {
					t.Errorf("the editor is asked for %s, which is not in the session's directory", path)
				}
			}
			if !strings.Contains(fmt.Sprint(e.frames), "one\n"+test.shown) {
				t.Errorf("the model is not shown %q", test.shown)
			}
		})
	}
}

// gif is a picture as far as its format shows.
const gif = "GIF89a x;"

// Pictures go with a prompt, and are replayed; that a model takes them is found out.
func TestACPPictures(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{`["completion","vision"]`: true, `["completion"]`: false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"capabilities":`+answer+`,"model_info":{"general.architecture":"a","a.context_length":8192},"models":[]}`)
		}))
		t.Cleanup(server.Close)
		e := newEditor(t, "")
		e.host = server.URL
		e.start("acp", "-m", "ollama/eyes")
		can, _ := e.initialize(nil)["agentCapabilities"].(map[string]any)
		prompts, _ := can["promptCapabilities"].(map[string]any)
		if sees, _ := prompts["image"].(bool); sees != want {
			t.Errorf("a model with %s: image is %v", answer, prompts["image"])
		}
	}
	e := startEditor(t, "=== reply\nA picture.\n")
	path := e.write("cat.gif", gif)
	id := e.open()
	data := base64.StdEncoding.EncodeToString([]byte(gif))
	r := e.call("session/prompt", map[string]any{"sessionId": id, "prompt": []any{
		map[string]any{"type": "text", "text": "What do they show? "},
		map[string]any{"type": "image", "mimeType": "image/gif", "data": data},
		map[string]any{"type": "resource", "resource": map[string]any{"uri": "file:///x/dog.gif", "blob": data}},
		map[string]any{"type": "resource_link", "name": "cat.gif", "uri": "file://" + path},
	}})
	if r["stopReason"] != "end_turn" {
		t.Errorf("it ends as %v", r)
	}
	out, err := e.mylm("sessions", "export", "--format", "markdown", id)
	for _, want := range []string{"picture: picture 1, image/gif", "picture: /x/dog.gif, image/gif", "picture: cat.gif, image/gif"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in the session: %v\n%s", want, err, out)
		}
	}
	e.call("session/close", map[string]any{"sessionId": id})
	before := len(e.updates(id, ""))
	e.call("session/load", map[string]any{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}})
	if n := strings.Count(fmt.Sprint(e.updates(id, "")[before:]), data); n != 3 {
		t.Errorf("%d pictures are replayed", n)
	}
	if code, text := e.refused("session/prompt", map[string]any{"sessionId": id, "prompt": []any{map[string]any{"type": "image", "mimeType": "image/gif", "data": data}}}); code != -32602 || !strings.Contains(text, "question") {
		t.Errorf("a picture without a question: %d %s", code, text)
	}
}

// The editor's MCP servers are used, with the questions that the settings' own have;
// one that cannot be used is named.
func TestACPServers(t *testing.T) {
	t.Parallel()
	e := startEditor(t, toolReply("", "say-it__echo", map[string]any{"text": "hello"})+"=== reply\nDone.\n")
	asked := make(chan string, 10)
	e.permission = func(p map[string]any) string { asked <- fmt.Sprint(p["toolCall"]); return "allow" }
	server := func(name, suffix string) map[string]any {
		return map[string]any{"name": name, "command": "mcp-server", "args": []any{}, "env": []any{map[string]any{"name": "MCP_SUFFIX", "value": suffix}}}
	}
	id, _ := e.call("session/new", map[string]any{"cwd": e.dir, "mcpServers": []any{server("Say it!", " twice"), server("say_it", ""), server("keys", "${OPENAI_API_KEY}"), server("!", "")}})["sessionId"].(string)
	if stop := e.prompt(id, "q"); stop != "end_turn" {
		t.Errorf("it ends as %s", stop)
	}
	e.finished(id)
	if len(asked) != 1 {
		t.Errorf("it is asked %d times", len(asked))
	}
	if text := e.transcript(); !strings.Contains(text, "echo says hello twice") {
		t.Errorf("the server was not used\n%s", text)
	}
	said := e.said(id, "agent_thought_chunk")
	for _, want := range []string{"say_it of the editor is not used", "keys of the editor is not used: it refers to the variable OPENAI_API_KEY", "! of the editor is not used"} {
		if !strings.Contains(said, want) {
			t.Errorf("not told: %s\n%s", want, said)
		}
	}
}
