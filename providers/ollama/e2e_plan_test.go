//go:build linux

package ollama_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mylm/providers/internal/ollamatest"
)

// TestEndToEndPlan makes a plan with a real server, and carries it out, through
// the mylm command.
func TestEndToEndPlan(t *testing.T) {
	s := ollamatest.Start(t, slots)
	e := &endToEnd{server: s, bin: buildCommand(t)}
	for model, native := range templates {
		t.Run(model, func(t *testing.T) {
			s.Create(t, "planner-"+model, ollamatest.Planner(native))
			p := e.user(t, s.URL)
			if err := os.WriteFile(filepath.Join(p.dir, "note.txt"), []byte(ollamatest.NoteText+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			o := p.run(t, "agent", "run", "--yes", "-m", "planner-"+model, "look around here")
			o.want(t, 0, ollamatest.PlanOutput+"\n", "plan: 2 tasks\n", "the model's reply was not usable", "t1  $ echo hello-from-tool\n", "✓ t2 completed\n")

			o = p.run(t, "agent", "run", "--yes", "-m", "planner-"+model, "--json", "look around here")
			if o.code != 0 || !strings.Contains(o.stdout, `"stop_reason": "complete"`) || !strings.Contains(o.stdout, `"iteration": 2`) {
				t.Errorf("exit code %d: %s%s", o.code, o.stdout, o.stderr)
			}
			if o := p.run(t, "resume"); o.code != 2 || !strings.Contains(o.stderr, "was answered") {
				t.Errorf("resume: exit code %d: %s", o.code, o.stderr)
			}
		})
	}
}
