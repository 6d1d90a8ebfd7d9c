package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// many N FILE writes N records in the form of another program.
func many(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: many N FILE")
	}
	var n int
	if _, err := fmt.Sscan(args[0], &n); err != nil {
		ts.Fatalf("many: %v", err)
	}
	var out bytes.Buffer
	for i := range n {
		fmt.Fprintf(&out, `{"key":"doc-%d","room":"room-%d","at":"2026-01-%02dT10:00:00","body":"The place of marker%d is shelf %d, \u00e4bove <b> & \"c\"."}`+"\n", i, i%5, 1+i%28, i, i*7%113)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), out.Bytes(), 0o600))
}

// longText makes words N FILE write a text of N different words, heron first.
func longText(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: words N FILE")
	}
	var n int
	if _, err := fmt.Sscan(args[0], &n); err != nil {
		ts.Fatalf("words: %v", err)
	}
	out := bytes.NewBufferString("heron")
	for i := range n - 1 {
		fmt.Fprintf(out, " word%d", i)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), out.Bytes(), 0o600))
}

// id VARIABLE WORD sets a variable to the id of the memory that a search for
// the word finds first.
func id(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: id VARIABLE WORD")
	}
	ts.Check(ts.Exec("mylm", "memory", "search", "--json", args[1]))
	var hits []struct{ ID string }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &hits))
	if len(hits) == 0 {
		ts.Fatalf("id: nothing is found for %q", args[1])
	}
	ts.Setenv(args[0], hits[0].ID)
}

// vectorServer starts a server for the rest of the script that makes vectors, as
// Ollama with the model embed and as OpenAI with any model: in them a car and an
// automobile are the same, and everything else is far away. $URL is where it
// is, $HOSTPORT without the scheme; the texts that it was sent are in the file
// embedded. With the argument stopped, it is gone at once; with moved, it says
// that all is to be found on another machine.
func vectorServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 || len(args) == 1 && args[0] != "stopped" && args[0] != "moved" {
		ts.Fatalf("usage: vectors [stopped | moved]")
	}
	log := ts.MkAbs("embedded")
	var mu sync.Mutex
	vectors := func(r *http.Request) (all [][]float32) {
		var asked struct{ Input []string }
		_ = json.NewDecoder(r.Body).Decode(&asked)
		mu.Lock()
		defer mu.Unlock()
		for _, text := range asked.Input {
			v := []float32{0, 1}
			if strings.Contains(text, "car") || strings.Contains(text, "automobile") {
				v = []float32{1, 0}
			}
			all = append(all, v)
			f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return nil
			}
			fmt.Fprintf(f, "%s %s %q\n", r.URL.Path, r.Header.Get("Authorization"), text)
			f.Close()
		}
		return all
	}
	var handler http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/tags":
			io.WriteString(w, `{"models":[{"name":"chat:latest","capabilities":["completion"]},{"name":"embed:latest","digest":"abcdef0123456789","capabilities":["embedding"]}]}`)
		case "/api/show":
			io.WriteString(w, `{"capabilities":["embedding"],"model_info":{"general.architecture":"bert","bert.context_length":512}}`)
		case "/api/embed":
			io.WriteString(w, object(map[string]any{"embeddings": vectors(r)}))
		case "/v1/embeddings":
			if r.Header.Get("Authorization") != "Bearer "+speakKey {
				http.Error(w, `{"error":{"message":"this key is wrong: `+r.Header.Get("Authorization")+`"}}`, http.StatusUnauthorized)
				return
			}
			data := []any{}
			for i, v := range vectors(r) {
				data = append(data, map[string]any{"index": i, "embedding": v})
			}
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, object(map[string]any{"data": data}))
		default:
			http.NotFound(w, r)
		}
	})
	if len(args) == 1 && args[0] == "moved" {
		handler = http.RedirectHandler("http://192.0.2.1:11434/", http.StatusTemporaryRedirect)
	}
	s := httptest.NewServer(handler)
	ts.Setenv("URL", s.URL)
	ts.Setenv("HOSTPORT", strings.TrimPrefix(s.URL, "http://"))
	if len(args) == 1 && args[0] == "stopped" {
		s.Close()
		return
	}
	ts.Defer(s.Close)
}

// damage FILE overwrites a part of a file, and cuts its end off.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: damage FILE")
	}
	path := ts.MkAbs(args[0])
	info, err := os.Stat(path)
	ts.Check(err)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	ts.Check(err)
	_, err = f.WriteAt(bytes.Repeat([]byte("damage! "), 1024), info.Size()/3)
	ts.Check(err)
	ts.Check(f.Truncate(info.Size() - 8192))
	ts.Check(f.Close())
}
