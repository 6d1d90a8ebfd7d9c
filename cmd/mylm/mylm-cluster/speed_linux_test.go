package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"mylm/agent"
	"mylm/agent/durable/temporal"
	"mylm/providers/ollama"
	"mylm/tools"
)

// speed is a test that measures what runs cost.
type speed struct {
	*parts
	model  *numbering
	runs   int
	atOnce int // of them
}

// Runs of 8 turns, 20 at once, with a model that answers at once: in this process, in this
// process with sessions in PostgreSQL, and on Temporal with one worker and with two. The times are for
// people to read: they are those of the machine. Of an idle worker the test wants that it
// takes at most 1% of a processor.
//
// MYLM_SPEED_RUNS says how many runs each is measured with.
func TestSpeed(t *testing.T) {
	s := newSpeed(t)
	s.measure("in this process", s.here(nil))
	s.measure("in this process, sessions in PostgreSQL", s.here(s.sessions))
	s.add(1, s.model.URL)
	s.measure("one worker, its first runs", s.there)
	s.measure("one worker", s.there)
	s.runs, s.atOnce = s.runs/4+1, 1
	s.measure("in this process, one after the other", s.here(nil))
	s.measure("one worker, one after the other", s.there)
	s.idle(30 * time.Second)
	s.add(1, s.model.URL)
	s.runs, s.atOnce = 4*(s.runs-1), 20
	s.measure("two workers", s.there)
}

// Workers that have a share of a processor each, so that there is some left for another: runs
// are done as fast as there are workers. With all on one machine this is seen only so.
func TestSpeedGrows(t *testing.T) {
	s := newSpeed(t)
	for i, what := range []string{"a worker with a share of a processor", "two of them", "three of them"} {
		s.add(1, s.model.URL)
		if err := s.limit(s.workers[i]); err != nil {
			t.Skip(err)
		}
		s.measure(what, s.there)
	}
}

func newSpeed(t *testing.T) *speed {
	s := &speed{runs: number(t, "MYLM_SPEED_RUNS", 40), atOnce: 20, parts: newParts(t, "--dynamic-config-value", "system.enableActivityEagerExecution=true")}
	s.model = newNumbering(t, func() time.Duration { return 0 }, func(n int, session string) (string, any) {
		return "write_file", map[string]string{"path": fmt.Sprintf("%s-%d.txt", session, n), "content": "written"}
	})
	return s
}

// procs is the file of a control group that has its processes.
const procs = "cgroup.procs"

// limit gives a worker three twentieths of a processor, by a control group of its own.
func (s *speed) limit(worker *process) error {
	dir, limits := "/sys/fs/cgroup", [][2]string{{"cpu.max", "7500 50000"}}
	if old := filepath.Join(dir, "cpu"); exists(filepath.Join(old, "cpu.cfs_quota_us")) { // version 1
		dir, limits = old, [][2]string{{"cpu.cfs_period_us", "50000"}, {"cpu.cfs_quota_us", "7500"}}
	}
	dir, err := os.MkdirTemp(dir, "mylm-speed")
	if err != nil {
		return err
	}
	pid := []byte(strconv.Itoa(worker.cmd.Process.Pid))
	s.t.Cleanup(func() {
		if err := errors.Join(os.WriteFile(filepath.Join(dir, "..", procs), pid, 0), os.Remove(dir)); err != nil {
			s.t.Error(err)
		}
	})
	for _, l := range limits {
		if err := os.WriteFile(filepath.Join(dir, l[0]), []byte(l[1]), 0); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, procs), pid, 0)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// number is one that the environment says, or another.
func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// measure has the runs done, and logs what they took.
func (s *speed) measure(what string, run func(ctx context.Context, id string) error) {
	s.t.Helper()
	before, began, lasted := s.used(), time.Now(), make([]time.Duration, s.runs)
	group, ctx := errgroup.WithContext(s.t.Context())
	group.SetLimit(s.atOnce)
	for i := range s.runs {
		group.Go(func() error {
			began := time.Now()
			defer func() { lasted[i] = time.Since(began) }()
			return run(ctx, fmt.Sprintf("%s-%d", strings.Map(letters, what), i))
		})
	}
	if err := group.Wait(); err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
	took, text := time.Since(began), ""
	for i, after := range s.used() {
		n := time.Duration(0)
		if i < len(before) {
			n = before[i].time
		}
		text += fmt.Sprintf(", %s %.1f ms", after.name, (after.time-n).Seconds()*1000/float64(s.runs))
	}
	slices.Sort(lasted)
	s.t.Logf("%s: %.2f runs/s by the clock; a run takes %v (median); processor time for a run%s", what, float64(s.runs)/took.Seconds(), lasted[len(lasted)/2].Round(100*time.Microsecond), strings.Replace(text, ",", ":", 1))
}

// letters makes an id of a name.
func letters(r rune) rune {
	if 'a' <= r && r <= 'z' {
		return r
	}
	return '-'
}

// usage is what a part has used of the processor.
type usage struct {
	name string
	time time.Duration
}

// used is that of all parts, the test first, which has the model's server in it.
func (s *speed) used() (all []usage) {
	of := func(name string, pids ...int) {
		sum := usage{name: name}
		for _, pid := range pids {
			if used, err := processor(pid); err == nil { // one that has ended counts for its parent
				sum.time += used
			}
		}
		all = append(all, sum)
	}
	of("this process", os.Getpid())
	pids, err := s.database.Processes()
	if err != nil {
		s.t.Fatal(err)
	}
	of("PostgreSQL", pids...)
	of("Temporal", s.temporal.cmd.Process.Pid)
	for _, w := range s.workers {
		of(w.name, w.cmd.Process.Pid)
	}
	return all
}

// here is a run in this process.
func (s *speed) here(recorder agent.Recorder) func(context.Context, string) error {
	c, err := ollama.New(ollama.Options{Host: s.model.URL})
	if err != nil {
		s.t.Fatal(err)
	}
	type input struct {
		Path    string `json:"path"`
		Content string `json:"content"`
	}
	write, err := tools.New("write_file", "Writes a file.", tools.Writes, func(_ context.Context, in input) (tools.Result, error) {
		return tools.Result{Text: "written"}, os.WriteFile(filepath.Join(s.workspace, in.Path), []byte(in.Content), 0o666)
	})
	if err != nil {
		s.t.Fatal(err)
	}
	registry, err := tools.NewRegistry(write)
	if err != nil {
		s.t.Fatal(err)
	}
	a, err := agent.New(agent.Options{Model: c.Model("m", ollama.ModelOptions{}), Tools: registry, Recorder: recorder, Approve: agent.AllowAll})
	if err != nil {
		s.t.Fatal(err)
	}
	return func(ctx context.Context, id string) error {
		var result agent.Result
		for e, err := range a.Run(ctx, &agent.Session{ID: id}, id+" go") {
			if err != nil {
				return err
			}
			if end, ok := e.Payload.(agent.FinalResponse); ok {
				result = end.Result
			}
		}
		return complete(result.StopReason, result.Turns)
	}
}

// there is a run on Temporal.
func (s *speed) there(ctx context.Context, id string) error {
	run, err := s.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: defaultTenant + "/" + id, TaskQueue: queueOf("mylm", defaultTenant)},
		temporal.WorkflowName, temporal.Input{Session: id, Prompt: id + " go", Allow: all})
	if err != nil {
		return err
	}
	var out temporal.Output
	if err := run.Get(ctx, &out); err != nil {
		return err
	}
	return complete(out.StopReason, out.Turns)
}

// complete is an error unless the run is whole.
func complete(reason agent.StopReason, n int) error {
	if reason != agent.StopComplete || n != turns {
		return fmt.Errorf("a run ended as %s after %d turns", reason, n)
	}
	return nil
}

// idle measures a worker that has nothing to do.
func (s *speed) idle(d time.Duration) {
	s.t.Helper()
	before := s.used()
	select {
	case <-time.After(d):
	case <-s.t.Context().Done():
	}
	for i, after := range s.used() {
		share := 100 * (after.time - before[i].time).Seconds() / d.Seconds()
		s.t.Logf("with nothing to do %s takes %.2f%% of a processor", after.name, share)
		if strings.HasPrefix(after.name, "worker") && share > 1 {
			s.t.Errorf("an idle worker takes %.2f%%", share)
		}
	}
}
