//go:build unix

package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

const listCall = `<tool_code><name>list_dir</name><parameters>{}</parameters></tool_code>`

// parsedCall is a line with the same call as Ollama's parsers send it, and a
// second one.
const parsedCall = `{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"list_dir","arguments":{}}},{"function":{"name":"execute_command","arguments":{"command":"false"}}}]},"done":false}` + "\n"

// flatCall is such a line as gateways write it: one call for a list, and no function in it.
const flatCall = `{"model":"m","message":{"role":"assistant","content":"","tool_calls":{"name":"list_dir","arguments":{}}},"done":false}` + "\n"

// A fault between mylm and a server is recovered from, or ends the run with a name,
// an exit code and a hint. It leaves half an answer on stdout only if it ends the run,
// and the session can be resumed.
func TestFaults(t *testing.T) {
	t.Parallel()
	short := []string{"--first-token-timeout", "300ms"}
	long := strings.Repeat("four mebibytes of text. ", 4<<20/24)
	for name, test := range map[string]struct {
		fault   fault // nil: nobody listens
		times   int
		args    []string
		exit    string
		stop    string // stop_reason, where it is not complete
		code    string // of the error, where it is not the stop reason
		says    []string
		answer  string
		retries int
		calls   int
		waits   bool // a line says what the server is doing; a busy machine says it elsewhere, too
	}{
		"refused":                         {exit: "3", stop: "model_error", code: "unreachable", says: []string{"no Ollama server answers at", "ollama serve"}, retries: 2},
		"reset before the reply":          {fault: resets(), times: ever, exit: "1", stop: "model_error", says: []string{"closed the connection without a reply"}, retries: 2},
		"reset once before the reply":     {fault: resets(), times: 1, exit: "0", answer: "Done.", retries: 1},
		"reset in the reply":              {fault: resets(says("Half an ans")), times: ever, exit: "1", stop: "model_error", answer: "Half an ans", says: []string{"broke off in mid-reply"}, retries: 2},
		"reset once in the reply":         {fault: resets(says("Half an ans")), times: 1, exit: "0", answer: "Done.", retries: 1},
		"reset behind the reply":          {fault: resets(says("All of it."), lastPiece), times: 1, exit: "0", answer: "All of it."},
		"429 with Retry-After":            {fault: refuses(429, `{"error":"slow down"}`, "Retry-After", "1"), times: 1, exit: "0", answer: "Done.", retries: 1},
		"429 for too long":                {fault: refuses(429, `{"error":"slow down"}`, "Retry-After", "3600"), times: ever, exit: "1", stop: "model_error", says: []string{"slow down", "asks for a wait of 1h0m0s", "Ask again then"}},
		"429 for ever":                    {fault: refuses(429, `{"error":"slow down"}`), times: ever, exit: "1", stop: "model_error", says: []string{"slow down"}, retries: several},
		"500 that may pass":               {fault: refuses(500, `{"error":"model runner has unexpectedly stopped, this may be due to resource limitations"}`), times: 1, exit: "0", answer: "Done.", retries: 1},
		"500 for ever":                    {fault: refuses(500, "oops"), times: ever, exit: "1", stop: "model_error", says: []string{"answers 500"}, retries: 2},
		"503 once":                        {fault: refuses(503, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`), times: 1, exit: "0", answer: "Done.", retries: 1},
		"503 for ever":                    {fault: refuses(503, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`), times: ever, exit: "1", stop: "model_error", says: []string{"server busy", "queue is full"}, retries: several},
		"garbage":                         {fault: sends("\x00\xff\x17 no JSON\n"), times: ever, exit: "3", stop: "model_error", code: "unreachable", says: []string{"is not Ollama"}},
		"garbage in the reply":            {fault: sends(says("Half an ans"), "{\x00\xff\x17\n", says("wer."), lastPiece), times: ever, exit: "1", stop: "model_error", answer: "Half an ans", says: []string{"not valid JSON"}, retries: 2},
		"half a line":                     {fault: sends(says("Half an ans"), says("wer.")[:30]), times: ever, exit: "1", stop: "model_error", answer: "Half an ans", says: []string{"broke off in mid-line"}, retries: 2},
		"half a line, once":               {fault: sends(says("Half an ans"), says("wer.")[:30]), times: 1, exit: "0", answer: "Done.", retries: 1},
		"a line of 4 MB":                  {fault: sends(says(long), lastPiece), times: 1, exit: "0", answer: strings.TrimSpace(long)},
		"a line of 9 MB":                  {fault: sends(says(long+long+long[:len(long)/4]), lastPiece), times: ever, exit: "1", stop: "model_error", says: []string{"a line of more than 8 MiB"}},
		"an error in the stream":          {fault: sends(says("Half an ans"), `{"error":"an illegal memory access was encountered"}`+"\n"), times: ever, exit: "1", stop: "model_error", answer: "Half an ans", says: []string{"an illegal memory access"}, retries: 2},
		"no end of the stream":            {fault: sends(says("Half an answer.")), times: ever, exit: "1", stop: "model_error", answer: "Half an answer.", says: []string{"the reply ended without a sign"}, retries: 2},
		"no end of the stream, once":      {fault: sends(says("Half an answer.")), times: 1, exit: "0", answer: "Done.", retries: 1},
		"no byte":                         {fault: stays(), times: ever, args: short, exit: "124", stop: "timeout", says: []string{"the model sent nothing for 300ms", "--first-token-timeout"}},
		"no byte, but a reason":           {fault: stays(), times: ever, args: []string{"--first-token-timeout", "2s"}, exit: "124", stop: "timeout", says: []string{"the model sent nothing for 2s"}, waits: true},
		"no byte more":                    {fault: stays(says("Half an ans")), times: ever, args: []string{"--timeout", "300ms"}, exit: "124", stop: "timeout", answer: "Half an ans", says: []string{"fell silent for 300ms", "--timeout"}},
		"deaf, and silent":                {fault: ignores(), times: ever, args: short, exit: "124", stop: "timeout", says: []string{"the model sent nothing for 300ms"}},
		"deaf, and the run is over":       {fault: ignores(says("Half an ans")), times: ever, args: []string{"--max-time", "2s"}, exit: "124", stop: "timeout", answer: "Half an ans", says: []string{"the run took longer than 2s"}},
		"deaf, behind a call":             {fault: ignores(says(listCall), says("<observation>made up</observation>")), times: 1, exit: "0", answer: "Done.", calls: 1},
		"a model that never stops":        {fault: endless(says(" ")), times: ever, exit: "5", stop: "stuck", says: []string{"the reply repeats itself", "--max-repetition", "a larger model"}},
		"a model that thinks for ever":    {fault: endless(piece("thinking", "hm ")), times: ever, exit: "5", stop: "stuck", says: []string{"the reply repeats itself"}},
		"empty replies":                   {fault: sends(lastPiece), times: ever, exit: "6", stop: "malformed", says: []string{"3 replies in a row could not be read"}},
		"one empty reply":                 {fault: sends(lastPiece), times: 1, exit: "0", answer: "Done."},
		"replies of only thought":         {fault: sends(piece("thinking", "What could it be?"), lastPiece), times: ever, exit: "6", stop: "malformed", says: []string{"3 replies in a row could not be read", "--think off"}},
		"replies of only thought in tags": {fault: sends(says("<think>What could it be?</think>"), lastPiece), times: ever, exit: "6", stop: "malformed", says: []string{"--think off"}},
		"a proxy that buffers":            {fault: buffered(says("All "), says("of it."), lastPiece), times: 1, exit: "0", answer: "All of it."},
		"a proxy that buffers a call":     {fault: buffered(says(listCall), says("<observation>made up</observation>"), says(listCall), lastPiece), times: 1, exit: "0", answer: "Done.", calls: 1},
		"a call that the server parsed":   {fault: sends(says("I will look."), parsedCall, lastPiece), times: 1, exit: "0", answer: "Done.", calls: 1},
		"nothing but such a call":         {fault: sends(parsedCall, lastPiece), times: 1, exit: "0", answer: "Done.", calls: 1},
		"such a call, no list of them":    {fault: sends(says("I will look."), flatCall, lastPiece), times: 1, exit: "0", answer: "Done.", calls: 1},
		"such a call, thought, no end":    {fault: ignores(piece("thinking", "Hm."), parsedCall), times: 1, exit: "0", answer: "Done.", calls: 1},
		"a proxy that gives up":           {fault: refuses(504, "<html>gateway time-out</html>", "Content-Type", "text/html"), times: ever, exit: "1", stop: "model_error", says: []string{"A proxy in front of the server"}, retries: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &home{t: t, dir: t.TempDir()}
			begin := func() { h.host = newFaulty(t, test.times, test.fault).URL }
			if test.fault == nil {
				begin = func() { h.host = deserted }
			}
			args := append([]string{"ask", "q"}, test.args...)

			begin()
			out, errs, code := h.run(args...)
			want := ""
			if test.answer != "" {
				want = test.answer + "\n"
			}
			if code != test.exit || out != want {
				t.Errorf("exit %s, want %s; stdout %.200q; stderr %s", code, test.exit, out, errs)
			}
			for _, text := range test.says {
				if !strings.Contains(errs, text) {
					t.Errorf("%q is missing on stderr: %s", text, errs)
				}
			}

			begin()
			out, errs, code = h.run(append(args, "-o", "ndjson")...)
			if code != test.exit {
				t.Errorf("ndjson: exit %s, want %s: %s", code, test.exit, errs)
			}
			checkEnd(t, published(t, out), cmp.Or(test.stop, "complete"), cmp.Or(test.code, test.stop), test.answer, map[string]int{"retry": test.retries, "tool_output": test.calls})
			if test.waits && !strings.Contains(out, `"type":"waiting"`) {
				t.Errorf("nothing says what the server is doing: %s", out)
			}

			h.host = newPlaced(t, "Well.").URL
			question := []string{"resume", "last"}
			if test.exit == "0" {
				question = append(question, "and now?")
			}
			if out, errs, code := h.run(question...); code != "0" || out != "Well.\n" {
				t.Errorf("resume: exit %s, %.200q, %s", code, out, errs)
			}
			h.replays()
		})
	}
}

// replays checks that every session replays without a difference.
func (h *home) replays() {
	h.t.Helper()
	if faults := different(filepath.Join(h.dir, "data"), h.command()); faults != "" {
		h.t.Error(faults)
	}
}

// An interrupt does not wait for a server that ignores it.
func TestInterruptedDeafServer(t *testing.T) {
	t.Parallel()
	server := newFaulty(t, ever, ignores(says("Half an ans")))
	h := &home{t: t, dir: t.TempDir(), host: server.URL}
	cmd := h.command("ask", "q", "-o", "ndjson")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for line := ""; !strings.Contains(line, `"text":"Half an ans"`); { // it has come so far
		if line, err = lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(lines)
	if code := exitWithin(t, cmd); code != "130" || !strings.Contains(string(rest), `"response":"Half an ans"`) {
		t.Errorf("exit %s, stdout %s", code, rest)
	}
	h.host = newPlaced(t, "Well.").URL
	if out, errs, code := h.run("resume"); code != "0" || out != "Well.\n" {
		t.Errorf("resume: exit %s, %q, %s", code, out, errs)
	}
	h.replays()
}

// One signal that is sent several times, as timeout(1) does, is one interrupt: what
// has come of the answer is printed.
func TestInterruptedByGroup(t *testing.T) {
	t.Parallel()
	h := &home{t: t, dir: t.TempDir(), host: newFaulty(t, ever, stays(says("Half an ans"))).URL}
	for attempt := 0; ; attempt++ {
		cmd := h.command("ask", "q", "-o", "ndjson")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		for line := ""; !strings.Contains(line, `"text":"Half an ans"`); {
			if line, err = lines.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		for time.Since(began) < 20*time.Millisecond { // those that wait at the same time are one
			_ = cmd.Process.Signal(syscall.SIGTERM)
			runtime.Gosched()
		}
		took := time.Since(began)
		rest, _ := io.ReadAll(lines)
		code := exitWithin(t, cmd)
		if took > 100*time.Millisecond && attempt < 20 { // too slow to be one
			continue
		}
		if code != "130" || !strings.Contains(string(rest), `"response":"Half an ans"`) {
			t.Errorf("exit %s, stdout %s", code, rest)
		}
		return
	}
}

// checkEnd checks the lines about the end of a run.
func checkEnd(t *testing.T, lines []line, stop, code, answer string, counts map[string]int) {
	t.Helper()
	seen, shown := map[string]int{}, ""
	for _, l := range lines {
		seen[l.Type]++
		switch l.Type {
		case "turn_start", "retract":
			shown = ""
		case "text_delta":
			shown += l.Text
		}
		if l.Type == "agent_end" {
			if l.Result.StopReason != stop {
				t.Errorf("it stopped as %s, want %s", l.Result.StopReason, stop)
			}
			if answer != "" && l.Result.Response != answer {
				t.Errorf("the response is %.200q", l.Result.Response)
			}
		}
	}
	if shown = strings.TrimSpace(shown); code == "" && shown != answer {
		t.Errorf("%.200q is shown, and was not taken back", shown)
	}
	counts["agent_end"] = 1
	for kind, want := range counts {
		if seen[kind] != want && (want != several || seen[kind] < 2) {
			t.Errorf("%d of %s, want %d", seen[kind], kind, want)
		}
	}
	last := lines[len(lines)-1]
	var failure struct{ Code, Message string }
	if last.Type == "failure" {
		_ = json.Unmarshal(last.Error, &failure) // the schema has seen it
	}
	if failure.Code != code {
		t.Errorf("the last line has the error %q, want %q", failure, code)
	}
}

// several are at least two.
const several = -1

// deserted is an address without a server: no system assigns this port.
const deserted = "http://127.0.0.1:1"
