package plan_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"mylm/agent/plan"
)

func TestCache(t *testing.T) {
	c := plan.Cache{Path: filepath.Join(t.TempDir(), "deep", "plans.json")}
	key := func(i int) string { return plan.CacheKey(fmt.Sprint("goal ", i), "m", []string{"a", "b"}) }
	if _, ok, err := c.Get(key(0)); ok || err != nil {
		t.Fatalf("an empty cache: %v, %v", ok, err)
	}
	done := task("a")
	done.Status, done.Result = plan.Completed, "secret"
	for i := range plan.Cached {
		if err := c.Put(key(i), []plan.Task{done, task("b", "a")}); err != nil {
			t.Fatal(err)
		}
	}
	tasks, ok, err := c.Get(key(0)) // which is then the one used last
	if !ok || err != nil || len(tasks) != 2 || tasks[0].Status != plan.Pending || tasks[0].Result != "" || tasks[1].Dependencies[0] != "a" {
		t.Fatalf("%+v, %v, %v", tasks, ok, err)
	}
	if err := c.Put(key(plan.Cached), []plan.Task{task("x")}); err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]bool{0: true, 1: false, 2: true, plan.Cached: true} {
		if _, ok, _ := c.Get(key(i)); ok != want {
			t.Errorf("plan %d is there: %v", i, ok)
		}
	}
	foreign := task("f")
	foreign.Metadata = map[string]string{"tainted": "true"}
	if err := c.Put(key(-1), []plan.Task{task("x"), foreign}); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := c.Get(key(-1)); ok {
		t.Error("a plan that rests on what strangers wrote was kept")
	}
	if err := c.Forget(key(2)); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := c.Get(key(2)); ok {
		t.Error("a plan that was to be forgotten is there")
	}
	if info, err := os.Stat(c.Path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	large := task("large")
	large.Description = strings.Repeat("x", plan.MaxCached)
	if err := c.Put("large", []plan.Task{large}); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := c.Get("large"); ok {
		t.Error("a plan is kept however large it is")
	}
	for want := plan.Cached - 1; want >= 0; want -= plan.Cached - 1 { // and nothing is left of them
		if n, err := c.Clear(); n != want || err != nil {
			t.Errorf("%d plans are removed, %v; want %d", n, err, want)
		}
		if _, err := os.Stat(c.Path); !os.IsNotExist(err) {
			t.Errorf("the file is there: %v", err)
		}
	}
	if err := os.WriteFile(c.Path, []byte("["), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := c.Get(key(0)); ok || err != nil {
		t.Errorf("a damaged file: %v, %v", ok, err)
	}
	if plan.CacheKey("g", "m", []string{"b", "a"}) != plan.CacheKey("g", "m", []string{"a", "b"}) || plan.CacheKey("g", "m", nil) == plan.CacheKey("g", "n", nil) {
		t.Error("keys")
	}
}

func TestMermaid(t *testing.T) {
	want := "flowchart TD\n    n1[\"a b: say &quot;hi&quot;\"]\n    n2[\"c: do c\"]\n    n1 --> n2\n"
	if got := plan.Mermaid([]plan.Task{{ID: "a b", Description: `say "hi"`}, task("c", "a b")}); got != want {
		t.Errorf("%s", got)
	}
}
