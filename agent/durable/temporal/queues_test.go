package temporal_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"

	"mylm/agent"
	"mylm/agent/durable/temporal"
	"mylm/prompts"
	"mylm/providers/scripted"
	"mylm/tools"
)

// Workers that have tools are others than those that have models: a run begins with what
// the former say about the place and their tools, and both sides run again.
func TestServerQueues(t *testing.T) {
	c, store := server(t, client.Options{}).Client(), &store{}
	here, there := &bench{}, &bench{}
	says := []string{call("read", "a"), call("write", "b"), call("read", "c"), call("write", "d"), "It is done."}
	models, err := temporal.New(agent.Options{Model: named{scripted.Say(says...)}, Tools: here.registry(t), Labels: map[string]string{"model": "m", "dir": "here"},
		Sections: []prompts.Section{{Title: "PLACE", Text: "the models' machine"}}}, store)
	if err != nil {
		t.Fatal(err)
	}
	box, err := temporal.New(agent.Options{Model: scripted.Say(), Tools: there.registry(t), Labels: map[string]string{"dir": "there"},
		Sections: []prompts.Section{{Title: "PLACE", Text: "the tools' machine"}}}, store)
	if err != nil {
		t.Fatal(err)
	}
	models.ToolQueue, box.ToolQueue = "agents/tools", "agents/tools"
	defer work(t, c, models).Stop()
	run := start(t, c, temporal.Input{Session: "s", Prompt: "go", Allow: tools.Writes})
	defer workTools(t, c, box).Stop()
	var out temporal.Output
	if err := run.Get(t.Context(), &out); err != nil || out.StopReason != agent.StopComplete || out.Turns != 5 {
		t.Fatalf("%+v, %v", out, err)
	}
	if ran := strings.Join(there.ran, ", "); len(here.ran) > 0 || ran != "read a, write b, read c, write d" {
		t.Errorf("ran %s, and %v with the models", ran, here.ran)
	}
	if text := store.text(t, "s"); strings.Contains(text, "unknown=true") {
		t.Error(text)
	}
	begins := store.sessions["s"][0].Payload.(agent.RunEntry)
	if l := begins.Setup.Labels; l["model"] != "m" || l["dir"] != "there" || !strings.Contains(begins.System, "the tools' machine") || strings.Contains(begins.System, "the models'") {
		t.Errorf("labels %v, prompt\n%s", l, begins.System)
	}
	h := historyOf(t, c, "s", run.GetRunID())
	keep(t, h, apart)
	runsAgain(t, models, h)
}

// A call that comes to a worker which has no tools is made by one that has, as where the
// run began on one that had both.
func TestServerQueuesMixed(t *testing.T) {
	c, store := server(t, client.Options{}).Client(), &store{}
	first, runs := script(t, store)
	w := work(t, c, runs)
	run := start(t, c, temporal.Input{Session: "s", Prompt: "go"})
	q := waiting(t, c, "s")
	w.Stop()

	here, there := &bench{}, &bench{}
	rest, err := temporal.New(agent.Options{Model: scripted.Say("It is done."), Tools: here.registry(t)}, store)
	if err != nil {
		t.Fatal(err)
	}
	box, err := temporal.New(agent.Options{Model: scripted.Say(), Tools: there.registry(t)}, store)
	if err != nil {
		t.Fatal(err)
	}
	rest.ToolQueue, box.ToolQueue = "agents/tools", "agents/tools"
	defer work(t, c, rest).Stop()
	defer workTools(t, c, box).Stop()
	decide(t, c, "s", temporal.Decision{Call: q.Call, Decision: agent.Decision{Verdict: agent.Allow}})
	var out temporal.Output
	if err := run.Get(t.Context(), &out); err != nil || out.StopReason != agent.StopComplete {
		t.Fatalf("%+v, %v", out, err)
	}
	if ran := strings.Join(append(first.ran, there.ran...), ", "); ran != "read a, write b" || len(here.ran) > 0 {
		t.Errorf("ran %s, and %v with the models", ran, here.ran)
	}
}

// A call that no worker has a tool for was not made, and the model is told so.
func TestNoWorkerHasTools(t *testing.T) {
	b := newBench(t, agent.Options{Model: scripted.Say(call("write", "x"), "done")})
	b.OnActivity("mylm.tool", mock.Anything, mock.Anything).Return(tools.Outcome{}, sdk.NewNonRetryableApplicationError("the worker calls no tools", "no_tools", nil))
	b.run(t, temporal.Input{Prompt: "go", Allow: tools.Writes})
	if text := b.store.text(t, "s"); !strings.Contains(text, "the call was not run: ") || strings.Contains(text, "unknown=true") {
		t.Error(text)
	}
}
