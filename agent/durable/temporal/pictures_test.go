package temporal_test

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"testing"

	"mylm/agent"
	"mylm/agent/durable/temporal"
	"mylm/providers"
	"mylm/providers/scripted"
	"mylm/tools"
)

// seeing is a model that sees.
type seeing struct{ named }

func (seeing) Info(context.Context) (providers.Info, error) {
	return providers.Info{Window: 32768, Sees: providers.Able}, nil
}

// A picture that a tool returns reaches the model and the store, and its size is known in the
// next run.
func TestPictures(t *testing.T) {
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	look, err := tools.New("look", "Looks.", tools.Reads, func(context.Context, in) (tools.Result, error) {
		return tools.Result{Text: "a picture", Images: [][]byte{picture.Bytes()}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(look)
	if err != nil {
		t.Fatal(err)
	}
	script := func() *scripted.Model {
		return scripted.New(scripted.Reply{Text: call("look", "x")}, scripted.Reply{Text: "It is grey."},
			scripted.Reply{Text: call("look", "y"), Usage: providers.Usage{Prompt: 2000}}, scripted.Reply{Text: "It is, too."})
	}
	m := script()
	b := newBench(t, agent.Options{Model: m})
	if b.runs, err = temporal.New(agent.Options{Model: seeing{named{m}}, Tools: registry}, b.store); err != nil {
		t.Fatal(err)
	}
	b.next().run(t, temporal.Input{Prompt: "go"})
	b.next().run(t, temporal.Input{Prompt: "go on", Continue: true})
	for n, want := range []int{0, 1, 1, 2} {
		var shown []providers.Image
		for _, message := range m.Requests()[n].Messages {
			shown = append(shown, message.Images...)
		}
		if len(shown) != want || want > 0 && !bytes.Equal(shown[0].Data, picture.Bytes()) {
			t.Errorf("request %d shows %d pictures", n+1, len(shown))
		}
	}
	for _, e := range b.store.sessions["s"] {
		for _, i := range e.Images() {
			if !bytes.Equal(i.Data, picture.Bytes()) {
				t.Errorf("the store has %d bytes of it", len(i.Data))
			}
		}
	}

	local, session := &store{}, &agent.Session{ID: "s"}
	a, err := agent.New(agent.Options{Model: seeing{named{script()}}, Tools: registry, Recorder: local})
	if err != nil {
		t.Fatal(err)
	}
	for _, prompt := range []string{"go", "go on"} {
		if _, err := agent.Collect(a.Run(t.Context(), session, prompt)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := states(t, b.store.sessions["s"]), states(t, local.sessions["s"]); got != want {
		t.Errorf("the runs knew\n%s\nand in a process\n%s", got, want)
	}
}
