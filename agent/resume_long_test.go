package agent_test

import (
	"context"
	"fmt"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mylm/agent"
	"mylm/providers"
)

// stepper replies by what it is sent last, so that it does not matter how often
// it was asked: steps, an answer that is short of the request, a better one, and
// what is asked for beside the conversation.
type stepper struct {
	steps int
	asked int
}

var stepDone = regexp.MustCompile(`step (\d+)\n</observation>`)

func (s *stepper) Generate(_ context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	s.asked++
	last := r.Messages[len(r.Messages)-1].Text
	text := call("echo", `{"text":"step 1"}`)
	switch done := stepDone.FindStringSubmatch(last); {
	case strings.HasPrefix(r.Messages[0].Text, "You sum up"):
		text = "A summary."
	case strings.HasPrefix(r.Messages[0].Text, "You check") && strings.HasSuffix(last, "Almost."):
		text = short
	case strings.HasPrefix(r.Messages[0].Text, "You check"):
		text = passes
	case strings.HasPrefix(last, "The limit"):
		text = "So far."
	case strings.HasPrefix(last, "A check"):
		text = "All of it."
	case done != nil && done[1] == strconv.Itoa(s.steps):
		text = "Almost."
	case done != nil:
		n, _ := strconv.Atoi(done[1])
		text = fmt.Sprintf("Step %d.\n%s", n+1, call("echo", fmt.Sprintf(`{"text":"step %d"}`, n+1)))
	}
	return func(yield func(providers.Chunk, error) bool) {
		if yield(providers.Chunk{Text: text}, nil) {
			yield(providers.Chunk{Stop: providers.StopEnd, Usage: providers.Usage{Output: 2}}, nil)
		}
	}
}

// TestResumeOfLongRuns takes a run up again behind each of its entries, with
// summaries, checks and a last word among them. Nothing is asked for twice but a
// summary that was not put to use.
func TestResumeOfLongRuns(t *testing.T) {
	for name, o := range map[string]agent.Options{
		"summaries and checks": {SummarizeAfterTurns: 2, KeepRecentTurns: 1, SelfEval: agent.EvalFull, MaxTurns: 10},
		"a last word":          {SummarizeAfterTurns: 3, KeepRecentTurns: 1, MaxTurns: 4},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(s *agent.Session, rec *recorder, resume bool) (agent.Result, int) {
				var b bench
				m := &stepper{steps: 6}
				o := o
				o.Model, o.Tools, o.Recorder = m, b.registry(t), rec
				a := newAgent(t, o)
				events := a.Run(t.Context(), s, "go")
				if resume {
					events = a.Resume(t.Context(), s)
				}
				_, r := collect(t, events)
				return r, m.asked
			}
			var whole recorder
			first, total := run(agent.NewSession(), &whole, false)
			entries := through(t, whole.entries)
			for n := 2; n < len(entries); n++ {
				last, asked := entries[n-1], 0
				for _, e := range entries[:n] {
					if e.Kind() == agent.EntryReply || e.Kind() == agent.EntryAuxiliary {
						asked++
					}
				}
				s, err := agent.LoadSession("s", entries[:n])
				if err != nil {
					t.Fatal(err)
				}
				var rest recorder
				r, more := run(s, &rest, true)
				if r.Response != first.Response || r.StopReason != first.StopReason || r.Turns != first.Turns || r.Run != first.Run {
					t.Errorf("%d %s: ended with %q, %s, %d turns; want %q, %s, %d", n, last.Kind(), r.Response, r.StopReason, r.Turns, first.Response, first.StopReason, first.Turns)
				}
				unused := 0
				if aside, ok := last.Payload.(agent.AuxiliaryEntry); ok && aside.Purpose == agent.PurposeSummary {
					unused = 1
				}
				if r.Usage.Output < first.Usage.Output {
					t.Errorf("%d %s: consumed %+v, want %+v", n, last.Kind(), r.Usage, first.Usage)
				}
				if asked+more != total+unused {
					t.Errorf("%d %s: asked %d times before and %d after, want %d in all", n, last.Kind(), asked, more, total)
				}
			}
		})
	}
}
