package journal_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mylm/agent"
	"mylm/agent/journal"
	"mylm/providers"
	"mylm/tools"
)

var picture = providers.Image{Name: "cat.png", Type: providers.ImagePNG, Data: []byte("a cat")}

// The pictures of a session are in files beside it, by their hash, and go with it.
func TestKeepsPictures(t *testing.T) {
	store := newStore(t)
	s := agent.NewSession()
	a := newAgent(t, &hands{}, byPlace{"A cat.", "The same."}, store, nil)
	for range 2 {
		if _, err := agent.Collect(a.Run(t.Context(), s, "what is it?", picture)); err != nil {
			t.Fatal(err)
		}
	}
	dir := strings.TrimSuffix(store.Path(s.ID), ".jsonl") + ".images"
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("kept %v, %v", files, err)
	}
	file := filepath.Join(dir, files[0].Name())
	if read(t, file) != "a cat" || strings.Contains(read(t, store.Path(s.ID)), "a cat") {
		t.Errorf("kept %q", read(t, file))
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others can read it: %v, %v", info.Mode(), err)
	}

	again, err := store.Open(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	if m := again.Messages()[0]; len(m.Images) != 1 || m.Images[0].Name != "cat.png" || string(m.Images[0].Data) != "a cat" {
		t.Errorf("opened with %+v", m)
	}
	check(t, store.Close())

	var out strings.Builder
	h, entries, err := store.Load(t.Context(), s.ID)
	check(t, err)
	check(t, journal.WriteMarkdown(&out, h, entries))
	if !strings.Contains(out.String(), "(picture: cat.png, image/png, 5 bytes, SHA-256 "+files[0].Name()+")") {
		t.Errorf("export %s", out.String())
	}
	h, entries = journal.Clean(h, entries, func(text string) string { return strings.ReplaceAll(text, "cat.png", "x") })
	out.Reset()
	check(t, journal.WriteJSON(&out, h, entries))
	if strings.Contains(out.String(), "cat.png") || !strings.Contains(out.String(), files[0].Name()) {
		t.Errorf("cleaned export %s", out.String())
	}

	// One that was changed is not shown to the model as if it were the same.
	write(t, file, "a dog")
	again, err = store.Open(t.Context(), s.ID)
	check(t, err)
	if m := again.Messages()[0]; len(m.Images) != 0 || !strings.Contains(m.Text, "not available") {
		t.Errorf("opened with %+v", m)
	}
	check(t, store.Close())

	check(t, store.Remove(s.ID))
	if left, err := os.ReadDir(store.Dir()); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	check(t, os.MkdirAll(dir, 0o700)) // as when a process dies before the journal is made
	if _, err := store.Prune(t.Context(), time.Now().Add(time.Minute), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("pictures of no session stay")
	}
}

// seeing is a model that sees.
type seeing struct{ byPlace }

func (seeing) Info(context.Context) (providers.Info, error) {
	return providers.Info{Window: 8192, Sees: providers.Able}, nil
}

// Pictures in results are kept as well, and replayed.
func TestKeepsPicturesOfResults(t *testing.T) {
	store := newStore(t)
	snap, err := tools.New("snap", "Take a picture.", tools.Reads, func(context.Context, struct{}) (tools.Result, error) {
		return tools.Result{Text: "[a picture]", Images: [][]byte{[]byte("GIF89a;")}}, nil
	})
	check(t, err)
	registry, err := tools.NewRegistry(snap)
	check(t, err)
	a := newAgent(t, &hands{}, seeing{byPlace{call("snap", `{}`), "A sea."}}, store, func(o *agent.Options) { o.Tools = registry })
	s := agent.NewSession()
	if _, err := agent.Collect(a.Run(t.Context(), s, "look")); err != nil {
		t.Fatal(err)
	}
	check(t, store.Close())
	again, err := store.Open(t.Context(), s.ID)
	check(t, err)
	shown := 0
	for _, m := range again.Messages() {
		if len(m.Images) == 1 && string(m.Images[0].Data) == "GIF89a;" {
			shown++
		}
	}
	if shown != 1 {
		t.Errorf("opened with %+v", again.Messages())
	}
	if done, err := agent.Replay(t.Context(), again.Entries(), agent.Options{Tools: registry}); err != nil || len(done.Differences) > 0 {
		t.Errorf("replayed %+v, %v", done, err)
	}
	check(t, store.Close())
}
