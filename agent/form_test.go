package agent_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"mylm/agent"
	"mylm/providers/calling"
	"mylm/providers/scripted"
	"mylm/tools"
)

// marks is what each form begins a call with.
var marks = map[calling.Form]string{
	calling.ToolCode: "<tool_code>", calling.ToolCall: "<tool_call>\n{", calling.Function: "<function=", calling.Invoke: "<invoke name=", calling.PythonTag: "{\"name\": \"look\", \"parameters\": ",
}

// In a session everything that the model sees of calls is in its form, whatever form
// the model writes: prompt, history and hints. A session keeps the form that it began
// with, also when it goes on under another one.
func TestSessionHasOneForm(t *testing.T) {
	t.Parallel()
	type in struct {
		Path string `json:"path"`
	}
	look, err := tools.New("look", "Looks.", tools.Reads, func(_ context.Context, x in) (tools.Result, error) { return tools.Result{Text: "a " + x.Path}, nil })
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(look)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range calling.Forms() {
		for _, written := range calling.Forms() {
			model := scripted.New(
				scripted.Reply{Text: written.Call("look", []byte(`{"path":"one"}`))},
				scripted.Reply{Text: written.Call("look", []byte(`{"paths":"two"}`))},
				scripted.Reply{Text: "<tool_code><name>look</name><parameters>{\"path\": </parameters></tool_code>"},
				scripted.Reply{Text: "Done."},
				scripted.Reply{Text: written.Call("look", []byte(`{"path":"three"}`))},
				scripted.Reply{Text: "Done again."},
			)
			run := func(s *agent.Session, f calling.Form) {
				a, err := agent.New(agent.Options{Model: model, Tools: registry, Form: f})
				if err != nil {
					t.Fatal(err)
				}
				if r, err := agent.Collect(a.Run(t.Context(), s, "look around")); err != nil || r.StopReason != agent.StopComplete {
					t.Fatalf("%s, written %s: %+v, %v", form, written, r.StopReason, err)
				}
			}
			s := agent.NewSession()
			run(s, form)
			run(s, calling.ToolCall)
			requests := model.Requests()
			var text strings.Builder
			for _, m := range requests[len(requests)-1].Messages {
				text.WriteString("\n" + m.Text + "\n")
			}
			shown := strings.Replace(text.String(), "<parameters>{\"path\": </parameters>", "", 1) // what could not be read stays
			shown = strings.Replace(shown, "<tool_code><name>look</name></tool_code>", "", 1)
			for other, mark := range marks {
				if n := strings.Count(shown, mark); (n > 0) != (other == form) {
					t.Errorf("session in %s, written %s: %q is there %d times:\n%s", form, written, mark, n, shown)
				}
			}
			if n := strings.Count(shown, form.Call("look", []byte(`{"path":"one"}`))); n != 1 {
				t.Errorf("session in %s, written %s: the first call is there %d times", form, written, n)
			}
		}
	}
	if _, err := agent.New(agent.Options{Model: scripted.New(), Form: "bogus"}); err == nil {
		t.Error("an unknown form is taken")
	}
}

// A small window gets signatures, and no example.
func TestSmallWindow(t *testing.T) {
	t.Parallel()
	type in struct {
		Path string `json:"path" jsonschema:"where"`
	}
	look, err := tools.New("look", "Looks.", tools.Reads, func(context.Context, in) (tools.Result, error) { return tools.Result{}, nil })
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(look)
	if err != nil {
		t.Fatal(err)
	}
	for limit, small := range map[agent.Limit]bool{0: false, 4096: true, 8191: true, 8192: false, agent.Off: false} {
		a, err := agent.New(agent.Options{Model: scripted.New(), Tools: registry, MaxContextTokens: limit})
		if err != nil {
			t.Fatal(err)
		}
		text, err := a.SystemPrompt(time.Now())
		if err != nil || strings.Contains(text, "look(path (where)): Looks.") != small || strings.Contains(text, "# EXAMPLE") == small {
			t.Errorf("limit %d: %v\n%s", limit, err, text)
		}
	}
}
