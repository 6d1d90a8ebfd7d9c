package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// editor is a scripted editor that drives the real command, and holds every message
// that it gets against the schema of the protocol.
type editor struct {
	t      testing.TB
	cmd    *exec.Cmd
	in     io.WriteCloser
	dir    string // of the sessions
	stderr bytes.Buffer
	schema *jsonschema.Resolved // of the messages, by the names of their definitions

	host string // of Ollama; "": there is none

	// of what the command asks; the default says no
	permission func(p map[string]any) string
	files      map[string]string // what it has open, unsaved
	written    map[string]string

	mu      sync.Mutex
	cancels bool              // it knows $/cancel_request
	asked   map[string]string // our requests: id to method
	last    int
	got     chan frame
	frames  []frame
	waiting map[string]chan frame
}

// frame is a message of the command.
type frame struct {
	raw    string
	ID     any
	Method string
	Params map[string]any
	Result any
	Error  map[string]any
}

// loadProtocol returns the schema of version 1, as the library has it, with a property
// for each definition. The package is the one of eventSchema, for the reason said there.
var loadProtocol = sync.OnceValues(func() (*jsonschema.Resolved, error) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/coder/acp-go-sdk").Output()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "schema", "schema.json"))
	if err != nil {
		return nil, err
	}
	var doc jsonschema.Schema
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	root := &jsonschema.Schema{Defs: doc.Defs, Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	for name := range doc.Defs {
		root.Properties[name] = &jsonschema.Schema{Ref: "#/$defs/" + name}
	}
	return root.Resolve(nil)
})

// TestACPSchemaIsStrict: the schema refuses what is no message.
func TestACPSchemaIsStrict(t *testing.T) {
	t.Parallel()
	schema, err := loadProtocol()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		`{"PromptResponse":{"stopReason":"end_turn"}}`: true,
		`{"PromptResponse":{"stopReason":"tired"}}`:    false,
		`{"PromptResponse":{}}`:                        false,
		`{"PromptResponse":null}`:                      false,
		`{"NoResponse":{}}`:                            false,
		`{"SessionNotification":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}}}`: true,
		`{"SessionNotification":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text"}}}}`:            false,
		`{"SessionNotification":{"sessionId":"s","update":{"sessionUpdate":"nothing"}}}`:                                                  false,
	} {
		var v map[string]any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What the schema calls the messages of the agent.
var (
	agentRequests = map[string]string{
		"session/update": "SessionNotification", "session/request_permission": "RequestPermissionRequest",
		"fs/read_text_file": "ReadTextFileRequest", "fs/write_text_file": "WriteTextFileRequest",
	}
	agentResponses = map[string]string{
		"initialize": "InitializeResponse", "session/new": "NewSessionResponse", "session/load": "LoadSessionResponse", "session/resume": "ResumeSessionResponse",
		"session/list": "ListSessionsResponse", "session/close": "CloseSessionResponse", "session/prompt": "PromptResponse", "session/set_mode": "SetSessionModeResponse", "session/set_config_option": "SetSessionConfigOptionResponse",
	}
)

// startEditor starts the command with a model that gives the replies of a script.
func startEditor(t testing.TB, script string, args ...string) *editor {
	t.Helper()
	e := newEditor(t, script)
	e.start(append([]string{"acp", "-m", "scripted/" + filepath.Join(e.dir, "..", "script.txt")}, args...)...)
	e.initialize(nil)
	return e
}

func newEditor(t testing.TB, script string) *editor {
	t.Helper()
	schema, err := loadProtocol()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e := &editor{t: t, schema: schema, dir: filepath.Join(root, "work"), asked: map[string]string{}, waiting: map[string]chan frame{}, got: make(chan frame, 10_000)}
	e.permission = func(map[string]any) string { return "reject" }
	for _, dir := range []string{"work", "home"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "script.txt"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	return e
}

// start starts the command. A second one finds what the first has left.
func (e *editor) start(args ...string) {
	e.t.Helper()
	e.cmd = exec.Command("mylm", args...)
	e.cmd.Dir, e.cmd.Env = filepath.Dir(e.dir), e.env()
	e.cmd.Stderr = &e.stderr
	var err error
	if e.in, err = e.cmd.StdinPipe(); err != nil {
		e.t.Fatal(err)
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		e.t.Fatal(err)
	}
	if err := e.cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		e.read(out)
	}()
	e.t.Cleanup(func() {
		_ = e.in.Close()
		_ = e.cmd.Process.Kill()
		<-read
		_ = e.cmd.Wait()
		if e.t.Failed() {
			e.t.Logf("stderr: %s", e.stderr.String())
		}
	})
}

// env is the environment of the command.
func (e *editor) env() []string {
	home := filepath.Join(e.dir, "..", "home")
	return append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home+"/config", "XDG_DATA_HOME="+home+"/data", "XDG_CACHE_HOME="+home+"/cache", "OLLAMA_HOST="+cmp.Or(e.host, "127.0.0.1:1"), "MYLM_UNASKED=readers", "MYLM_SANDBOX=off", "CI=")
}

func (e *editor) read(out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			e.take(line)
		}
		if err != nil {
			return
		}
	}
}

// take takes a message of the command. It must fit the schema.
func (e *editor) take(line string) {
	var f frame
	var m map[string]any
	if err := errors.Join(json.Unmarshal([]byte(line), &m), json.Unmarshal([]byte(line), &f)); err != nil {
		e.t.Errorf("stdout has what is no message: %q", line)
		return
	}
	f.raw = line
	name, part := "", any(nil)
	e.mu.Lock()
	switch {
	case m["jsonrpc"] != "2.0":
		e.t.Errorf("no jsonrpc: %s", line)
	case f.Method == "$/cancel_request" && e.cancels: // younger than this schema
	case f.Method != "":
		name, part = agentRequests[f.Method], m["params"]
		if name == "" {
			e.t.Errorf("the protocol has no %s", f.Method)
		}
	case m["error"] != nil:
		name, part = "Error", m["error"]
	default:
		name, part = agentResponses[e.asked[fmt.Sprint(f.ID)]], m["result"]
	}
	e.mu.Unlock()
	if name != "" {
		if err := e.schema.Validate(map[string]any{name: part}); err != nil {
			e.t.Errorf("%s: %v\n%s", name, err, line)
		}
	}
	e.mu.Lock()
	e.frames = append(e.frames, f)
	response := e.waiting[fmt.Sprint(f.ID)]
	e.mu.Unlock()
	switch {
	case f.Method == "" && response != nil:
		response <- f
	case f.Method != "" && f.ID != nil:
		go e.answer(f)
	}
	e.got <- f
}

// answer answers a request of the command.
func (e *editor) answer(f frame) {
	path, _ := f.Params["path"].(string)
	switch f.Method {
	case "session/request_permission":
		choice := e.permission(f.Params)
		if choice == "" {
			return // the user does not answer
		}
		outcome := map[string]any{"outcome": "selected", "optionId": choice}
		if choice == "cancelled" {
			outcome = map[string]any{"outcome": "cancelled"}
		}
		e.send(map[string]any{"id": f.ID, "result": map[string]any{"outcome": outcome}})
	case "fs/read_text_file":
		e.mu.Lock()
		text, open := e.files[path]
		e.mu.Unlock()
		if !open {
			e.send(map[string]any{"id": f.ID, "error": map[string]any{"code": -32002, "message": "not open"}})
			return
		}
		e.send(map[string]any{"id": f.ID, "result": map[string]any{"content": text}})
	case "fs/write_text_file":
		e.mu.Lock()
		e.written[path], _ = f.Params["content"].(string)
		e.mu.Unlock()
		e.send(map[string]any{"id": f.ID, "result": nil})
	}
}

func (e *editor) send(m map[string]any) {
	m["jsonrpc"] = "2.0"
	b, err := json.Marshal(m)
	if err != nil {
		e.t.Error(err)
	}
	e.line(string(b))
}

func (e *editor) line(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, _ = io.WriteString(e.in, text+"\n")
}

// begin sends a request.
func (e *editor) begin(method string, params any) (id string, response chan frame) {
	e.mu.Lock()
	e.last++
	id = fmt.Sprintf("%d", e.last)
	response = make(chan frame, 1)
	e.asked[id], e.waiting[id] = method, response
	e.mu.Unlock()
	e.send(map[string]any{"id": json.Number(id), "method": method, "params": params})
	return id, response
}

// wait waits for a response.
func (e *editor) wait(response chan frame) frame {
	e.t.Helper()
	select {
	case f := <-response:
		return f
	case <-time.After(patience):
		e.t.Fatalf("no response\n%s", e.transcript())
		return frame{}
	}
}

// call sends a request and returns its result.
func (e *editor) call(method string, params any) map[string]any {
	e.t.Helper()
	_, response := e.begin(method, params)
	f := e.wait(response)
	if f.Error != nil {
		e.t.Fatalf("%s: %v", method, f.Error)
	}
	result, _ := f.Result.(map[string]any)
	return result
}

// refused sends a request and returns the code and the text of its error.
func (e *editor) refused(method string, params any) (code int, text string) {
	e.t.Helper()
	_, response := e.begin(method, params)
	f := e.wait(response)
	if f.Error == nil {
		e.t.Fatalf("%s: no error: %v", method, f.Result)
	}
	number, _ := f.Error["code"].(float64)
	text, _ = f.Error["message"].(string)
	return int(number), text
}

func (e *editor) notify(method string, params any) {
	e.send(map[string]any{"method": method, "params": params})
}

func (e *editor) initialize(fs map[string]any) map[string]any {
	e.t.Helper()
	return e.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{"fs": fs}})
}

// open opens a new session.
func (e *editor) open() string {
	e.t.Helper()
	id, _ := e.call("session/new", map[string]any{"cwd": e.dir, "mcpServers": []any{}})["sessionId"].(string)
	if id == "" {
		e.t.Fatal("no id of a session")
	}
	return id
}

// blocks are the content of a prompt.
func blocks(text string) []any { return []any{map[string]any{"type": "text", "text": text}} }

// prompt sends a prompt and returns why the turn ended.
func (e *editor) prompt(session, text string) string {
	e.t.Helper()
	stop, _ := e.call("session/prompt", map[string]any{"sessionId": session, "prompt": blocks(text)})["stopReason"].(string)
	return stop
}

// updates are those of a session of a kind, in their order; kind "" is any.
func (e *editor) updates(session, kind string) (all []map[string]any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range e.frames {
		u, _ := f.Params["update"].(map[string]any)
		if f.Method == "session/update" && f.Params["sessionId"] == session && (kind == "" || u["sessionUpdate"] == kind) {
			all = append(all, u)
		}
	}
	return all
}

// said is the text of the chunks of a kind.
func (e *editor) said(session, kind string) (text string) {
	for _, u := range e.updates(session, kind) {
		content, _ := u["content"].(map[string]any)
		piece, _ := content["text"].(string)
		text += piece
	}
	return text
}

// seen waits until a message holds a text.
func (e *editor) seen(text string) frame {
	e.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case f := <-e.got:
			if strings.Contains(f.raw, text) {
				return f
			}
		case <-deadline:
			e.t.Fatalf("%q did not come\n%s", text, e.transcript())
		}
	}
}

func (e *editor) transcript() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var b strings.Builder
	for _, f := range e.frames {
		b.WriteString(f.raw)
	}
	return b.String()
}

// finished fails if a call that was shown has no final status.
func (e *editor) finished(session string) map[string]string {
	e.t.Helper()
	status := map[string]string{}
	for _, u := range e.updates(session, "") {
		if kind := u["sessionUpdate"]; kind == "tool_call" || kind == "tool_call_update" {
			id, _ := u["toolCallId"].(string)
			if _, shown := status[id]; !shown && kind != "tool_call" {
				e.t.Errorf("the call %s is updated before it is shown", id)
			}
			if s, ok := u["status"].(string); ok {
				status[id] = s
			}
		}
	}
	for id, s := range status {
		if s != "completed" && s != "failed" {
			e.t.Errorf("the call %s ends as %s\n%s", id, s, e.transcript())
		}
	}
	return status
}

// write puts a file into the directory of the sessions.
func (e *editor) write(name, text string) string {
	e.t.Helper()
	path := filepath.Join(e.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		e.t.Fatal(err)
	}
	return path
}

// toolReply is a reply of the script that makes a call.
func toolReply(before, name string, args map[string]any) string {
	b, _ := json.Marshal(args)
	return fmt.Sprintf("=== reply\n%s\n<tool_code><name>%s</name><parameters>%s</parameters></tool_code>\n", before, name, b)
}

// commandAs is another command of the same user.
func commandAs(first *exec.Cmd, args ...string) *exec.Cmd {
	cmd := exec.Command("mylm", args...)
	cmd.Env = first.Env
	return cmd
}

// dyingEditor is an editor that starts mylm, has it run a command, and is killed
// then. It prints the process id of mylm once the command runs.
func dyingEditor() {
	dir := os.Args[1]
	cmd := exec.Command("mylm", "acp", "--yes", "-m", "scripted/"+filepath.Join(dir, "..", "script.txt"))
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		panic(err)
	}
	lines := bufio.NewReader(out)
	send := func(id int, method string, params any) (answer map[string]any) {
		b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
		_, _ = fmt.Fprintf(in, "%s\n", b)
		if method == "session/prompt" {
			return nil
		}
		for {
			line, err := lines.ReadString('\n')
			var m map[string]any
			if err != nil || json.Unmarshal([]byte(line), &m) != nil {
				panic(fmt.Sprint(line, err))
			}
			if m["id"] == float64(id) {
				answer, _ = m["result"].(map[string]any)
				return answer
			}
		}
	}
	send(1, "initialize", map[string]any{"protocolVersion": 1})
	session := send(2, "session/new", map[string]any{"cwd": dir, "mcpServers": []any{}})["sessionId"]
	send(3, "session/prompt", map[string]any{"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": "q"}}})
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			panic(err)
		}
		if strings.Contains(line, "begun") {
			fmt.Println(cmd.Process.Pid)
			_, _ = io.Copy(io.Discard, lines)
		}
	}
}
