package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"

	"mylm/agent"
)

// killing is a test that kills parts of a cluster while runs are under way.
type killing struct {
	*parts
	model *numbering
	runs  []string // their sessions
	kills int
	calm  time.Duration // all are healthy before the next kill

	struck int // calls that may have been under way, at all kills

	mu      sync.Mutex
	started int
	failed  int // commands that started no run, or were not told so
}

// Workers, Temporal and PostgreSQL are killed at random while runs with commands and a tool
// that writes are under way, every fifth of them a plan with two tasks side by side. Each run
// ends with all of its turns; each call was made at most once, and those that are recorded as
// done were made; each reply of the model is recorded once.
//
// MYLM_KILL_RUNS and MYLM_KILL_KILLS say how many of each, MYLM_KILL_SECONDS how long all
// are healthy between two, and MYLM_KILL_SEED repeats the choice.
func TestKilledParts(t *testing.T) {
	k := &killing{}
	for i := range number(t, "MYLM_KILL_RUNS", 20) {
		id := fmt.Sprintf("run-%03d", i)
		if i%5 == 4 {
			id = fmt.Sprintf("plan-%03d", i)
		}
		k.runs = append(k.runs, id)
	}
	k.kills = number(t, "MYLM_KILL_KILLS", 5)
	k.calm = time.Duration(number(t, "MYLM_KILL_SECONDS", 5)) * time.Second
	seed := number(t, "MYLM_KILL_SEED", int(time.Now().Unix()))
	k.parts = newParts(t, "--db-filename", filepath.Join(t.TempDir(), "temporal.db"))
	t.Logf("MYLM_KILL_SEED=%d", seed)
	// A run that nothing disturbs takes a little longer than the calm.
	k.model = newNumbering(t, func() time.Duration { return rand.N(2*k.calm/turns + 1) }, func(n int, session string) (string, any) {
		if n%2 == 1 {
			return "write_file", map[string]string{"path": fmt.Sprintf("call-%d.txt", n), "content": session}
		}
		return "execute_command", map[string]string{"command": fmt.Sprintf("echo begun %d %s >> calls; sleep 0.2; echo ended %d %s >> calls", n, session, n, session)}
	})
	k.add(4, k.model.URL)
	began := time.Now()
	k.work(rand.New(rand.NewPCG(uint64(seed), 0)))
	k.check()
	t.Logf("%d runs and %d kills in %v", len(k.runs), k.kills, time.Since(began).Round(time.Second))
}

// reserve is how much time of the test is left for the runs to end after the last kill.
const reserve = 4 * time.Minute

// work starts the runs, some after each kill, and waits for their ends.
func (k *killing) work(chance *rand.Rand) {
	ctx, cancel := context.WithCancel(k.t.Context())
	due := make(chan string, len(k.runs))
	var starting sync.WaitGroup
	starting.Go(func() {
		for {
			select {
			case id, more := <-due:
				if !more {
					return
				}
				k.begin(ctx, id)
			case <-ctx.Done():
				return
			}
		}
	})
	defer starting.Wait()
	defer cancel()
	var recoveries []time.Duration
	killed, idle, released := map[string]int{}, 0, 0
	for i := range k.kills {
		if end, limited := k.t.Deadline(); limited && time.Until(end) < reserve {
			k.t.Errorf("the time of the test is up after %d kills", i)
			k.runs = k.runs[:released]
			break
		}
		for ; released < len(k.runs)*(i+1)/k.kills; released++ {
			due <- k.runs[released]
		}
		select {
		case <-time.After(k.calm):
		case <-ctx.Done():
			return
		}
		ended := k.ended()
		k.mu.Lock()
		busy := k.started - ended
		k.mu.Unlock()
		if k.struck += 2 * busy; busy == 0 { // a plan may have two calls under way
			idle++
		}
		of := []string{"worker", "temporal", "postgres"}[chance.IntN(3)]
		began := time.Now()
		if err := k.strike(of, chance); err != nil {
			k.t.Fatal(err)
		}
		k.until(k.healthy)
		recoveries = append(recoveries, time.Since(began))
		killed[of]++
		k.t.Logf("kill %d: %s, with %d runs under way and %d at an end; all are healthy after %v", i+1, of, busy, ended, time.Since(began).Round(time.Millisecond))
	}
	for ; released < len(k.runs); released++ {
		due <- k.runs[released]
	}
	close(due)
	starting.Wait()
	last, changed := -1, time.Now()
	for {
		n := k.ended()
		if n == len(k.runs) {
			break
		}
		if n != last {
			last, changed = n, time.Now()
		}
		if time.Since(changed) > 10*time.Minute {
			k.t.Errorf("%d of %d runs end, and none in the last ten minutes", n, len(k.runs))
			break
		}
		<-time.After(200 * time.Millisecond)
	}
	slices.Sort(recoveries)
	if n := len(recoveries); n > 0 {
		k.t.Logf("killed: %v, %d of them with no run under way; all are healthy again after %v (median; at most %v)",
			killed, idle, recoveries[n/2].Round(time.Millisecond), recoveries[n-1].Round(time.Millisecond))
	}
}

// strike kills a part, and starts it again.
func (k *killing) strike(what string, chance *rand.Rand) error {
	if what == "postgres" {
		if err := k.database.Kill(); err != nil {
			return err
		}
		return k.database.Restart()
	}
	s := k.temporal
	if what == "worker" {
		s = k.workers[chance.IntN(len(k.workers))]
	}
	err := s.kill()
	k.start(s)
	return err
}

// begin starts a run by the command, whatever happens meanwhile. If the command fails, the
// run may have begun.
func (k *killing) begin(ctx context.Context, id string) {
	args := []string{"ask", id + " go"}
	if isPlan(id) {
		file := filepath.Join(k.t.TempDir(), "plan.json")
		text := fmt.Sprintf(`{"goal": "%[1]s go", "tasks": [{"id": "a", "description": "%[1]s/a go"}, {"id": "b", "description": "%[1]s/b go"}]}`, id)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			k.t.Error(err)
		}
		args = []string{"agent", "run", "--no-observe", "--no-reflect", "--plan", file}
	}
	args = append(args, "--yes", "--detach", "--quiet", "--session", id)
	for ctx.Err() == nil {
		out, err := exec.CommandContext(ctx, "mylm-cluster", args...).CombinedOutput()
		for err != nil && ctx.Err() == nil {
			_, missing := k.client.DescribeWorkflow(ctx, defaultTenant+"/"+id, "")
			var none *serviceerror.NotFound
			if missing == nil {
				err = nil
			} else if errors.As(missing, &none) {
				break
			}
		}
		k.mu.Lock()
		if err == nil {
			k.started++
		} else if k.failed++; ctx.Err() == nil {
			k.t.Logf("%s is not begun: %v, %s", id, err, out)
		}
		k.mu.Unlock()
		if err == nil {
			return
		}
	}
}

func isPlan(id string) bool { return strings.HasPrefix(id, "plan") }

// ended is how many sessions have an end, as far as PostgreSQL answers.
func (k *killing) ended() (n int) {
	states, err := k.sessions.Count(k.t.Context())
	if err != nil {
		return 0
	}
	for state, count := range states {
		if state != "unfinished" {
			n += count
		}
	}
	return n
}

// calls is what the tool itself has noted about the calls with a number.
type calls struct{ begun, ended int }

// noted reads the tool's file.
func (k *killing) noted() map[int]*calls {
	text, err := os.ReadFile(filepath.Join(k.workspace, "calls"))
	if err != nil {
		k.t.Fatal(err)
	}
	all := map[int]*calls{}
	for line := range strings.Lines(string(text)) {
		var what, session string
		var n int
		if _, err := fmt.Sscan(line, &what, &n, &session); err != nil {
			k.t.Fatalf("the tool has noted %q: %v", line, err)
		}
		if all[n] == nil {
			all[n] = &calls{}
		}
		if what == "begun" {
			all[n].begun++
		} else {
			all[n].ended++
		}
	}
	return all
}

// sums are of all runs.
type sums struct {
	replies, calls, done, unknown, unknownRan, unrun int
	took                                             []time.Duration
}

// check compares what is recorded with what the model and the tool have done.
func (k *killing) check() {
	noted, made, s := k.noted(), k.model.replies(), &sums{}
	replied := map[int]bool{} // in any session
	for _, id := range k.runs {
		if err := k.client.GetWorkflow(k.t.Context(), defaultTenant+"/"+id, "").Get(k.t.Context(), nil); err != nil {
			k.t.Errorf("%s: %v", id, err)
		}
		_, entries, err := k.sessions.Load(k.t.Context(), id)
		if err != nil {
			k.t.Errorf("%s is lost: %v", id, err)
			continue
		}
		if !isPlan(id) {
			k.session(id, id, entries, noted, made, replied, s)
			continue
		}
		if end, ok := entries[len(entries)-1].Payload.(agent.EndEntry); !ok || end.StopReason != agent.StopComplete {
			k.t.Errorf("%s ends: %+v", id, entries[len(entries)-1].Payload)
		}
		tasks, err := tasksOf(k.t.Context(), k.sessions, id)
		if err != nil || len(tasks) != 2 {
			k.t.Errorf("%s has the tasks %+v, %v", id, tasks, err)
		}
		for _, task := range tasks {
			_, entries, err := k.sessions.Load(k.t.Context(), task.Session())
			if err != nil {
				k.t.Errorf("%s: %v", id, err)
			}
			k.session(task.Session(), id+"/"+task.ID, entries, noted, made, replied, s)
		}
	}
	for n, c := range noted {
		if !replied[n] {
			k.t.Errorf("call %d of %v was made, and no reply that asks for it is recorded", n, made[n])
		}
		if c.begun > 1 {
			k.t.Errorf("call %d of %v was made %d times", n, made[n], c.begun)
		}
	}
	if s.took = slices.Sorted(slices.Values(s.took)); len(s.took) > 0 {
		k.t.Logf("a run takes %v (median), at most %v", s.took[len(s.took)/2].Round(time.Millisecond), s.took[len(s.took)-1].Round(time.Millisecond))
	}
	if s.unknown > k.struck {
		k.t.Errorf("the end of %d calls is unknown, and kills have struck %d", s.unknown, k.struck)
	}
	k.t.Logf("%d replies were made, and %d are recorded; of %d calls %d are done, the end of %d is unknown (%d of them began), and %d were not run; %d commands failed to start a run",
		len(made), s.replies, s.calls, s.done, s.unknown, s.unknownRan, s.unrun, k.failed)
}

// session checks one, which the model knows by another name.
func (k *killing) session(id, name string, entries []agent.Entry, noted map[int]*calls, made []reply, replied map[int]bool, s *sums) {
	kinds, turn, called := map[agent.EntryKind]int{}, 0, time.Time{}
	for _, e := range entries {
		kinds[e.Kind()]++
		switch p := e.Payload.(type) {
		case agent.ReplyEntry:
			turn++
			s.replies++
			var n int
			if _, err := fmt.Sscanf(p.Raw, "reply %d:", &n); err != nil {
				k.t.Errorf("%s: turn %d has the reply %q", id, turn, p.Raw)
				continue
			}
			if n >= len(made) || made[n] != (reply{name, turn}) || replied[n] {
				k.t.Errorf("%s: turn %d has reply %d, which is recorded elsewhere (%v) or of another turn", id, turn, n, replied[n])
			}
			replied[n] = true
		case agent.CallEntry:
			called = e.Time
		case agent.ResultEntry:
			s.calls++
			k.result(id, turn, p, e.Time.Sub(called), noted, s)
		case agent.EndEntry:
			if p.StopReason != agent.StopComplete {
				k.t.Errorf("%s ends: %s %s", id, p.StopReason, p.Error)
			}
			s.took = append(s.took, e.Time.Sub(entries[0].Time))
		}
	}
	want := map[agent.EntryKind]int{agent.EntryRun: 1, agent.EntryPrompt: 1, agent.EntryReply: turns, agent.EntryCall: turns - 1, agent.EntryResult: turns - 1, agent.EntryEnd: 1}
	for kind, n := range want {
		if kinds[kind] != n {
			k.t.Errorf("%s has %d entries of the kind %s, and not %d", id, kinds[kind], kind, n)
		}
	}
}

// result checks that of a call, which came some time after it.
func (k *killing) result(id string, turn int, p agent.ResultEntry, after time.Duration, noted map[int]*calls, s *sums) {
	var args struct{ Command, Path string }
	var n int
	err := json.Unmarshal(p.Args, &args)
	if err == nil && args.Path == "" {
		_, err = fmt.Sscanf(args.Command, "echo begun %d", &n)
	} else if err == nil {
		_, err = fmt.Sscanf(args.Path, "call-%d.txt", &n)
	}
	if err != nil {
		k.t.Errorf("%s: the call of turn %d has the arguments %s: %v", id, turn, p.Args, err)
		return
	}
	c := calls{}
	if noted[n] != nil {
		c = *noted[n]
	}
	if _, missing := os.Stat(filepath.Join(k.workspace, args.Path)); args.Path != "" && missing == nil {
		c = calls{1, 1}
		if p.Success && !strings.Contains(p.Text, "a new file") {
			k.t.Errorf("%s: call %d is recorded as the second: %s", id, n, p.Text)
		}
	}
	switch {
	case p.Unknown:
		k.t.Logf("%s: the end of call %d is unknown after %v; it began %d times", id, n, after.Round(time.Millisecond), c.begun)
		s.unknown++
		s.unknownRan += c.begun
	case p.Success:
		s.done++
		if c != (calls{1, 1}) {
			k.t.Errorf("%s: call %d is recorded as done: it began %d times, and ended %d times", id, n, c.begun, c.ended)
		}
	default:
		s.unrun++
		k.t.Logf("%s: call %d: %s", id, n, p.Error)
		if c.begun > 0 {
			k.t.Errorf("%s: call %d is recorded as not run, and was", id, n)
		}
	}
}
