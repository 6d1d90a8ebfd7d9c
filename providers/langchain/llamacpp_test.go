//go:build linux

package langchain_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mylm/providers"
	"mylm/providers/internal/ollamatest"
	"mylm/providers/internal/scriptmodel"
	"mylm/providers/langchain"
)

const llamaKey = "sk-llama-0123456789"

// TestLlamaCpp asks llama.cpp's own server, which is not ours to get wrong:
// through the command, and through the package. Package ollamatest says how to
// give it one.
func TestLlamaCpp(t *testing.T) {
	s := ollamatest.StartLlama(t, ollamatest.Agent(true), "--api-key", llamaKey, "--alias", "agent")
	bin := filepath.Join(t.TempDir(), "mylm")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "mylm/cmd/mylm").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	u := &llamaUser{bin: bin, home: t.TempDir()}
	u.vars = []string{"LLAMA_API_KEY=" + llamaKey}
	u.write(t, "work/note.txt", ollamatest.NoteText)
	for _, model := range []string{"llamacpp", "llamacpp/agent"} {
		t.Run("tool call of "+model, func(t *testing.T) {
			u.write(t, "config/mylm/config.toml", "[models.llamacpp]\nprovider = \"llamacpp\"\nbase_url = \""+s.URL+"\"\n")
			stdout, stderr, code := u.run(t, "ask", "-m", model, "--verbose", ollamatest.AskNote)
			if code != 0 || stdout != ollamatest.NoteAnswer+"\n" {
				t.Errorf("exit %d, stdout %q", code, stdout)
			}
			if !strings.Contains(stderr, "> read_file") || !strings.Contains(stderr, ollamatest.NoteText) {
				t.Errorf("no call in %s", stderr)
			}
			if strings.Contains(stdout+stderr, llamaKey) {
				t.Error("the key is shown")
			}
		})
	}
	t.Run("list", func(t *testing.T) {
		stdout, stderr, code := u.run(t, "models", "--provider", "llamacpp")
		if code != 0 || !strings.Contains(stdout, "\nllamacpp/agent ") {
			t.Errorf("exit %d, %q, stderr %s", code, stdout, stderr)
		}
	})
	t.Run("no key", func(t *testing.T) {
		u.vars = nil
		_, stderr, code := u.run(t, "ask", "-m", "llamacpp", "hello")
		if code != 2 || !strings.Contains(stderr, "LLAMA_API_KEY") {
			t.Errorf("exit %d, stderr %s", code, stderr)
		}
	})
	t.Run("package", func(t *testing.T) { llamaPackage(t, s) })
}

// llamaPackage looks at what the command does not show.
func llamaPackage(t *testing.T, s *ollamatest.Server) {
	m := open(t, "llamacpp", langchain.Config{BaseURL: s.URL, Key: llamaKey})
	ask := func(r providers.Request, prompt string) (string, providers.Chunk, error) {
		r.Messages = []providers.Message{{Role: providers.User, Text: prompt}}
		for tries := 1; ; tries++ {
			text, _, last, err := generate(t, m, r)
			// The server may close a kept connection just when it is used again.
			// The loop of the agent asks again then, and so does this.
			if providers.KindOf(err) != providers.Interrupted || tries == 3 {
				return text, last, err
			}
		}
	}
	if text, last, err := ask(providers.Request{}, "hello"); err != nil || text != ollamatest.Greeting || last.Stop != providers.StopEnd || last.Usage.Prompt == 0 || last.Usage.Output == 0 {
		t.Errorf("%q, %+v, %v", text, last, err)
	}
	if _, last, err := ask(providers.Request{MaxTokens: 3}, "hello"); err != nil || last.Stop != providers.StopLength {
		t.Errorf("limited: %+v, %v", last, err)
	}
	var e *providers.Error
	if _, _, err := ask(providers.Request{}, strings.Repeat("x", 1<<16)); !errors.As(err, &e) || e.Kind != providers.Overflow || e.Window != 8192 || e.PromptTokens <= e.Window {
		t.Errorf("overflow: %+v", err)
	}
	// Whoever leaves an endless reply frees the only slot for the next one.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range m.Generate(ctx, providers.Request{Messages: []providers.Message{{Role: providers.User, Text: ollamatest.AskCount}}}) {
		if err != nil && !errors.Is(err, context.Canceled) && providers.KindOf(err) != providers.Interrupted {
			t.Fatal(err)
		}
		cancel()
	}
	if text, _, err := ask(providers.Request{}, "hello"); err != nil || text != ollamatest.Greeting {
		t.Errorf("after leaving: %q, %v", text, err)
	}
}

// TestLlamaCppParser is for a reply that llama.cpp's parser cannot read, whose error
// discards it. With the option that the hint names, the reply comes as it was written.
func TestLlamaCppParser(t *testing.T) {
	const reply = "<|channel|>final"
	// The condition is in the template, by which the server chooses the parser of gpt-oss.
	gptOSS := []scriptmodel.Script{{When: []scriptmodel.Cond{scriptmodel.LastContains("<|channel|>")}}}
	m := &scriptmodel.Model{Jinja: true, Scripts: gptOSS, Default: reply}
	ask := func(args ...string) (string, error) {
		s := ollamatest.StartLlama(t, m, args...)
		text, _, _, err := generate(t, open(t, "llamacpp", langchain.Config{BaseURL: s.URL}), hello)
		return text, err
	}
	_, err := ask()
	checkError(t, err, providers.Error{Kind: providers.ServerFault}, "does not match the expected", "skip-chat-parsing")
	if text, err := ask("--skip-chat-parsing"); text != reply || err != nil {
		t.Errorf("with the option: %q, %v", text, err)
	}
}

// llamaUser is a person with a home of their own.
type llamaUser struct {
	bin, home string
	vars      []string
}

func (u *llamaUser) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(u.home, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func (u *llamaUser) run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, u.bin, args...)
	cmd.Dir = filepath.Join(u.home, "work")
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + u.home, "CI=1", "OLLAMA_HOST=127.0.0.1:1",
		"XDG_CONFIG_HOME=" + filepath.Join(u.home, "config"), "XDG_DATA_HOME=" + filepath.Join(u.home, "data"),
	}, u.vars...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}
