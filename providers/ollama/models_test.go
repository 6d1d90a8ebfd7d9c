package ollama_test

import (
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"mylm/providers"
	"mylm/providers/ollama"
)

func TestModels(t *testing.T) {
	changed := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	want := []providers.ModelInfo{
		{Name: "chat:latest", Size: 7, Modified: changed, Info: providers.Info{Window: 16384, Trained: 131072, Loaded: true, Chats: true, Thinks: true}},
		{Name: "embed:latest", Size: 3, Info: providers.Info{Trained: 512, Embeds: true}},
	}
	const (
		told = `{"models":[{"name":"chat:latest","size":7,"modified_at":"2026-01-02T03:04:05Z","capabilities":["completion","thinking"],"details":{"context_length":131072}},
			{"name":"embed:latest","size":3,"capabilities":["embedding"],"details":{"context_length":512}}]}`
		untold = `{"models":[{"name":"chat:latest","size":7,"modified_at":"2026-01-02T03:04:05Z"},{"name":"embed:latest","size":3}]}`
	)
	for name, list := range map[string]string{"told by the list": told, "asked one by one": untold} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, nil)
			f.tags = says(list)
			f.ps = says(`{"models":[{"name":"chat:latest","context_length":16384}]}`)
			f.show = nil
			f.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/api/show" {
					f.ServeHTTP(w, r)
					return
				}
				body, _ := io.ReadAll(r.Body)
				reply := `{"capabilities":["completion","thinking"],"model_info":{"general.architecture":"a","a.context_length":131072}}`
				if strings.Contains(string(body), "embed") {
					reply = `{"capabilities":["embedding"],"model_info":{"general.architecture":"b","b.context_length":512}}`
				}
				io.WriteString(w, reply)
			})
			got, err := client(t, f.URL).Models(t.Context())
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("Models = %+v, %v\nwant %+v", got, err, want)
			}
		})
	}
}

func TestInfo(t *testing.T) {
	f := newFake(t, nil)
	f.show = says(`{"capabilities":["completion","thinking"],"model_info":{"general.architecture":"llama","llama.context_length":32768}}`)
	m := f.model(t, ollama.ModelOptions{})
	want := providers.Info{Window: 8192, Trained: 32768, Loaded: true, Chats: true, Thinks: true}
	for range 2 {
		if got, err := m.Info(t.Context()); err != nil || got != want {
			t.Errorf("Info = %+v, %v, want %+v", got, err, want)
		}
	}
	if n := f.count("/api/show"); n != 1 {
		t.Errorf("the model was shown %d times, want once", n)
	}
	f.ps = says(`{"models":[]}`)
	want.Loaded = false
	if got, err := m.Info(t.Context()); err != nil || got != want {
		t.Errorf("after it was unloaded: Info = %+v, %v, want %+v", got, err, want)
	}
	f.show = refuses(404, `{"error":"model 'm' not found"}`)
	if _, err := f.model(t, ollama.ModelOptions{}).Info(t.Context()); providers.KindOf(err) != providers.ModelMissing {
		t.Errorf("Info of a model that is not there: %v", err)
	}
}
