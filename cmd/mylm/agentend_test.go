//go:build unix

package main

import (
	"fmt"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const sixTasks = `{"tasks": [{"id": "z", "description": "zero", "tools": ["read_file"]},
{"id": "a", "description": "one", "dependencies": ["z"], "tools": ["read_file"]}, {"id": "b", "description": "two", "dependencies": ["z"], "tools": ["read_file"]},
{"id": "c", "description": "three", "dependencies": ["z"], "tools": ["read_file"]}, {"id": "d", "description": "four", "dependencies": ["z"], "tools": ["read_file"]},
{"id": "e", "description": "five", "dependencies": ["a", "b", "c", "d"], "tools": ["read_file"]}]}`

// A signal ends four running replies, and the plan can be resumed.
func TestPlanEndsWithWorkersBusy(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			if sig == syscall.SIGHUP && signal.Ignored(sig) {
				t.Skip("it is ignored here, and so by what is started")
			}
			var planned, zero, busy atomic.Int32
			var free atomic.Bool
			p := newPlaced(t)
			p.answers(func(system, last string) string {
				first, _, _ := strings.Cut(last, "\n")
				switch {
				case strings.Contains(system, `{"tasks"`):
					planned.Add(1)
					return sixTasks
				case first == "zero":
					zero.Add(1)
				case !free.Load():
					busy.Add(1)
					return "hang"
				}
				return "Done: " + first
			})
			h := newHome(t, p)
			cmd := h.command("agent", "run", "--no-observe", "--no-reflect", "count")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() bool { return busy.Load() == 4 })
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			for i := range 4 {
				select {
				case <-p.closed:
				case <-time.After(patience):
					t.Fatalf("the server sees the end of %d replies", i)
				}
			}
			code := exitWithin(t, cmd)
			if sig != syscall.SIGKILL && code != "130" {
				t.Errorf("exit %s", code)
			}
			shown, _, _ := h.run("sessions", "show", "--json")
			for _, want := range []string{`"kind": "plan"`, `"result": "Done: zero"`} {
				if !strings.Contains(shown, want) {
					t.Errorf("%s is not recorded", want)
				}
			}
			free.Store(true)
			out, errs, code := h.run("resume")
			var want []string
			for _, name := range []string{"zero", "one", "two", "three", "four", "five"} {
				want = append(want, fmt.Sprintf("## %s\n\nDone: %s\n", name, name))
			}
			if code != "0" || out != strings.Join(want, "\n") {
				t.Errorf("exit %s, %q, %s", code, out, errs)
			}
			if planned.Load() != 1 || zero.Load() != 1 {
				t.Errorf("planned %d times, and the first task done %d times", planned.Load(), zero.Load())
			}
		})
	}
}
