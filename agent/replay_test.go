package agent_test

import (
	"fmt"
	"testing"

	"mylm/agent"
)

// TestReplayIsLinear has a replay of twice the turns allocate no more than twice
// as much.
func TestReplayIsLinear(t *testing.T) {
	allocations := func(turns int) float64 {
		var b bench
		says := []any{}
		for i := range turns {
			says = append(says, call("echo", fmt.Sprintf(`{"text":"%d"}`, i)))
		}
		s := agent.NewSession()
		o := agent.Options{Model: newModel(append(says, "done")...), Tools: b.registry(t), MaxTurns: turns + 1, SummarizeAfterTurns: agent.Off, MaxContextTokens: agent.Off}
		if _, err := agent.Collect(newAgent(t, o).Run(t.Context(), s, "count")); err != nil {
			t.Fatal(err)
		}
		return testing.AllocsPerRun(1, func() {
			done, err := agent.Replay(t.Context(), s.Entries(), agent.Options{Tools: b.registry(t)})
			if err != nil || done.Calls != turns || len(done.Differences) > 0 {
				t.Errorf("%+v, %v", done, err)
			}
		})
	}
	if few, many := allocations(150), allocations(300); many > 2.2*few {
		t.Errorf("150 turns: %.0f allocations, 300 turns: %.0f", few, many)
	}
}
