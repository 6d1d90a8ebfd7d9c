package langchain_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mylm/providers"
	"mylm/providers/langchain"
	"mylm/providers/providerstest"
)

// The tests' own binary is the local program: its first argument says which.
func init() {
	// The race detector has every program wait for a second at its end.
	if err := os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0"); err != nil || len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case "local-script":
		playScript(os.Args[2])
	case "local-echo":
		in, _ := io.ReadAll(os.Stdin)
		fmt.Printf("%q %q", os.Args[2:], in)
	case "local-fail":
		fmt.Print(os.Args[2])
		fmt.Fprint(os.Stderr, strings.Repeat("noise ", 1000)+"out of\nmemory")
		os.Exit(3)
	case "local-family", "local-orphan":
		child := exec.Command(os.Args[0], "local-hold", os.Args[2])
		child.Stdout = os.Stdout
		up, err := child.StderrPipe()
		if err != nil || child.Start() != nil {
			os.Exit(1)
		}
		_, _ = up.Read(make([]byte, 1)) // it would die before it is connected
		fmt.Print("one ")
		if os.Args[1] == "local-family" {
			_ = child.Wait()
		}
	case "local-hold":
		if c, err := net.Dial("tcp", os.Args[2]); err == nil {
			fmt.Fprint(os.Stderr, "!")
			_, _ = c.Read(make([]byte, 1)) // until killed
		}
	case "local-flood":
		signal.Ignore(syscall.SIGPIPE) // nor does it mind that nobody listens
		for b, err := make([]byte, 1<<20), error(nil); err == nil; {
			_, err = os.Stdout.Write(b)
		}
		time.Sleep(time.Hour)
	default:
		if strings.HasPrefix(os.Args[1], "-test.") {
			return
		}
		os.Exit(2) // a program called wrongly must not run the tests, which call it again
	}
	os.Exit(0)
}

// playScript prints what the suite wants.
func playScript(coded string) {
	b, _ := base64.StdEncoding.DecodeString(coded)
	var r providerstest.Reply
	if json.Unmarshal(b, &r) != nil {
		os.Exit(1)
	}
	for _, text := range r.Text {
		fmt.Print(text)
	}
	switch {
	case r.Hang:
		time.Sleep(time.Hour)
	case r.Cut, r.Fail == providers.Interrupted:
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Kill()
		time.Sleep(time.Hour)
	case r.Fail != "":
		os.Exit(1)
	}
}

func openLocal(t *testing.T, args string) *langchain.Model {
	t.Helper()
	return open(t, "local", langchain.Config{Settings: map[string]string{"bin": os.Args[0], "args": args}})
}

func TestLocalConformance(t *testing.T) {
	providerstest.Run(t, providerstest.Backend{
		Open: func(t *testing.T, r providerstest.Reply) providerstest.Rig {
			if len(r.Text) > 1000 { // an argument has room for that much
				r.Text = []string{strings.Join(r.Text, "")}
			}
			if r.Stop == providers.StopLength {
				t.Skip("a program does not tell why it ended")
			}
			b, _ := json.Marshal(r)
			return providerstest.Rig{Model: openLocal(t, "local-script "+base64.StdEncoding.EncodeToString(b))}
		},
		NoSeed: true,
		Fails:  []providers.Kind{providers.ServerFault, providers.Interrupted},
		Breaks: []providers.Kind{providers.Interrupted},
	})
}

// TestLocalInput holds how the conversation reaches the program.
func TestLocalInput(t *testing.T) {
	const flat = "s\n\nUser: q\n\nAssistant: call\n\nUser: observation\n\nUser: more\n\nAssistant:"
	tests := []struct{ args, want string }{
		{`local-echo`, fmt.Sprintf("%q %q", []string{}, flat)},
		{`local-echo  -m 'a  b' "" x"y z"`, fmt.Sprintf("%q %q", []string{"-m", "a  b", "", "xy z"}, flat)},
		{`local-echo -p {prompt} $HOME`, fmt.Sprintf("%q %q", []string{"-p", flat, "$HOME"}, "")},
		{`local-echo --prompt="{prompt}"`, fmt.Sprintf("%q %q", []string{"--prompt=" + flat}, "")},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			m := openLocal(t, tt.args)
			for range 2 { // nothing of a call stays for the next
				text, _, last, err := generate(t, m, providers.Request{Messages: conversation})
				if err != nil || text != tt.want || last.Stop != providers.StopEnd {
					t.Fatalf("%s, %v\nwant %s", text, err, tt.want)
				}
			}
		})
	}
}

func TestLocalFaults(t *testing.T) {
	warm := 0.5
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, bin, args string
		r               providers.Request
		want            providers.Error
		says, hints     string
	}{
		{"fails", os.Args[0], `local-fail ""`, hello, providers.Error{Kind: providers.ServerFault}, "exit status 3: ", "by hand"},
		{"fails after half", os.Args[0], "local-fail half", hello, providers.Error{Kind: providers.Interrupted}, "noise out of memory", "by hand"},
		{"no such name", "no-such-program", "", hello, providers.Error{Kind: providers.Unreachable, Permanent: true}, "not found", "bin"},
		{"no such path", filepath.Join(here, "no-such-program"), "", hello, providers.Error{Kind: providers.Unreachable, Permanent: true}, "no-such-program", "bin"},
		{"no program", filepath.Join(here, "doc.go"), "", hello, providers.Error{Kind: providers.Unreachable, Permanent: true}, "doc.go", "bin"},
		{"temperature", os.Args[0], "local-echo", providers.Request{Messages: hello.Messages, Temperature: &warm}, providers.Error{Kind: providers.BadRequest, Permanent: true}, "temperature", "param:temperature"},
		{"limit", os.Args[0], "local-echo", providers.Request{Messages: hello.Messages, MaxTokens: 3}, providers.Error{Kind: providers.BadRequest, Permanent: true}, "limit", "param:max_tokens"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := open(t, "local", langchain.Config{Settings: map[string]string{"bin": tt.bin, "args": tt.args}})
			_, _, _, err := generate(t, m, tt.r)
			checkError(t, err, tt.want, tt.says, tt.hints)
		})
	}
}

// TestLocalFlood holds that a program that does not stop is stopped.
func TestLocalFlood(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, err := range openLocal(t, "local-flood").Generate(ctx, hello) {
		if err != nil {
			checkError(t, err, providers.Error{Kind: providers.ServerFault, Permanent: true}, "8 MiB", "by hand")
			return
		}
	}
	t.Error("a flood passed for a reply")
}

// TestLocalLeavesNothing holds that what the program started dies with the
// call: when the caller leaves, and when the program ends by itself.
func TestLocalLeavesNothing(t *testing.T) {
	for _, program := range []string{"local-family", "local-orphan"} {
		t.Run(program, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			held := make(chan net.Conn, 1)
			go func() {
				if c, err := l.Accept(); err == nil {
					held <- c
				}
			}()
			var child net.Conn
			for c, err := range openLocal(t, program+" "+l.Addr().String()).Generate(ctx, hello) {
				switch {
				case program == "local-orphan" && err != nil:
					if providers.KindOf(err) != providers.Interrupted {
						t.Errorf("ended with %v, want it called interrupted", err)
					}
				case err != nil && !errors.Is(err, context.Canceled):
					t.Fatal(err)
				case c.Text == "one ":
					select {
					case child = <-held:
					case <-ctx.Done():
						t.Fatal("the child does not run")
					}
					if program == "local-family" {
						cancel()
					}
				}
			}
			if child == nil {
				t.Fatal("the program said nothing")
			}
			defer child.Close()
			_ = child.SetReadDeadline(time.Now().Add(time.Minute))
			if _, err := child.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the child lives on")
			}
		})
	}
}

func TestLocalConfig(t *testing.T) {
	tests := []struct {
		name string
		c    langchain.Config
		says string
	}{
		{"no program", langchain.Config{}, "needs bin"},
		{"relative", langchain.Config{Settings: map[string]string{"bin": "./model"}}, "current folder"},
		{"below", langchain.Config{Settings: map[string]string{"bin": "bin/model"}}, "current folder"},
		{"open quote", langchain.Config{Settings: map[string]string{"bin": "model", "args": "-p 'x"}}, "not closed"},
		{"address", langchain.Config{BaseURL: "http://localhost:1", Settings: map[string]string{"bin": "model"}}, "neither address"},
		{"key", langchain.Config{Key: testKey, Settings: map[string]string{"bin": "model"}}, "neither address"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := langchain.Open("local", tt.c)
			if providers.KindOf(err) != providers.BadRequest || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want %q", err, tt.says)
			}
		})
	}
	if _, err := langchain.Open("local", langchain.Config{Settings: map[string]string{"bin": "modèle"}}); err != nil {
		t.Errorf("a name with an accent: %v", err)
	}
}

// TestLocalCharacters holds that a character is not cut, however it arrives.
func TestLocalCharacters(t *testing.T) {
	want := strings.Repeat("aß終🎉", 100_000)
	dir := t.TempDir()
	file := filepath.Join(dir, "reply")
	if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Skip("needs cat")
	}
	m := open(t, "local", langchain.Config{Settings: map[string]string{"bin": cat, "args": "'" + file + "'"}})
	got, pieces := "", 0
	for c, err := range m.Generate(t.Context(), hello) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.ToValidUTF8(c.Text, "") != c.Text {
			t.Fatalf("a piece of %d bytes cuts a character", len(c.Text))
		}
		got, pieces = got+c.Text, pieces+1
	}
	if got != want || pieces < 3 {
		t.Errorf("%d bytes in %d pieces, want %d in several", len(got), pieces, len(want))
	}
}
