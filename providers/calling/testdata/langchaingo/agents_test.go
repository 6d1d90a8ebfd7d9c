// Package langchaingo runs agents of langchaingo over calling.LLM. It is a module of its own, since
// they need much that nothing else here does:
//
//	cd providers/calling/testdata/langchaingo && go test .
package langchaingo

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/tools"

	"mylm/providers"
	"mylm/providers/calling"
)

// speaker is a model without function calling: its first replies are calls, the first of
// them unreadable, and then it repeats what the last call led to.
type speaker struct{ asked int }

func (m *speaker) Generate(_ context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		answer := "I do not know."
		if strings.Contains(r.Messages[len(r.Messages)-1].Text, "warm in Basel") {
			answer = "It is warm in Basel."
		}
		call := func(args string) string {
			return "<tool_code>\n<name>lookup</name>\n<parameters>" + args + "</parameters>\n</tool_code>"
		}
		text := []string{call(`{"__arg1": Bern so}`), call(`{"__arg1": "Bern"}`), call(`{"__arg1": "Basel"}`), answer}[min(m.asked, 3)]
		if !strings.Contains(r.Messages[0].Text, "Looks a place up.") {
			text = "I was shown no tool."
		}
		m.asked++
		if yield(providers.Chunk{Text: text}, nil) {
			yield(providers.Chunk{Stop: providers.StopEnd}, nil)
		}
	}
}

// lookup is a tool of langchaingo's.
type lookup struct{ inputs []string }

func (*lookup) Name() string        { return "lookup" }
func (*lookup) Description() string { return "Looks a place up." }

func (l *lookup) Call(_ context.Context, input string) (string, error) {
	l.inputs = append(l.inputs, input)
	return "warm in " + input, nil
}

// An agent of langchaingo runs the calls of a model without function calling, and one
// that reads calls from text itself is not disturbed.
func TestLangchaingoAgents(t *testing.T) {
	tool := &lookup{}
	executor := agents.NewExecutor(agents.NewOpenAIFunctionsAgent(calling.LLM(&speaker{}), []tools.Tool{tool}))
	answer, err := chains.Run(t.Context(), executor, "How is it in Basel?")
	if err != nil || !strings.Contains(answer, "warm in Basel") || strings.Join(tool.inputs, " ") != "Bern Basel" {
		t.Errorf("%q after %v, %v", answer, tool.inputs, err)
	}

	tool = &lookup{}
	react := texts{"Thought: I look.\nAction: lookup\nAction Input: Bern\nObservation: cold", "Thought: I know.\nFinal Answer: warm"}
	executor = agents.NewExecutor(agents.NewOneShotAgent(calling.LLM(&react), []tools.Tool{tool}))
	answer, err = chains.Run(t.Context(), executor, "How is it in Bern?")
	if err != nil || strings.TrimSpace(answer) != "warm" || strings.Join(tool.inputs, "|") != "Bern" {
		t.Errorf("%q after %q, %v", answer, tool.inputs, err)
	}
}

// texts is a model that says one after the other.
type texts []string

func (m *texts) Generate(context.Context, providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		text := (*m)[0]
		*m = (*m)[1:]
		if yield(providers.Chunk{Text: text}, nil) {
			yield(providers.Chunk{Stop: providers.StopEnd}, nil)
		}
	}
}
