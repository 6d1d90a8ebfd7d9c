package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// A cancel ends the request to the model, and is answered while the backend still holds it.
func TestACPCancelReachesTheModel(t *testing.T) {
	t.Parallel()
	ended, release := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the end of the client is noticed
		if r.URL.Path != "/api/chat" {
			_, _ = io.WriteString(w, `{"capabilities":["completion"],"model_info":{"general.architecture":"a","a.context_length":8192},"models":[]}`)
			return
		}
		_, _ = io.WriteString(w, `{"model":"m","message":{"role":"assistant","content":"It begins."},"done":false}`+"\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(ended)
		<-release
	}))
	t.Cleanup(server.Close)
	defer close(release)
	e := newEditor(t, "")
	e.host = server.URL
	e.start("acp", "-m", "ollama/m")
	e.initialize(nil)
	id := e.open()
	_, response := e.begin("session/prompt", map[string]any{"sessionId": id, "prompt": blocks("q")})
	e.seen("It begins.")
	e.notify("session/cancel", map[string]any{"sessionId": id})
	f := e.wait(response)
	if r, _ := f.Result.(map[string]any); r["stopReason"] != "cancelled" {
		t.Errorf("it ends as %s", f.raw)
	}
	<-ended
}
