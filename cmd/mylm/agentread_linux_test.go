package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mylm/agent/plan"
)

// An interrupt ends the reading of a plan's input, whether it arrives slowly or
// takes long to parse.
func TestInterruptedWhileReading(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"plan": {"agent", "run", "--plan", "pipe"}, "workflow": {"agent", "workflow", "w1"}, "list": {"agent", "workflow", "list"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := command(t, nil, args...)
			pipe, flows := filepath.Join(cmd.Dir, "pipe"), filepath.Join(cmd.Dir, ".mylm", "workflows")
			check(t, syscall.Mkfifo(pipe, 0o600))
			check(t, os.MkdirAll(flows, 0o700))
			long := "---\nname: w\nsteps:\n" + strings.Repeat("- a\n", plan.MaxWorkflow/4-20) + "---\nAll.\n"
			check(t, os.WriteFile(filepath.Join(flows, "w.md"), []byte(long), 0o600))
			for i := range 500 {
				check(t, os.Link(filepath.Join(flows, "w.md"), filepath.Join(flows, fmt.Sprintf("w%d.md", i))))
			}
			check(t, cmd.Start())
			if name == "plan" {
				writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // which waits for the reader
				check(t, err)
				defer writer.Close()
			} else {
				eventually(t, func() bool {
					b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/io", cmd.Process.Pid))
					var read int
					_, _ = fmt.Sscanf(string(b), "rchar: %d", &read)
					return read > 4*plan.MaxWorkflow
				})
			}
			check(t, cmd.Process.Signal(os.Interrupt))
			if code := exitWithin(t, cmd); code != "130" {
				t.Errorf("exit %s", code)
			}
		})
	}
}
