package temporal_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"mylm/agent"
	"mylm/agent/durable/temporal"
	"mylm/agent/journal"
	"mylm/providers"
	"mylm/tools"
)

// TestMain is also the worker of TestServerKilled, a process of its own.
func TestMain(m *testing.M) {
	if address := os.Getenv("MYLM_TEST_WORKER"); address != "" {
		if err := mortal(address, files(os.Getenv("MYLM_TEST_DIR"))); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// Workers are killed in a model call, and in a call that writes, after it has written. The
// run ends, the call was made once, and the model was told that its end is unknown.
func TestServerKilled(t *testing.T) {
	s, dir := server(t, client.Options{}), files(t.TempDir())
	run := start(t, s.Client(), temporal.Input{Session: "s", Prompt: "go", Allow: tools.Writes})
	for life := 1; ; life++ {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "MYLM_TEST_WORKER="+s.FrontendHostPort(), "MYLM_TEST_DIR="+string(dir))
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if life <= 2 {
			if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
				t.Fatalf("life %d ended by itself: %v", life, err)
			}
			continue
		}
		var out temporal.Output
		err := run.Get(t.Context(), &out)
		if failed := cmd.Process.Kill(); failed != nil {
			t.Error(failed)
		}
		_ = cmd.Wait() // it was killed
		if err != nil || out.StopReason != agent.StopComplete {
			t.Errorf("%+v, %v", out, err)
		}
		break
	}
	wrote, err := os.ReadFile(filepath.Join(string(dir), "written"))
	if err != nil || string(wrote) != "x\n" {
		t.Errorf("written: %q, %v", wrote, err)
	}
	session, err := dir.Open(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	unknown, replies := 0, 0
	for _, e := range session.Entries() {
		switch p := e.Payload.(type) {
		case agent.ResultEntry:
			if p.Unknown {
				unknown++
			}
		case agent.ReplyEntry:
			replies++
		}
	}
	if unknown != 1 || replies != 2 {
		t.Errorf("%d results unknown, %d replies", unknown, replies)
	}
}

// mortal is a worker that is killed in its first model call, and in its first call of the
// tool.
func mortal(address string, dir files) error {
	write, err := tools.New("write", "Writes.", tools.Writes, func(_ context.Context, i in) (tools.Result, error) {
		err := dir.add("written", i.Text)
		dir.die("tool")
		return tools.Result{Text: "written"}, err
	})
	if err != nil {
		return err
	}
	write.Effect = func(json.RawMessage) tools.Effect { // as that of write_file, which has nothing to do any more
		if _, err := os.Stat(filepath.Join(string(dir), "written")); err == nil {
			return tools.Reads
		}
		return tools.Writes
	}
	registry, err := tools.NewRegistry(write)
	if err != nil {
		return err
	}
	runs, err := temporal.New(agent.Options{Model: dir, Tools: registry}, dir)
	if err != nil {
		return err
	}
	c, err := client.Dial(client.Options{HostPort: address})
	if err != nil {
		return err
	}
	w := worker.New(c, "agents", worker.Options{})
	runs.Register(w)
	return w.Run(worker.InterruptCh())
}

// files is a store, and what workers leave, in a directory, for one worker at a time.
type files string

// die kills the process, once for each reason.
func (d files) die(reason string) {
	if _, err := os.Stat(filepath.Join(string(d), reason)); err == nil {
		return
	}
	if d.add(reason, "") == nil {
		if p, err := os.FindProcess(os.Getpid()); err == nil && p.Kill() == nil {
			select {}
		}
	}
}

func (d files) add(name, line string) error {
	f, err := os.OpenFile(filepath.Join(string(d), name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(line + "\n")
	return err
}

func (d files) Generate(_ context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		d.die("model")
		text := call("write", "x")
		if last := r.Messages[len(r.Messages)-1]; strings.Contains(last.Text, "outcome is unknown") {
			text = "I was told."
		}
		yield(providers.Chunk{Text: text, Stop: providers.StopEnd}, nil)
	}
}

func (d files) Append(_ context.Context, e agent.Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return d.add("session", string(line))
}

func (d files) Open(context.Context, string) (*agent.Session, error) {
	f, err := os.Open(filepath.Join(string(d), "session"))
	if os.IsNotExist(err) {
		return nil, journal.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var entries []agent.Entry
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e agent.Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return agent.LoadSession("s", entries)
}
