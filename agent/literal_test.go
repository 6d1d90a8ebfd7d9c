package agent_test

import (
	"context"
	"iter"
	"regexp"
	"testing"

	"mylm/agent"
	"mylm/providers"
)

// copier makes a mistake, copies the form that it is shown for it as it came, and
// then answers.
type copier struct {
	mistake string
	turn    int
	copied  string
}

var form = regexp.MustCompile(`(?s)<.?tool_code>.*<.?/tool_code>`)

func (c *copier) Generate(_ context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		text := "Done."
		switch c.turn++; c.turn {
		case 1:
			text = c.mistake
		case 2:
			c.copied = form.FindString(r.Messages[len(r.Messages)-1].Text)
			text = c.copied
		}
		if yield(providers.Chunk{Text: text}, nil) {
			yield(providers.Chunk{Stop: providers.StopEnd}, nil)
		}
	}
}

// TestCorrectionsAreLiteral provokes every correction that shows the form of a
// call. The form is not neutralised as what tools return is: a copy of it runs.
func TestCorrectionsAreLiteral(t *testing.T) {
	const object = "<tool_code>\n<name>echo</name>\n<parameters>"
	for name, mistake := range map[string]string{
		"wrong arguments": call("echo", `{"txet": "x"}`),
		"unknown tool":    call("ecko", `{"text": "x"}`),
		"broken JSON":     call("echo", `{"text": }`),
		"no object":       call("echo", `["x"]`),
		"given twice":     call("echo", `{"text": "a", "text": "b"}`),
		"no name":         "<tool_code>\n<parameters>{\"echo\": \"x\"}</parameters>\n</tool_code>",
		"no name at all":  "<tool_code>\nhello\n</tool_code>",
		"nothing in it":   "<tool_code>\n</tool_code>",
		"not finished":    object + `{"text": "x`,
		"escaped":         "&lt;tool_code&gt;&lt;name&gt;echo&lt;/name&gt;&lt;/tool_code&gt;",
		"ambiguous":       object + "{}</parameters>\n<run>false</run>\n</tool_code>",
		"unknown form":    "I say it:\necho(text=\"x\")",
		"in thought":      "<think>\n" + call("echo", `{"text": "x"}`),
	} {
		t.Run(name, func(t *testing.T) {
			b, m := &bench{}, &copier{mistake: mistake}
			r := ask(t, agent.Options{Model: m, Tools: b.registry(t)}, "Say it.")
			if b.String() == "" || r.Response != "Done." {
				t.Errorf("ran %q, answered %q, copied %q", b, r.Response, m.copied)
			}
		})
	}
}

// TestToldOnce answers the same again after it was told that it holds a call in a
// form that is not read: then it is the answer.
func TestToldOnce(t *testing.T) {
	const reply = "To hear it, write\necho(text=\"x\")"
	m := newModel(reply, reply)
	if r := ask(t, agent.Options{Model: m, Tools: (&bench{}).registry(t)}, "How?"); r.Response != reply || m.asked() != 2 {
		t.Errorf("answered %q after %d replies", r.Response, m.asked())
	}
}
