//go:build unix

package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// servedBodies are a question to each API, of which STREAM says whether it streams.
var servedBodies = map[string]string{
	"/v1/chat/completions": `{"model":"m","stream":STREAM,"messages":[{"role":"user","content":"q"}],"tools":[{"type":"function","function":{"name":"list_dir","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}}]}`,
	"/v1/responses":        `{"model":"m","stream":STREAM,"input":"q","tools":[{"type":"function","name":"list_dir","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}]}`,
	"/v1/messages":         `{"model":"m","stream":STREAM,"max_tokens":100,"messages":[{"role":"user","content":"q"}],"tools":[{"name":"list_dir","input_schema":{"type":"object","properties":{"path":{"type":"string"}}}}]}`,
	"/api/chat":            `{"model":"m","stream":STREAM,"messages":[{"role":"user","content":"q"}],"tools":[{"type":"function","function":{"name":"list_dir","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}}]}`,
}

// endings are what only a reply that is whole has.
var endings = []string{`"finish_reason":"`, `message_stop`, `"stop_reason":"`, `response.completed`, `"status":"completed","temperature"`, `"done":true`, `[DONE]`}

// A faulty backend is an error in the form of each API, in a stream too, and never looks
// like the end of a reply. What is no fault is a reply.
func TestServedFaults(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("four mebibytes of text. ", 4<<20/24)
	short := []string{"--first-token-timeout", "300ms", "--timeout", "300ms"}
	for name, test := range map[string]struct {
		fault fault
		args  []string
		whole string // what the reply has, where it is no fault
		slow  bool   // not with -short
	}{
		"reset before the reply":      {fault: resets()},
		"reset in the reply":          {fault: resets(says("Half an ans"))},
		"reset in a call":             {fault: resets(says("I look.\n<tool_code>\n<name>list_dir</name>\n<par"))},
		"reset behind the reply":      {fault: resets(says("All of it."), lastPiece), whole: "All of it."},
		"401":                         {fault: refuses(401, `{"error":"unauthorized"}`)},
		"429":                         {fault: refuses(429, `{"error":"slow down"}`)},
		"429 with Retry-After":        {fault: refuses(429, `{"error":"slow down"}`, "Retry-After", "3600")},
		"500":                         {fault: refuses(500, "oops")},
		"503":                         {fault: refuses(503, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`)},
		"a proxy that gives up":       {fault: refuses(504, "<html>gateway time-out</html>", "Content-Type", "text/html")},
		"garbage":                     {fault: sends("\x00\xff\x17 no JSON\n")},
		"garbage in the reply":        {fault: sends(says("Half an ans"), "{\x00\xff\x17\n", says("wer."), lastPiece)},
		"half a line":                 {fault: sends(says("Half an ans"), says("wer.")[:30])},
		"a line of 4 MB":              {fault: sends(says(long), lastPiece), whole: "of text. four", slow: true},
		"a line of 9 MB":              {fault: sends(says(long+long+long[:len(long)/4]), lastPiece), slow: true},
		"an error in the stream":      {fault: sends(says("Half an ans"), `{"error":"an illegal memory access was encountered"}`+"\n")},
		"no end of the stream":        {fault: sends(says("Half an answer."))},
		"no byte":                     {fault: stays(), args: short},
		"no byte more":                {fault: stays(says("Half an ans")), args: short},
		"deaf, and silent":            {fault: ignores(), args: short},
		"empty replies":               {fault: sends(lastPiece)},
		"replies of only thought":     {fault: sends(piece("thinking", "What could it be?"), lastPiece)},
		"a proxy that buffers":        {fault: buffered(says("All "), says("of it."), lastPiece), whole: "of it."},
		"a call that a server parsed": {fault: sends(says("I will look."), parsedCall, lastPiece), whole: `"list_dir"`},
	} {
		if test.slow && testing.Short() {
			continue
		}
		ask := func(t *testing.T, env, args []string) {
			t.Parallel()
			base, stop := serving(t, env, append(args, test.args...)...)
			for path, body := range servedBodies {
				for _, stream := range []string{"false", "true"} {
					resp, err := http.Post(base+path, "application/json", strings.NewReader(strings.Replace(body, "STREAM", stream, 1)))
					if err != nil {
						t.Fatal(err)
					}
					b, err := io.ReadAll(resp.Body)
					resp.Body.Close()
					text := string(b)
					if test.whole != "" {
						if resp.StatusCode != 200 || !strings.Contains(strings.NewReplacer("\n\n", "", "data: ", "").Replace(text), test.whole) && stream == "false" || err != nil {
							t.Errorf("%s: %d %.300s %v", path, resp.StatusCode, text, err)
						}
						continue
					}
					if stream == "false" && resp.StatusCode < 400 || !strings.Contains(text, `"error"`) {
						t.Errorf("%s, stream %s: %d %.500s", path, stream, resp.StatusCode, text)
					}
					for _, end := range endings {
						if strings.Contains(text, end) {
							t.Errorf("%s, stream %s: it has %s:\n%.500s", path, stream, end, text)
						}
					}
				}
			}
			stop()
		}
		t.Run(name, func(t *testing.T) { ask(t, nil, []string{"--host", newFaulty(t, ever, test.fault).URL}) })
		t.Run(name+", OpenAI's API", func(t *testing.T) {
			ask(t, []string{"MYLM_CONFIG=" + asOpenAI(t, test.fault)}, []string{"--host", "http://127.0.0.1:1"})
		})
	}
}
