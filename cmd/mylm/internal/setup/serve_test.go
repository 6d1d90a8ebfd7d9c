package setup

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"mylm/cmd/mylm/internal/config"
	"mylm/providers"
	"mylm/providers/calling"
)

// Requests for one model that come at once ask about it once. Each still ends when its
// own client leaves, and the others do not fail if it is the one that has asked.
func TestServedOpensOnce(t *testing.T) {
	var shown atomic.Int32
	asked, free := make(chan struct{}, 100), make(chan struct{})
	ollama := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/show" {
			_, _ = w.Write([]byte(`{"models":[]}`))
			return
		}
		shown.Add(1)
		asked <- struct{}{}
		select {
		case <-free:
		case <-r.Context().Done():
		}
		_, _ = w.Write([]byte(`{"capabilities":["completion"],"model_info":{"general.architecture":"llama","llama.context_length":32768},"template":"{{ .Prompt }}"}`))
	}))
	defer ollama.Close()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"MYLM_CONFIG": path, "MYLM_MODEL": "", "MYLM_HOST": ollama.URL, "MYLM_FORM": formAuto} {
		t.Setenv(name, value)
	}
	c, err := config.Load(t.Context(), config.Source{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Serve(t.Context(), c, silent{})
	if err != nil {
		t.Fatal(err)
	}
	first, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { _, err := s.Open(first, "m"); left <- err }()
	<-asked
	var all sync.WaitGroup
	models := make([]*calling.Model, 8)
	for i := range models {
		all.Go(func() {
			var err error
			if models[i], err = s.Open(t.Context(), "m"); err != nil {
				t.Error(err)
			}
		})
	}
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the client that came first left: %v", err)
	}
	close(free)
	all.Wait()
	for _, m := range models {
		if m == nil || m != models[0] {
			t.Error("a model is opened twice")
		}
	}
	if n := shown.Load(); n != 1 {
		t.Errorf("the server is asked about the model %d times", n)
	}
}

// panics is a model that cannot even be asked about.
type panics struct{ providers.Model }

func (panics) Info(context.Context) (providers.Info, error) { panic("no") }

func TestServedPanic(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("MYLM_FORM", formAuto)
	c, err := config.Load(t.Context(), config.Source{})
	if err != nil {
		t.Fatal(err)
	}
	s := &Served{config: c, only: &opened{Model: &Model{Model: panics{}, Name: "m"}, config: c}}
	if m, err := s.Open(t.Context(), "any"); err == nil || m != nil {
		t.Errorf("%v, %v", m, err)
	}
}
