package plan_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"mylm/agent/plan"
)

func task(id string, deps ...string) plan.Task {
	return plan.Task{ID: id, Description: "do " + id, Dependencies: deps}
}

func codes(flaws []plan.Flaw) (all []string) {
	for _, f := range flaws {
		all = append(all, f.Code)
	}
	return all
}

func ids(tasks []plan.Task) (all []string) {
	for _, t := range tasks {
		all = append(all, t.ID)
	}
	return all
}

func TestNewGraph(t *testing.T) {
	tests := []struct {
		name  string
		tasks []plan.Task
		flaws []string
		deps  map[string][]string
		order []string
	}{
		{"chain", []plan.Task{task("a"), task("b", "a")}, nil, map[string][]string{"b": {"a"}}, []string{"a", "b"}},
		{"unknown", []plan.Task{task("a", "x"), task("b", "a")}, []string{plan.UnknownDependency}, map[string][]string{"a": {}}, []string{"a", "b"}},
		{"cycle of two", []plan.Task{task("a", "b"), task("b", "a")}, []string{plan.Cycle}, map[string][]string{"a": {}, "b": {"a"}}, []string{"a", "b"}},
		{"cycle of three", []plan.Task{task("a", "c"), task("b", "a"), task("c", "b")}, []string{plan.Cycle}, map[string][]string{"a": {}}, []string{"a", "b", "c"}},
		{"itself", []plan.Task{task("a", "a")}, []string{plan.Cycle}, map[string][]string{"a": {}}, []string{"a"}},
		{"same id", []plan.Task{task("a"), task("a")}, []string{plan.DuplicateID}, nil, []string{"a", "t2"}},
		{"no id", []plan.Task{task(""), task("")}, nil, nil, []string{"t1", "t2"}},
		{"says nothing", []plan.Task{{ID: "a"}, task("b", "a")}, []string{plan.EmptyTask, plan.UnknownDependency}, map[string][]string{"b": {}}, []string{"b"}},
		{"twice", []plan.Task{task("a"), task("b", "a", "a")}, nil, map[string][]string{"b": {"a"}}, []string{"a", "b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, flaws := plan.NewGraph(tt.tasks)
			if got := codes(flaws); !slices.Equal(got, tt.flaws) {
				t.Errorf("flaws: %v, want %v", flaws, tt.flaws)
			}
			for id, want := range tt.deps {
				if task, _ := g.Task(id); !slices.Equal(task.Dependencies, want) {
					t.Errorf("%s waits for %v, want %v", id, task.Dependencies, want)
				}
			}
			if got := finishAll(t, g); !slices.Equal(got, tt.order) {
				t.Errorf("order: %v, want %v", got, tt.order)
			}
		})
	}
}

// finishAll completes what is ready until nothing is.
func finishAll(t *testing.T, g *plan.Graph) (order []string) {
	t.Helper()
	for ready := g.Ready(); len(ready) > 0; ready = g.Ready() {
		if err := g.Start(ready[0].ID); err != nil {
			t.Fatal(err)
		}
		ready[0].Status = plan.Completed
		g.Finish(ready[0])
		order = append(order, ready[0].ID)
	}
	if !g.Done() {
		t.Errorf("not done: %v", g.Tasks())
	}
	return order
}

func TestTooManyTasks(t *testing.T) {
	many := make([]plan.Task, plan.MaxTasks+3)
	for i := range many {
		many[i] = task(fmt.Sprint("n", i))
	}
	g, flaws := plan.NewGraph(many)
	if len(g.Tasks()) != plan.MaxTasks || !slices.Equal(codes(flaws), []string{plan.TooManyTasks}) {
		t.Errorf("%d tasks, %v", len(g.Tasks()), flaws)
	}
	if flaws := g.Adjust(plan.Adjustment{Add: []plan.Task{task("more")}}); !slices.Equal(codes(flaws), []string{plan.TooManyTasks}) {
		t.Errorf("adjusted: %v", flaws)
	}
}

func TestFailedTasksBlockDependants(t *testing.T) {
	g, _ := plan.NewGraph([]plan.Task{task("a"), task("b", "a"), task("c", "b"), task("d")})
	failed, _ := g.Task("a")
	failed.Status, failed.Error = plan.Failed, "broken"
	if got := g.Finish(failed); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("blocked: %v", got)
	}
	if got := ids(g.Ready()); !slices.Equal(got, []string{"d"}) {
		t.Errorf("ready: %v", got)
	}
	if b, _ := g.Task("b"); b.Status != plan.Blocked || b.Error != "waits for a, which is failed" {
		t.Errorf("b is %+v", b)
	}
	if g.Start("b") == nil {
		t.Error("a blocked task was started")
	}
	if g.Unblock("b") {
		t.Error("b was unblocked while a is failed")
	}
}

func TestUnblockOnce(t *testing.T) {
	g, _ := plan.NewGraph([]plan.Task{task("a"), task("b", "a")})
	for round, want := range []bool{true, false} {
		given, _ := g.Task("a")
		given.Status = plan.Blocked
		g.Finish(given)
		if b, _ := g.Task("b"); b.Status != plan.Blocked {
			t.Fatalf("b is %s", b.Status)
		}
		if got := g.Unblock("a"); got != want {
			t.Errorf("round %d: unblocked: %v", round, got)
		}
	}
}

// TestUnblockAlone: what was given up beside the task that is named stays so.
func TestUnblockAlone(t *testing.T) {
	done := task("a")
	done.Status = plan.Completed
	g, _ := plan.NewGraph([]plan.Task{done, task("b", "a"), task("c", "a"), task("d", "c"), task("e", "b", "d")})
	for _, id := range []string{"b", "c"} {
		given, _ := g.Task(id)
		given.Status = plan.Blocked
		g.Finish(given)
	}
	if !g.Unblock("c") {
		t.Fatal("c was not unblocked")
	}
	want := map[string]plan.Status{"b": plan.Blocked, "c": plan.Pending, "d": plan.Pending, "e": plan.Blocked}
	for id, status := range want {
		if at, _ := g.Task(id); at.Status != status {
			t.Errorf("%s is %s, want %s", id, at.Status, status)
		}
	}
}

// denied is a task at which a person said no.
func denied(id string) plan.Task {
	t := task(id)
	t.Status, t.Metadata = plan.Blocked, map[string]string{"denied": "true"}
	return t
}

func TestDeniedIsNotUnblocked(t *testing.T) {
	g, _ := plan.NewGraph([]plan.Task{denied("a")})
	if g.Unblock("a") {
		t.Error("a was taken up again")
	}
}

// TestDroppedIsUnblockedByName: and not with what it waited for.
func TestDroppedIsUnblockedByName(t *testing.T) {
	g, _ := plan.NewGraph([]plan.Task{task("a"), task("b", "a"), task("c", "b")})
	g.Adjust(plan.Adjustment{Drop: []string{"b"}})
	a, _ := g.Task("a")
	a.Status = plan.Blocked
	g.Finish(a)
	if !g.Unblock("a") {
		t.Fatal("a was not unblocked")
	}
	if b, _ := g.Task("b"); b.Status != plan.Blocked {
		t.Errorf("b is %s", b.Status)
	}
	a.Status = plan.Completed
	g.Finish(a)
	if !g.Unblock("b") {
		t.Error("b was not unblocked")
	}
	if flaws := g.Adjust(plan.Adjustment{Add: []plan.Task{task("d", "b")}}); len(flaws) > 0 {
		t.Errorf("d: %v", flaws)
	}
}

func TestAdjust(t *testing.T) {
	done := task("a")
	done.Status = plan.Completed
	failed := task("f")
	failed.Status = plan.Failed
	given := task("p")
	given.Given = true
	base := []plan.Task{done, task("b", "a"), task("c", "b"), failed, given, denied("n")}
	tests := []struct {
		name   string
		change plan.Adjustment
		flaws  []string
		want   map[string][]string
		status map[string]plan.Status
	}{
		{"add", plan.Adjustment{Add: []plan.Task{task("d", "c")}}, nil, map[string][]string{"b": {"a"}, "c": {"b"}, "d": {"c"}}, nil},
		{"drop hands its dependencies on", plan.Adjustment{Drop: []string{"b"}}, nil, map[string][]string{"c": {"a"}}, map[string]plan.Status{"b": plan.Blocked, "c": plan.Pending}},
		{"all that is to come", plan.Adjustment{Drop: []string{"b", "c"}}, nil, nil, map[string]plan.Status{"b": plan.Blocked, "c": plan.Blocked}},
		{"dropped twice", plan.Adjustment{Drop: []string{"b", "b"}}, []string{plan.NotAdjusted}, nil, map[string]plan.Status{"b": plan.Blocked}},
		{"dropped and said again", plan.Adjustment{Drop: []string{"b"}, Add: []plan.Task{task("b")}}, nil, map[string][]string{"b": {"a"}}, map[string]plan.Status{"b": plan.Pending}},
		{"behind one that is dropped", plan.Adjustment{Drop: []string{"b"}, Add: []plan.Task{task("d", "b", "c")}}, []string{plan.UnknownDependency}, map[string][]string{"d": {"c"}}, map[string]plan.Status{"d": plan.Pending}},
		{"what a person wrote is not dropped", plan.Adjustment{Drop: []string{"p"}}, []string{plan.NotAdjusted}, nil, map[string]plan.Status{"p": plan.Pending}},
		{"nor changed", plan.Adjustment{Add: []plan.Task{{ID: "p", Description: "nothing", Dependencies: []string{"f"}}}}, []string{plan.NotAdjusted}, map[string][]string{"p": {}}, map[string]plan.Status{"p": plan.Pending}},
		{"what was denied is not asked for by another name", plan.Adjustment{Add: []plan.Task{{ID: "d", Description: " Do  n"}}}, []string{plan.NotAdjusted}, nil, map[string]plan.Status{"d": ""}},
		{"what is done stays", plan.Adjustment{Drop: []string{"a"}}, []string{plan.NotAdjusted}, map[string][]string{"a": {}}, nil},
		{"what failed stays", plan.Adjustment{Drop: []string{"f"}}, []string{plan.NotAdjusted}, map[string][]string{"f": {}}, nil},
		{"unknown", plan.Adjustment{Drop: []string{"x"}, Add: []plan.Task{task("d", "y")}}, []string{plan.NotAdjusted, plan.UnknownDependency}, map[string][]string{"d": {}}, nil},
		{"a cycle", plan.Adjustment{Add: []plan.Task{task("d", "c"), task("b", "a", "d")}}, []string{plan.Cycle}, map[string][]string{"b": {"a"}, "c": {"b"}, "d": {"c"}}, nil},
		{"a name taken", plan.Adjustment{Add: []plan.Task{{ID: "a", Description: "another"}}}, []string{plan.DuplicateID}, map[string][]string{"t7": {}}, nil},
		{"done twice", plan.Adjustment{Add: []plan.Task{task("a")}}, []string{plan.NotAdjusted}, nil, nil},
		{"said twice", plan.Adjustment{Add: []plan.Task{task("d", "c"), task("d", "c")}}, nil, map[string][]string{"d": {"c"}}, nil},
		{"behind one that failed", plan.Adjustment{Add: []plan.Task{task("d", "f")}}, nil, map[string][]string{"d": {"f"}}, map[string]plan.Status{"d": plan.Blocked}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, _ := plan.NewGraph(base)
			if got := codes(g.Adjust(tt.change)); !slices.Equal(got, tt.flaws) {
				t.Errorf("flaws: %v, want %v", got, tt.flaws)
			}
			for id, want := range tt.want {
				if task, ok := g.Task(id); !ok || !slices.Equal(task.Dependencies, want) {
					t.Errorf("%s: %v, want %v", id, task.Dependencies, want)
				}
			}
			for id, want := range tt.status {
				if task, _ := g.Task(id); task.Status != want {
					t.Errorf("%s is %s, want %s", id, task.Status, want)
				}
			}
		})
	}
}

// TestRandomGraphs: whatever is given and changed, every task comes to an end,
// after all that it waits for.
func TestRandomGraphs(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		name := func() string { return fmt.Sprint("n", r.IntN(25)) }
		some := func(n int) (tasks []plan.Task) {
			for range n {
				deps := []string{}
				for range r.IntN(4) {
					deps = append(deps, name())
				}
				tasks = append(tasks, task(name(), deps...))
			}
			return tasks
		}
		g, _ := plan.NewGraph(some(20))
		ended := map[string]bool{}
		for steps := 0; ; steps++ {
			ready := g.Ready()
			if again := g.Ready(); !reflect.DeepEqual(ready, again) {
				t.Fatalf("seed %d: the order is not stable", seed)
			}
			if len(ready) == 0 {
				break
			}
			if steps > 200 {
				t.Fatalf("seed %d: no end", seed)
			}
			at := ready[r.IntN(len(ready))]
			for _, d := range at.Dependencies {
				if !ended[d] {
					t.Fatalf("seed %d: %s before %s", seed, at.ID, d)
				}
			}
			if err := g.Start(at.ID); err != nil {
				t.Fatal(err)
			}
			if at.Status = plan.Completed; r.IntN(8) == 0 {
				at.Status = plan.Blocked
			}
			ended[at.ID] = at.Status == plan.Completed
			g.Finish(at)
			if r.IntN(6) == 0 && steps < 60 {
				g.Adjust(plan.Adjustment{Add: some(2), Drop: []string{name()}})
			}
			if r.IntN(10) == 0 {
				g.Unblock(name())
			}
		}
		for _, at := range g.Tasks() {
			if at.Status == plan.Pending || at.Status == plan.InProgress {
				t.Fatalf("seed %d: %s is left %s: %v", seed, at.ID, at.Status, g.Tasks())
			}
		}
	}
}
