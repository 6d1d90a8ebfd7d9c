package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"mylm/agent"
	"mylm/agent/journal"
	"mylm/providers/ollama"
	"mylm/tools"
	"mylm/tools/files"
)

// A thousand runs at once in one process, each with a conversation over the wire
// of its own, a tool that reads a file, and a session that is kept: all answer,
// and nothing of them is left.
func TestThousandRuns(t *testing.T) {
	slow(t)
	const runs = 1000
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "note.txt"), []byte("meet at noon\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := newPlaced(t, "I look.\n"+readCall("note.txt"), "It says when to meet.")
	read, err := files.ReadFile(files.Options{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(read)
	if err != nil {
		t.Fatal(err)
	}
	store := journal.New(filepath.Join(inMemory(t), "sessions"))
	goroutines, descriptors := runtime.NumGoroutine(), openFiles(t)

	client, err := ollama.New(ollama.Options{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(agent.Options{Model: client.Model("m", ollama.ModelOptions{}), Tools: registry, Recorder: store})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	failed := together(t.Context(), a, runs)
	took := time.Since(start)
	for _, err := range failed[:min(5, len(failed))] {
		t.Error(err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	client.Close()
	all, err := store.List(t.Context(), journal.Filter{})
	if err != nil || len(all) != runs {
		t.Errorf("%d sessions were kept, %v", len(all), err)
	}
	eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines && openFiles(t) <= descriptors })
	t.Logf("%d runs in %v, %v each", runs, took, took/runs)
}

// together runs an agent many times at once, and returns what went wrong.
func together(ctx context.Context, a *agent.Agent, runs int) (failed []error) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	begin := make(chan struct{})
	for range runs {
		wg.Go(func() {
			<-begin
			r, err := a.Ask(ctx, "When do we meet?")
			if err == nil && (r.Response != "It says when to meet." || len(r.Calls) != 1) {
				err = fmt.Errorf("ended as %s with %q and %d calls", r.StopReason, r.Response, len(r.Calls))
			}
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, err)
			}
		})
	}
	close(begin)
	wg.Wait()
	return failed
}

// inMemory is a directory that is on no disk, if there is one: a run waits for
// the disk a few times, and a thousand would wait for nothing else.
func inMemory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "mylm-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// openFiles is how many descriptors this process has.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
