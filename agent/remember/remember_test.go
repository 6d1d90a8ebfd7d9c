package remember_test

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"mylm/agent"
	"mylm/agent/remember"
	"mylm/memory"
	"mylm/prompts"
	"mylm/providers"
	"mylm/providers/scripted"
	"mylm/tools"
	"mylm/tools/recall"
)

func call(name, args string) string {
	return "<tool_code>\n<name>" + name + "</name>\n<parameters>" + args + "</parameters>\n</tool_code>"
}

// ran is what a run with some replies leaves.
func ran(t *testing.T, m *remember.Memory, o agent.Options, replies ...string) remember.Run {
	t.Helper()
	s := agent.NewSession()
	all := must(m.Tools(s))
	all = append(all, must(tools.New("shout", "Write text in capitals.", tools.None, shout)),
		must(tools.New("fail", "Fail.", tools.Runs, func(context.Context, struct{}) (tools.Result, error) {
			return tools.Result{}, errors.New("token=ghp_0123456789abcdefghij0123456789abcdef " + strings.Repeat("x", 700))
		})))
	o.Model, o.Tools = scripted.Say(replies...), must(tools.NewRegistry(all...))
	result, _ := agent.Collect(must(agent.New(o)).Run(t.Context(), s, "Shout hello."))
	return remember.Run{Session: s, Result: result}
}

// broken is a model whose replies break off.
type broken struct{}

func (broken) Generate(context.Context, providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		if yield(providers.Chunk{Text: "half an answ"}, nil) {
			yield(providers.Chunk{}, &providers.Error{Kind: providers.BadRequest, Permanent: true})
		}
	}
}

func TestDocuments(t *testing.T) {
	store := must(memory.Open(t.Context(), filepath.Join(t.TempDir(), "memory.db"), memory.Options{}))
	defer store.Close()
	m := remember.New(store, "/src/shop")
	allow := agent.Options{Approve: agent.AllowAll}
	tests := map[string]struct {
		options agent.Options
		replies []string
		want    []string // role, then the beginning of the text
	}{
		"calls and an answer": {allow, []string{call("shout", `{"text": "hello"}`), call("fail", `{}`), "It is HELLO."},
			[]string{"user Shout hello.", "tool shout {\"text\":\"hello\"}\nHELLO", "tool fail {}\nError: ", "assistant It is HELLO."}},
		"results of the memory": {allow, []string{call("search_memory", `{"query": "hello"}`), "Nothing."}, []string{"user Shout hello.", "assistant Nothing."}},
		"a denied call":         {agent.Options{}, []string{call("fail", `{}`), "No."}, []string{"user Shout hello.", "assistant No."}},
		"a limit":               {agent.Options{MaxTurns: 1, NoLastWord: true}, []string{"So.\n" + call("shout", `{"text": "a"}`)}, []string{"user Shout hello.", "tool shout", "assistant So."}},
		"nothing":               {agent.Options{MaxMalformed: 1}, []string{""}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := ran(t, m, tt.options, tt.replies...)
			documents := m.Documents(r)
			if len(documents) != len(tt.want) {
				t.Fatalf("%d documents, want %d: %v", len(documents), len(tt.want), documents)
			}
			for i, d := range documents {
				if !strings.HasPrefix(d.Role+" "+d.Text, tt.want[i]) || d.Project != "/src/shop" || d.Session != r.Session.ID || d.Time.IsZero() || len(d.Text) > 1000 {
					t.Errorf("document %d is %+v, want %q", i, d, tt.want[i])
				}
				if strings.Contains(d.Text, "ghp_") {
					t.Errorf("it holds a secret: %q", d.Text)
				}
			}
		})
	}
	t.Run("a reply that breaks off", func(t *testing.T) {
		s := agent.NewSession()
		result, err := agent.Collect(must(agent.New(agent.Options{Model: broken{}})).Run(t.Context(), s, "Shout hello."))
		if result.Response != "half an answ" {
			t.Fatalf("it gives %q, %v", result.Response, err)
		}
		if d := m.Documents(remember.Run{Session: s, Result: result}); d != nil {
			t.Errorf("it leaves %v", d)
		}
	})
	t.Run("a question that the memory does not answer", func(t *testing.T) {
		r := ran(t, m, allow, call("search_memory", `{"query": "hello"}`), "I do not know.")
		r.Question = "Who says hello?"
		if d := m.Documents(r); d != nil {
			t.Errorf("it leaves %v", d)
		}
	})
	t.Run("a reply that repeats what was told", func(t *testing.T) {
		const told = "Our releases happen on Tuesdays, from branch main."
		for reply, kept := range map[string]int{
			told: 1, "Noted: " + told: 1, "I have updated my notes: our releases happen on **Tuesdays**, from branch main.": 1,
			"Good to know that our releases happen on Tuesdays, from branch main. I will use that from now on.": 1,
			"Noted.": 2, "Our releases happen on Tuesdays.": 2, "Noted: " + told + " The next one is 4.2.": 2,
			told + " Before, they happened on Fridays, which nobody liked, since what broke then was only noticed on the Monday after it.": 2,
		} {
			for _, lead := range []string{"", "Please keep in mind: "} {
				r := ran(t, m, allow, reply)
				r.Question = lead + told
				if d := m.Documents(r); len(d) != kept || d[0].Text != lead+told {
					t.Errorf("%s%q leaves %v", lead, reply, d)
				}
			}
		}
	})
	for _, asked := range []string{"staging host", "Name the staging host", "the capital of France", "..."} {
		t.Run("words that are no question: "+asked, func(t *testing.T) {
			reply := "The " + strings.TrimPrefix(strings.TrimPrefix(asked, "the "), "Name the ") + " is heron."
			r := ran(t, m, allow, reply)
			r.Question = asked
			if d := m.Documents(r); len(d) != 2 || d[1].Text != reply {
				t.Errorf("it leaves %v", d)
			}
		})
	}
	for reply, kept := range map[string]bool{
		"I don’t know.": false,
		"Sorry, I could not find any information about that. Could you tell me more?":            false,
		"I searched my memory. I found nothing about \"heron\".":                                 false,
		"Unfortunately, I don't have any record of this. If you tell me, I can keep it in mind.": false,
		"Das weiß ich nicht.":                                                 false,
		"Lo siento, no encontré nada sobre eso.":                              false,
		"I could not finish this: I ran out of turns before I had an answer.": false,
		"Je ne sais pas.":                                                     false,
		"К сожалению, я не знаю.":                                             false,
		"抱歉，我没有找到相关信息。":                                                       false,
		"申し訳ありませんが、見つかりませんでした。":                                               false,
		"I don't know the host's owner, but the host is heron.":               true,
		"I found nothing in the log. The host is heron.":                      true,
		"The linter found nothing.":                                           true,
		"Marta does not know.":                                                true,
		"Heron.":                                                              true,
		"I do not know where it is kept: " + strings.Repeat("the bucket, the shelf, the cellar, ", 20) + ".": true,
	} {
		t.Run(reply[:min(len(reply), 40)], func(t *testing.T) {
			r := ran(t, m, allow, call("shout", `{"text": "x"}`), reply)
			r.Question = "Who says hello?"
			if d := m.Documents(r); len(d) > 0 != kept {
				t.Errorf("it leaves %v", d)
			}
			if r.Question = "My name is Ann."; len(m.Documents(r)) < 2 {
				t.Error("a statement is lost")
			}
		})
	}
	t.Run("the question of a person", func(t *testing.T) {
		r := ran(t, m, allow, "Well.")
		r.Question = "Only this?"
		if d := m.Documents(r); d[0].Text != "Only this?" {
			t.Errorf("%+v", d)
		}
	})
}

func TestKeep(t *testing.T) {
	store := must(memory.Open(t.Context(), filepath.Join(t.TempDir(), "memory.db"), memory.Options{}))
	defer store.Close()
	m := remember.New(store, "/src/shop")
	if n, err := m.Keep(t.Context(), ran(t, m, agent.Options{}, "Hello it is.")); n != 2 || err != nil {
		t.Errorf("%d documents, %v", n, err)
	}
	r := ran(t, m, agent.Options{}, call("search_memory", `{"query": "hello"}`), "Found.")
	found := r.Session.Messages()[2].Text
	if !strings.Contains(found, "Hello it is.") {
		t.Errorf("the next run is shown %q", found)
	}
	m.NoSave = "Nothing can be remembered."
	if n, err := m.Keep(t.Context(), r); n != 0 || err != nil {
		t.Errorf("%d documents, %v", n, err)
	}
	gone := errors.New("gone")
	m = &remember.Memory{Open: func(context.Context) (*memory.Store, error) { return nil, gone }}
	if n, err := m.Keep(t.Context(), r); n != 0 || !errors.Is(err, gone) {
		t.Errorf("%d documents, %v", n, err)
	}
}

func TestSection(t *testing.T) {
	m := &remember.Memory{Open: func(context.Context) (*memory.Store, error) { return nil, nil }}
	all := must(tools.NewRegistry(must(m.Tools(agent.NewSession()))...))
	sections := must(m.Section(prompts.Default(), all))
	if len(sections) != 1 || !strings.Contains(sections[0].Text, recall.RememberName) {
		t.Errorf("%+v", sections)
	}
	if sections := must(m.Section(prompts.Default(), nil)); len(sections) != 0 {
		t.Errorf("%+v", sections)
	}
}
