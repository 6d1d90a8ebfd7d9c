package journal_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mylm/agent"
	"mylm/agent/journal"
	"mylm/agent/plan"
)

// TestGolden reads sessions that the first version of the format wrote: each is
// read whole, written back byte for byte, and resumed if possible. The script
// golden.txtar shows, replays and resumes the same files.
func TestGolden(t *testing.T) {
	tests := map[string]struct {
		unfinished bool
		tasks      int      // completed in its plan
		shows      []string // in Markdown
	}{
		"ask":         {false, 0, []string{"## Thought, turn 1", "## Result of read_file (failed)", "exit status 3", "## End: complete"}},
		"compacted":   {false, 0, []string{"## Result of list_dir", "## End: complete"}},
		"denied":      {true, 0, []string{"## Result of execute_command (denied)", "## End: denied"}},
		"interrupted": {true, 0, []string{"cancelled", "## End: interrupted"}},
		"killed":      {true, 0, []string{"## Call of execute_command"}},
		"limit":       {true, 0, []string{"There is a folder.", "## End: max_turns"}},
		"timeout":     {true, 0, []string{"So far", "## End: timeout"}},
		"plan":        {true, 3, []string{"## End: max_turns"}},
		"mcp":         {false, 0, []string{"## Call of talk__echo", "## End: complete"}},
		"made":        {true, 0, []string{"## End: max_turns"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", "golden", name+".jsonl")
			h, entries, err := journal.LoadFile(t.Context(), path)
			check(t, err)
			want, err := os.ReadFile(path)
			check(t, err)
			var got, markdown bytes.Buffer
			check(t, journal.WriteJSONL(&got, h, entries))
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("written back it is\n%s\nwant\n%s", got.Bytes(), want)
			}
			check(t, journal.WriteMarkdown(&markdown, h, entries))
			for _, text := range tt.shows {
				if !strings.Contains(markdown.String(), text) {
					t.Errorf("%q is missing in\n%s", text, markdown.String())
				}
			}
			if strings.Contains(markdown.String(), "## End: interrupted\n\n") {
				t.Error("the end says more than that it was interrupted")
			}
			s, err := agent.LoadSession(h.ID, entries)
			check(t, err)
			if s.Unfinished() != tt.unfinished {
				t.Errorf("unfinished: %v", s.Unfinished())
			}
			if _, err := plan.Parts(entries); err != nil {
				t.Error(err)
			}
			completed := 0
			saved, err := plan.Load(s)
			if isPlan, begins := err == nil, entries[0].Payload.(agent.RunEntry); isPlan != (begins.Name == plan.RunName) {
				t.Error(err)
			}
			for _, task := range saved.Tasks {
				if task.Status == plan.Completed {
					completed++
				}
			}
			if completed != tt.tasks {
				t.Errorf("%d tasks are completed, want %d", completed, tt.tasks)
			}
		})
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
