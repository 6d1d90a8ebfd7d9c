//go:build unix

package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// installer is a server that has the models for which ollama pull was called in
// the home directory, and replies "Well." if any has.
func installer(t *testing.T, home func() *home) http.Handler {
	healthy := newPlaced(t, "Well.")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		names := []string{}
		for _, call := range strings.Fields(home().read("ollama-calls")) {
			if call != "pull" && call != "serve" && call != "signin" {
				names = append(names, call)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/api/tags":
			models := []string{}
			for _, n := range names {
				models = append(models, fmt.Sprintf(`{"name":%q,"model":%q,"size":1,"digest":"0","capabilities":["completion"],"details":{"family":"llama"}}`, n, n))
			}
			fmt.Fprintf(w, `{"models":[%s]}`, strings.Join(models, ","))
		case len(names) == 0 && slices.Contains([]string{"/api/show", "/api/chat"}, r.URL.Path):
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"error":"model not found"}`)
		default:
			healthy.Config.Handler.ServeHTTP(w, r)
		}
	})
}

// The commands of Ollama's that hints name can be typed, and then the same
// command of mylm's works.
func TestHintsOfOllamaCanBeTyped(t *testing.T) {
	t.Parallel()
	typed := regexp.MustCompile("ollama (pull|serve|signin)( [a-z][a-z0-9:.-]*)?")
	for name, test := range map[string]struct {
		args  []string
		model string // MYLM_MODEL
		down  bool   // no server runs until ollama serve is typed
		want  string
	}{
		"no server":           {[]string{"ask", "q"}, "m", true, "ollama serve"},
		"no such model":       {[]string{"ask", "q"}, "m", false, "ollama pull m"},
		"no model":            {[]string{"ask", "q"}, "", false, "ollama pull qwen3:8b"},
		"no model to list":    {[]string{"models"}, "", false, "ollama pull qwen3:8b"},
		"no model for a plan": {[]string{"agent", "run", "--no-plan", "q"}, "", false, "ollama pull qwen3:8b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &home{t: t, dir: t.TempDir()}
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			h.host = "http://" + listener.Addr().String()
			server := httptest.NewUnstartedServer(installer(t, func() *home { return h }))
			defer func() { server.Close() }()
			start := func() {
				server.Listener.Close()
				server.Listener = listener
				server.Start()
			}
			if test.down {
				listener.Close()
			} else {
				start()
			}
			run := func() (errs, code string) {
				cmd := h.command(test.args...)
				cmd.Env = append(cmd.Env, "MYLM_MODEL="+test.model)
				var e strings.Builder
				cmd.Stderr = &e
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				code = exitWithin(t, cmd)
				return e.String(), code
			}
			errs, code := run()
			hint := typed.FindString(errs)
			if code != "3" || hint != test.want {
				t.Fatalf("exit %s, the hint says %q, want %q: %s", code, hint, test.want, errs)
			}
			ollama := h.command()
			ollama.Path, ollama.Args, ollama.Err = "/bin/sh", []string{"sh", "-c", hint}, nil
			if out, err := ollama.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", hint, err, out)
			}
			if test.down {
				if listener, err = net.Listen("tcp", strings.TrimPrefix(h.host, "http://")); err != nil {
					t.Skip("the port was taken meanwhile: ", err)
				}
				_ = os.WriteFile(filepath.Join(h.dir, "ollama-calls"), []byte("pull m\n"), 0o600)
				start()
			}
			if errs, code := run(); code != "0" {
				t.Errorf("after %s: exit %s: %s", hint, code, errs)
			}
		})
	}
}
