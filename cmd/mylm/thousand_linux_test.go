package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mylm/agent"
	"mylm/agent/journal"
	"mylm/providers"
	"mylm/providers/langchain"
	"mylm/providers/ollama"
	"mylm/tools"
	"mylm/tools/files"
)

// Two thousand runs at once in one process, each with a conversation over the
// wire, a tool that reads a file, and a session that is kept: all answer, nothing
// of them is left, and Ollama's wire takes about what OpenAI's takes. The memory
// is that of the servers too.
func TestThousandRuns(t *testing.T) {
	slow(t)
	const runs, rounds, maxMemory, minRatio = 2000, 3, 600 << 20, 0.7
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "note.txt"), []byte("meet at noon\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	call, answer := "I look.\n"+readCall("note.txt"), "It says when to meet."
	server, other := newPlaced(t, call, answer), httptest.NewServer(speaksOpenAI(call, answer))
	t.Cleanup(other.Close)
	read, err := files.ReadFile(files.Options{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(read)
	if err != nil {
		t.Fatal(err)
	}
	goroutines, descriptors := runtime.NumGoroutine(), openFiles(t)

	// measure is how long all runs take.
	measure := func(model providers.Model) time.Duration {
		store := journal.New(filepath.Join(inMemory(t), "sessions"))
		a, err := agent.New(agent.Options{Model: model, Tools: registry, Recorder: store})
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
		if all, err := store.List(t.Context(), journal.Filter{}); err != nil || len(all) != runs {
			t.Errorf("%d sessions were kept, %v", len(all), err)
		}
		return took
	}
	var ratios []float64
	for range rounds {
		client, err := ollama.New(ollama.Options{Host: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		forgetPeak(t)
		took := measure(client.Model("m", ollama.ModelOptions{}))
		peak := peakMemory(t)
		client.Close()
		if peak > maxMemory {
			t.Errorf("%d runs at once take %d MB", runs, peak>>20)
		}
		eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines && openFiles(t) <= descriptors })
		m, err := langchain.Open("openai", langchain.Config{Model: "m", BaseURL: other.URL + "/v1", Key: "key-of-the-test"})
		if err != nil {
			t.Fatal(err)
		}
		otherTook := measure(m)
		m.Close()
		eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines && openFiles(t) <= descriptors })
		ratios = append(ratios, otherTook.Seconds()/took.Seconds())
		t.Logf("%d runs in %v and %d MB; %v over OpenAI's wire", runs, took, peak>>20, otherTook)
	}
	if best := slices.Max(ratios); best < minRatio { // another process may have had the processor
		t.Errorf("Ollama's wire has %.2f of the throughput of OpenAI's", best)
	}
}

// speaksOpenAI is a server that sends a call, and an answer once it is shown an
// observation.
func speaksOpenAI(call, answer string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		text := call
		if bytes.Contains(body, []byte(`"assistant"`)) {
			text = answer
		}
		quoted, _ := json.Marshal(text)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":%s}}]}\n\n", quoted)
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5}}\n\ndata: [DONE]\n\n")
	})
}

// forgetPeak resets peakMemory.
func forgetPeak(t *testing.T) {
	t.Helper()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Skip("the peak of the memory cannot be measured:", err)
	}
}

// peakMemory is the peak memory of this process.
func peakMemory(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	var kib int64
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(after, &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// together runs an agent many times at once, and returns the errors.
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
