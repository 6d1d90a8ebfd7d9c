package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"mylm/agent"
	"mylm/providers"
	"mylm/tools"
)

var cat = providers.Image{Name: "cat.png", Type: providers.ImagePNG, Data: []byte("a cat")}

// sight is a model that reports whether it sees.
type sight struct {
	*model
	sees providers.Ability
}

func (s sight) Info(context.Context) (providers.Info, error) {
	return providers.Info{Window: 8192, Sees: s.sees}, nil
}

// imagesIn are the names of the pictures in the last request, by message.
func imagesIn(r providers.Request) (names []string) {
	for _, m := range r.Messages {
		for _, i := range m.Images {
			names = append(names, string(m.Role)+" "+i.Name)
		}
	}
	return names
}

// A picture is shown with its prompt in every turn, of this run and later ones.
func TestImages(t *testing.T) {
	m := sight{newModel(call("read", `{"path":"a"}`), "A cat.", "Still a cat."), providers.Able}
	a := newAgent(t, agent.Options{Model: m, Tools: (&bench{}).registry(t)})
	s := agent.NewSession()
	if r, err := agent.Collect(a.Run(t.Context(), s, "What is it?", cat)); err != nil || r.Response != "A cat." {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := agent.Collect(a.Run(t.Context(), s, "Sure?")); err != nil {
		t.Fatal(err)
	}
	for i, r := range m.requests {
		if got := imagesIn(r); len(got) != 1 || got[0] != "user cat.png" {
			t.Errorf("request %d has the pictures %q", i, got)
		}
	}
}

// A picture in a result is shown to a model that is known to see, in this run and
// later ones, and not to another one that takes over.
func TestImagesOfResults(t *testing.T) {
	picture := []byte("GIF89a;")
	snap, err := tools.New("snap", "Take a picture.", tools.Reads, func(context.Context, struct{}) (tools.Result, error) {
		return tools.Result{Text: "[a picture]", Images: [][]byte{[]byte("%PDF"), []byte("1"), []byte("2"), []byte("3"), picture}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(snap)
	if err != nil {
		t.Fatal(err)
	}
	for sees, want := range map[providers.Ability]string{providers.Able: "user 1 of the result", providers.Unable: "", "": ""} {
		m := sight{newModel(call("snap", `{}`), "A sea.", "Still a sea."), sees}
		a := newAgent(t, agent.Options{Model: m, Tools: registry})
		s := agent.NewSession()
		if r, err := agent.Collect(a.Run(t.Context(), s, "Look.")); err != nil || r.Response != "A sea." {
			t.Fatalf("%+v, %v", r, err)
		}
		if _, err := agent.Collect(a.Run(t.Context(), s, "Sure?", cat)); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(imagesIn(m.requests[1]), " "); got != want {
			t.Errorf("a model that sees (%q): pictures %q, want %q", sees, got, want)
		}
		if got := strings.Join(imagesIn(m.requests[2]), ", "); got != strings.TrimPrefix(want+", user cat.png", ", ") {
			t.Errorf("a model that sees (%q): later pictures %q", sees, got)
		}
		if done, err := agent.Replay(t.Context(), s.Entries(), agent.Options{Tools: registry}); err != nil || len(done.Differences) > 0 {
			t.Errorf("a model that sees (%q): replayed %+v, %v", sees, done, err)
		}
		if sees != providers.Able {
			continue
		}
		blind := sight{newModel("Words."), providers.Unable}
		if _, err := agent.Collect(newAgent(t, agent.Options{Model: blind, Tools: registry}).Run(t.Context(), s, "And now?")); err != nil {
			t.Fatal(err)
		}
		last := blind.requests[0]
		if got := imagesIn(last); len(got) > 0 || !strings.Contains(fmt.Sprint(last.Messages), "The picture 1 of the result is not shown to you") {
			t.Errorf("a blind model got %q in %v", got, last.Messages)
		}
	}
}

// The record has the hash of a picture and not its content. One that is not put back
// is missed.
func TestImagesInTheRecord(t *testing.T) {
	m := newModel("A cat.", "I do not know.")
	a := newAgent(t, agent.Options{Model: m})
	s := agent.NewSession()
	if _, err := agent.Collect(a.Run(t.Context(), s, "What is it?", cat)); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s.Entries())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `"images":[{"sha256":"`) || strings.Contains(string(text), "YSBjYXQ") {
		t.Errorf("recorded %s", text)
	}
	var entries []agent.Entry
	if err := json.Unmarshal(text, &entries); err != nil {
		t.Fatal(err)
	}
	if done, err := agent.Replay(t.Context(), entries, agent.Options{}); err != nil || len(done.Differences) > 0 {
		t.Errorf("replayed %+v, %v", done, err)
	}
	again, err := agent.LoadSession(s.ID, entries)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Collect(a.Run(t.Context(), again, "And now?")); err != nil {
		t.Fatal(err)
	}
	last := m.requests[len(m.requests)-1]
	if got := imagesIn(last); len(got) != 0 || !strings.Contains(last.Messages[1].Text, "[The picture cat.png is not available any more.]") {
		t.Errorf("asked %q with %q", last.Messages, got)
	}
}

// A model that cannot see takes over a session with pictures, and refuses one of its own.
func TestImagesAndABlindModel(t *testing.T) {
	s := agent.NewSession()
	sees := newAgent(t, agent.Options{Model: sight{newModel("A cat."), providers.Able}})
	if _, err := agent.Collect(sees.Run(t.Context(), s, "What is it?", cat)); err != nil {
		t.Fatal(err)
	}
	refusal := providers.CannotSee("x", "x cannot see")
	m := sight{newModel("It was a cat.", say{err: refusal}, "Fine."), providers.Unable}
	blind := newAgent(t, agent.Options{Model: m})
	var e *providers.Error
	for i, images := range [][]providers.Image{nil, {cat}, nil} {
		r, err := agent.Collect(blind.Run(t.Context(), s, "Go on.", images...))
		asked := imagesIn(m.requests[i])
		switch {
		case i == 1:
			if !errors.As(err, &e) || e.Param != providers.ParamImages || len(asked) != 1 || r.StopReason != agent.StopModelError {
				t.Errorf("ended with %v after %q, want an error about pictures", err, asked)
			}
		case err != nil || len(asked) > 0 || !strings.Contains(m.requests[i].Messages[1].Text, "[The picture cat.png is not shown to you, since you cannot see.]"):
			t.Errorf("run %d: %v; asked with %q", i, err, asked)
		}
	}
}
