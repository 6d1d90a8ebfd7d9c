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
type seeing struct{ *scripted.Model }

func (seeing) Info(context.Context) (providers.Info, error) {
	return providers.Info{Window: 32768, Sees: providers.Able}, nil
}

// A picture that a tool returns reaches the model and the store.
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
	m := scripted.Say(call("look", "x"), "done")
	b := newBench(t, agent.Options{Model: m})
	if b.runs, err = temporal.New(agent.Options{Model: seeing{m}, Tools: registry}, b.store); err != nil {
		t.Fatal(err)
	}
	b.next().run(t, temporal.Input{Prompt: "go"})
	last := m.Requests()[1].Messages
	if shown := last[len(last)-1].Images; len(shown) != 1 || !bytes.Equal(shown[0].Data, picture.Bytes()) {
		t.Errorf("the model is shown %d pictures: %+v", len(shown), last[len(last)-1])
	}
	for _, e := range b.store.sessions["s"] {
		for _, i := range e.Images() {
			if !bytes.Equal(i.Data, picture.Bytes()) {
				t.Errorf("the store has %d bytes of it", len(i.Data))
			}
		}
	}
}
