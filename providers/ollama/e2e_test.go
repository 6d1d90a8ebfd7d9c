//go:build linux

package ollama_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"mylm/providers/internal/ollamatest"
)

// slots is how many replies a server gives at once. One would do, but Ollama 0.32.15
// can lose a slot when a client leaves (https://github.com/ollama/ollama/issues/17131):
// the goroutine that reads from the runner (server/routes.go, ch <- res) waits for ever
// if the one that writes to the client has ended between its look at the context and the
// send. On a busy machine an exam in all forms, with 1,260 requests, loses more of them.
const (
	slots     = "OLLAMA_NUM_PARALLEL=4"
	examSlots = "OLLAMA_NUM_PARALLEL=32"
)

// TestEndToEnd asks real servers through the mylm command. Package ollamatest
// says how to give it one.
func TestEndToEnd(t *testing.T) {
	// One slot: an abandoned reply that still ran would block all that follows.
	s := ollamatest.Start(t, slots)
	for name, native := range templates {
		s.Create(t, name, ollamatest.Agent(native))
		s.Create(t, "thinker-"+name, ollamatest.Thinker(native))
	}
	s.Create(t, "embed", ollamatest.Embedder())
	e := &endToEnd{server: s, bin: buildCommand(t)}

	for _, tt := range []struct {
		name string
		test func(*testing.T, string)
	}{
		{"Tools", e.tools},
		{"Serve", e.serve},
		{"TagsInArguments", e.tagsInArguments},
		{"StoppedAtCall", e.stoppedAtCall},
		{"Overflow", e.overflow},
		{"Memory", e.memory},
		{"Flags", e.flags},
		{"Thought", e.thought},
		{"VerboseThought", e.verboseThought},
		{"LongInput", e.longInput},
		{"Interrupt", e.interrupt},
		{"RunnerDiesOnce", e.runnerDiesOnce},
		{"RunnerDies", e.runnerDies},
		{"ServerDies", e.serverDies},
	} {
		for model := range templates {
			t.Run(tt.name+"/"+model, func(t *testing.T) { tt.test(t, model) })
		}
	}
	t.Run("Stutter", e.stutter)
	t.Run("Embedder", e.embedder)
	t.Run("Misspelt", e.misspelt)
	t.Run("SeveralModels", e.severalModels)
	t.Run("FirstRun", e.firstRun)
	t.Run("Pull", e.pull)
	t.Run("PullFails", e.pullFails)
	t.Run("NoServer", e.noServer)
	t.Run("Refusals", e.refusals)
	t.Run("FailsAfterCall", e.failsAfterCall)
	t.Run("Hosts", e.hosts)
	t.Run("HTTPS", e.https)
}

// endToEnd is what the tests share: the command and a server with every model.
type endToEnd struct {
	server *ollamatest.Server
	bin    string
}

// buildCommand compiles mylm.
func buildCommand(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "mylm")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "mylm/cmd/mylm").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// user is a person with a home of their own and OLLAMA_HOST set to host.
func (e *endToEnd) user(t *testing.T, host string) *person {
	t.Helper()
	home := t.TempDir()
	p := &person{bin: e.bin, dir: filepath.Join(home, "work"), env: []string{
		"PATH=" + os.Getenv("PATH"), "TERM=xterm", "CI=", "OLLAMA_HOST=" + host, "HOME=" + home,
		"XDG_CONFIG_HOME=" + filepath.Join(home, "config"),
		"XDG_DATA_HOME=" + filepath.Join(home, "data"),
		"XDG_CACHE_HOME=" + filepath.Join(home, "cache"),
		"XDG_STATE_HOME=" + filepath.Join(home, "state"),
	}}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return p
}

// watched is a user whose requests to the shared server are recorded.
func (e *endToEnd) watched(t *testing.T) (*person, *recorder) {
	t.Helper()
	r := record(t, e.server.URL)
	return e.user(t, r.URL), r
}
