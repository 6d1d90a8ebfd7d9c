package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"mylm/providers"
	"mylm/providers/scripted"
)

// speakKey is the key that the servers of speak want.
const speakKey = "sk-test-0123456789"

// spoken is the wire format of a provider.
type spoken struct {
	path   string              // where a question arrives; MODEL in it is the model, else that is in the body
	key    string              // the header that holds the key
	begin  []string            // events before the text
	text   func(string) string // an event with a piece of text
	end    []string            // events behind it
	refuse func(string) string // the body of an error
	list   string              // the path of the list of models
	models func(...string) any // the list itself
}

// openAIWire is the wire format of OpenAI and compatible servers, below a path.
func openAIWire(base string) spoken {
	return spoken{
		path: base + "/chat/completions", key: "Authorization", list: base + "/models",
		text: func(s string) string {
			return event("", map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]string{"content": s}}}})
		},
		end: []string{
			event("", map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]string{}, "finish_reason": "stop"}}}),
			"data: [DONE]\n\n",
		},
		refuse: func(message string) string {
			return object(map[string]any{"error": map[string]any{"message": message}})
		},
		models: func(names ...string) any { return map[string]any{"object": "list", "data": ids(names)} },
	}
}

// wires are the wire formats of speak, by the name of a provider.
var wires = map[string]spoken{
	"openai": openAIWire("/v1"),
	"cohere": openAIWire("/compatibility/v1"),
	"googleai": {
		path: "/v1beta/models/MODEL:streamGenerateContent", key: "X-Goog-Api-Key", list: "/v1beta/models",
		text: func(s string) string { return event("", gemini(s, "")) },
		end:  []string{event("", gemini("", "STOP"))},
		refuse: func(message string) string {
			return object(map[string]any{"error": map[string]any{"code": 400, "message": message, "status": "INVALID_ARGUMENT"}})
		},
		models: func(names ...string) any {
			all := []any{}
			for _, n := range names {
				all = append(all, map[string]any{"name": "models/" + n, "supportedGenerationMethods": []string{"generateContent"}})
			}
			return map[string]any{"models": all}
		},
	},
	"anthropic": {
		path: "/v1/messages", key: "X-Api-Key", list: "/v1/models",
		begin: []string{event("message_start", map[string]any{"message": map[string]any{"type": "message", "role": "assistant", "content": []any{}}})},
		text: func(s string) string {
			return event("content_block_delta", map[string]any{"index": 0, "delta": map[string]string{"type": "text_delta", "text": s}})
		},
		end: []string{
			event("message_delta", map[string]any{"delta": map[string]string{"stop_reason": "end_turn"}}),
			event("message_stop", map[string]any{}),
		},
		refuse: func(message string) string {
			return object(map[string]any{"type": "error", "error": map[string]string{"type": "error", "message": message}})
		},
		models: func(names ...string) any { return map[string]any{"data": ids(names), "has_more": false} },
	},
}

// gemini is a piece of a reply in Google's format.
func gemini(text, finish string) map[string]any {
	candidate := map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": []any{map[string]string{"text": text}}}}
	if finish != "" {
		candidate["finishReason"] = finish
	}
	return map[string]any{"candidates": []any{candidate}}
}

func ids(names []string) []any {
	out := []any{}
	for _, n := range names {
		out = append(out, map[string]string{"id": n, "object": "model", "type": "model"})
	}
	return out
}

func object(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// event is a server-sent event; kind may be "".
func event(kind string, v map[string]any) string {
	if kind == "" {
		return "data: " + object(v) + "\n\n"
	}
	v["type"] = kind
	return "event: " + kind + "\ndata: " + object(v) + "\n\n"
}

// speak [-nolist] WIRE FILE starts a server for the rest of the script that speaks WIRE
// and says the replies of FILE (as for the model scripted/FILE). $URL is where
// it is; what it was sent is in the file requests: for each request a line with
// method and path, the headers, and the body. It knows the models good and
// better, and wants speakKey; a wrong key it repeats in the error. With -nolist
// it does not list its models.
func speak(ts *testscript.TestScript, neg bool, args []string) {
	wire, ok := spoken{}, false
	noList := len(args) == 3 && args[0] == "-nolist"
	if noList {
		args = args[1:]
	}
	if len(args) == 2 {
		wire, ok = wires[args[0]]
	}
	if noList {
		wire.list = ""
	}
	if neg || !ok {
		ts.Fatalf("usage: speak [-nolist] WIRE FILE, with a wire of %v", slices.Sorted(maps.Keys(wires)))
	}
	model, err := scripted.Parse(ts.ReadFile(args[1]))
	ts.Check(err)
	s := httptest.NewServer(&speaker{spoken: wire, model: model, log: ts.MkAbs("requests")})
	ts.Defer(s.Close)
	ts.Setenv("URL", s.URL)
}

// speaker is the server.
type speaker struct {
	spoken
	model *scripted.Model

	mu  sync.Mutex
	log string
}

func (s *speaker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || s.note(r, body) != nil {
		http.Error(w, "the request cannot be noted", http.StatusTeapot)
		return
	}
	var asked struct{ Model string }
	_ = json.Unmarshal(body, &asked) // what is no object asks for no model
	path := s.path
	for _, model := range []string{"good", "better"} {
		if named := strings.ReplaceAll(path, "MODEL", model); named == r.URL.Path && named != path {
			path, asked.Model = named, model
		}
	}
	switch key := strings.TrimPrefix(r.Header.Get(s.key), "Bearer "); {
	case key != speakKey:
		s.fail(w, http.StatusUnauthorized, "this key is wrong: "+key)
	case r.URL.Path == s.list:
		io.WriteString(w, object(s.models("good", "better")))
	case r.URL.Path != path:
		http.NotFound(w, r)
	case asked.Model != "good" && asked.Model != "better":
		s.fail(w, http.StatusNotFound, "The model `"+asked.Model+"` does not exist")
	default:
		s.say(w, r)
	}
}

func (s *speaker) fail(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, s.refuse(message))
}

func (s *speaker) say(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(events ...string) {
		for _, e := range events {
			io.WriteString(w, e)
			w.(http.Flusher).Flush()
		}
	}
	send(s.begin...)
	for c, err := range s.model.Generate(r.Context(), providers.Request{}) {
		switch {
		case err != nil:
			panic(http.ErrAbortHandler)
		case c.Stop != "":
			send(s.end...)
		default:
			send(s.text(c.Text))
		}
	}
}

// note adds a request to the log.
func (s *speaker) note(r *http.Request, body []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := os.OpenFile(s.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	fmt.Fprintf(f, "%s %s\n", r.Method, r.URL)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		fmt.Fprintf(f, "%s: %s\n", name, strings.Join(r.Header[name], ", "))
	}
	_, err = fmt.Fprintf(f, "\n%s\n", body)
	return err
}
