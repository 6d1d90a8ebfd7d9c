package plan_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofrs/flock"

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

// Plans that are kept at the same time are all kept, a file of the format before is
// read, and one of a later version is left alone.
func TestCacheAtOnce(t *testing.T) {
	c := plan.Cache{Path: filepath.Join(t.TempDir(), "plans.json")}
	before := `[{"key": "old", "tasks": [{"id": "t1", "description": "x", "status": "pending", "dependencies": []}]}]`
	if err := os.WriteFile(c.Path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			if err := c.Put(fmt.Sprint(i), []plan.Task{task("a")}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, key := range []string{"old", "0", "39", "17"} {
		if tasks, ok, err := c.Get(key); !ok || err != nil || len(tasks) != 1 {
			t.Errorf("%s: %v, %v, %v", key, tasks, ok, err)
		}
	}
	if n, err := c.Clear(); n != 41 || err != nil {
		t.Errorf("%d plans, %v", n, err)
	}
	newer := `{"version": 99, "plans": []}`
	if err := os.WriteFile(c.Path, []byte(newer), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Put("x", []plan.Task{task("a")}); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("a later version: %v", err)
	}
	if b, err := os.ReadFile(c.Path); string(b) != newer || err != nil {
		t.Errorf("it holds %s, %v", b, err)
	}
}

// Plans that another process has locked are waited for, but not for ever.
func TestCacheLockedByAnother(t *testing.T) {
	c := plan.Cache{Path: filepath.Join(t.TempDir(), "plans.json")}
	lock := flock.New(c.Path + ".lock")
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	defer time.AfterFunc(time.Minute, func() { _ = lock.Unlock() }).Stop() // else a wait without an end would hang
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		err := c.Put("x", []plan.Task{task("a")})
		if err == nil || !strings.Contains(err.Error(), "locked by another process") || time.Since(start) != 10*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}
