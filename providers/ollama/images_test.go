package ollama_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"mylm/providers"
	"mylm/providers/ollama"
)

// Whether a model sees is asked before it is sent a picture, and only then.
func TestImages(t *testing.T) {
	picture := providers.Request{Messages: []providers.Message{{Role: providers.User, Text: "What is it?",
		Images: []providers.Image{{Type: providers.ImagePNG, Data: []byte("abc")}, {Type: providers.ImageJPEG, Data: []byte("def")}}}}}
	for name, tt := range map[string]struct {
		show string
		sees providers.Ability
	}{
		"sees":    {`{"capabilities":["completion","vision"]}`, providers.Able},
		"blind":   {`{"capabilities":["completion"]}`, providers.Unable},
		"unknown": {`{}`, providers.AbilityUnknown}, // a server before 0.6
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, lines(piece("a cat"), lastLine))
			f.show = says(tt.show)
			m := f.model(t, ollama.ModelOptions{NumCtx: 8192})
			if info, err := m.Info(t.Context()); err != nil || info.Sees != tt.sees {
				t.Errorf("info %+v, %v", info, err)
			}
			var text strings.Builder
			var failed error
			for c, err := range m.Generate(t.Context(), picture) {
				text.WriteString(c.Text)
				failed = errors.Join(failed, err)
			}
			if tt.sees == providers.Unable {
				var e *providers.Error
				if !errors.As(failed, &e) || e.Param != providers.ParamImages || e.Temporary() || f.count("/api/chat") != 0 {
					t.Errorf("%v after %d requests, want an error about pictures and none", failed, f.count("/api/chat"))
				}
				return
			}
			if failed != nil || text.String() != "a cat" {
				t.Fatalf("%q, %v", text.String(), failed)
			}
			want := map[string]any{"role": "user", "content": "What is it?", "images": []any{"YWJj", "ZGVm"}}
			if got := f.sent()[0]["messages"].([]any)[0]; !reflect.DeepEqual(got, want) {
				t.Errorf("sent %v, want %v", got, want)
			}
		})
	}
	f := newFake(t, lines(piece("hello"), lastLine))
	for _, err := range f.model(t, ollama.ModelOptions{NumCtx: 8192}).Generate(t.Context(), providers.Request{Messages: []providers.Message{{Role: providers.User, Text: "hi"}}}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if f.count("/api/show") != 0 {
		t.Error("a question without a picture asks about the model")
	}
}
