package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"strings"
	"testing"
	"time"

	"mylm/agent"
	"mylm/providers"
	"mylm/tools"
)

// outlined are effects elsewhere that depend on what they are asked for alone, and keep
// that.
type outlined struct {
	agent.Effects
	asked []string
	ids   int
}

func (*outlined) Elsewhere() {}

func (o *outlined) keep(q any) {
	text, err := json.Marshal(q)
	if err != nil {
		panic(err)
	}
	o.asked = append(o.asked, string(text))
}

func (o *outlined) Model(_ context.Context, q agent.ModelRequest) iter.Seq2[providers.Chunk, error] {
	o.keep(q)
	text, stop := fmt.Sprintf("Step %d.\n", q.Turn)+call("long", fmt.Sprintf(`{"text":"%d"}`, q.Turn)), providers.StopEnd
	switch {
	case q.Purpose == agent.PurposeSummary:
		text = "A summary."
	case q.Turn == 4:
		text, stop = "It is not ", providers.StopLength
	case q.Turn == 5:
		text = "done.\n" + call("long", `{"text":"rest"}`)
	case q.Turn == 9:
		text = "Done."
	}
	used := providers.Usage{Output: 9}
	if q.Turn == 2 {
		used.Prompt = 1500 // from it the loop learns how its estimates compare
	}
	return func(yield func(providers.Chunk, error) bool) {
		yield(providers.Chunk{Text: text, Stop: stop, Usage: used}, nil)
	}
}

func (o *outlined) Tool(_ context.Context, q agent.ToolRequest) tools.Outcome {
	o.keep(q)
	result := tools.Result{Text: strings.Repeat(string(q.Args)+" is long. ", 200)}
	if strings.Contains(string(q.Args), "3") {
		result.Origin = "https://example.com/"
	}
	return tools.Outcome{Result: result}
}

func (o *outlined) Ask(_ context.Context, q agent.ApprovalRequest) (agent.Decision, error) {
	o.keep(q)
	return agent.Decision{Verdict: agent.Allow}, nil
}

func (o *outlined) Info(context.Context) (providers.Info, error) {
	o.keep("info")
	return providers.Info{Window: 6000}, nil
}

func (o *outlined) Now() time.Time { return time.Unix(1, 0) }

func (o *outlined) NewID() string {
	o.ids++
	return fmt.Sprint("id", o.ids)
}

// A loop asks for the same with the outline of a session as with the whole of it,
// wherever the session ends.
func TestOutline(t *testing.T) {
	long, err := tools.New("long", "Reads much.", tools.Reads, func(context.Context, echoIn) (tools.Result, error) { panic("not here") })
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(long)
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]agent.Options{
		"dropped":   {SummarizeAfterTurns: agent.Off},
		"summaries": {SummarizeAfterTurns: 4, KeepRecentTurns: 2},
		"small":     {SummarizeAfterTurns: agent.Off, MaxContextTokens: 3000},
	} {
		t.Run(name, func(t *testing.T) {
			o.Model, o.Tools, o.MaxTurns, o.Tries = newModel("x"), registry, 20, 1
			ask := func(id string, entries []agent.Entry, prompt string) (*agent.Session, []string) {
				s, err := agent.LoadSession(id, entries)
				if err != nil {
					t.Fatal(err)
				}
				far := &outlined{ids: 1000 * len(entries)}
				o := o
				o.Effects = func(*agent.Session, agent.Effects) agent.Effects { return far }
				a := newAgent(t, o)
				events := a.Run(t.Context(), s, prompt)
				if prompt == "" {
					events = a.Resume(t.Context(), s)
				}
				_, r := collect(t, events)
				if r.StopReason != agent.StopComplete || r.Response != "Done." {
					t.Fatalf("%s, %v: %q", r.StopReason, r.Err, r.Response)
				}
				return s, far.asked
			}
			first, _ := ask("s", nil, "Go.")
			second, _ := ask("s", first.Entries(), "Go on.")
			all, cuts, least := second.Entries(), 0, 1.0
			steps := 4 // of one to four entries in turn; with MYLM_SLOW only of one
			if os.Getenv("MYLM_SLOW") != "" {
				steps = 1
			}
			for n := 2; n <= len(all); n += 1 + cuts%steps {
				s, err := agent.LoadSession("s", through(t, all[:n]))
				if err != nil {
					t.Fatal(err)
				}
				prompt := ""
				if !s.Unfinished() {
					if s.Resumable() != agent.ErrComplete {
						continue
					}
					prompt = "And again."
				}
				outline := through(t, s.Outline())
				_, want := ask("s", s.Entries(), prompt)
				_, got := ask("s", outline, prompt)
				if text := strings.Join(got, "\n"); text != strings.Join(want, "\n") {
					t.Fatalf("through entry %d, a %s, it asks for\n%s\nand with the whole for\n%s", n, all[n-1].Kind(), text, strings.Join(want, "\n"))
				}
				short, _ := json.Marshal(outline)
				whole, _ := json.Marshal(s.Entries())
				least = min(least, float64(len(short))/float64(len(whole)))
				cuts++
			}
			t.Logf("%d entries, %d cuts; the shortest outline has %.2f of the whole", len(all), cuts, least)
			if cuts < 80/(steps+1) || least > .6 {
				t.Error("the outline is long, or the test short")
			}
		})
	}
}
