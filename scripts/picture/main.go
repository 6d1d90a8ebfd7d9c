// Picture records what people see of mylm in a terminal, as pictures for the
// documentation:
//
//	go run ./scripts/picture          # all of them, into docs/
//	go run ./scripts/picture chat     # one
//
// Each scene is played by a shell in a pseudo-terminal, in a small project made
// for it, with mylm built from this checkout and a HOME in which mylm has run
// once. Somebody types, waits for what should appear, and goes on; a terminal
// emulator turns the bytes into screens. A picture moves as the screen did, with
// pauses of at most a second, and shows its last screen to who wants no motion.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// scene is one picture. In a step, "> text" types a line, "wait TEXT" waits until
// the screen shows it, "key NAME" presses a key, and "read" gives the reader time.
type scene struct {
	columns, rows int
	steps         []string
	files         map[string]string // beside those of the project
}

var project = map[string]string{
	"README.md": "# Parser\n\nParser reads invoices and writes one line of JSON for each.\n",
	"main.go":   "package main\n\nfunc main() { run() }\n",
	"parser.go": "package main\n\n" + strings.Repeat("// A line of the parser.\n", 40) +
		"const timeout = 10 // seconds\n",
	"docs/format.md": "# Format\n",
}

var scenes = map[string]scene{
	"run": {92, 27, []string{
		`> mylm ask -m demo "which of these files is the largest?"`, "wait bytes).\n$", "read",
		`> mylm ask -m demo "remember that the staging host is called heron"`, "wait is called heron.\n$", "read",
		`> mylm ask -m demo "which host is staging?"`, "wait ): the staging host is called heron", "read",
		"> mylm ask -m demo 'run `wc -l parser.go`'", "wait That is all of it.\n$", "read",
	}, nil},
	"chat": {92, 23, []string{
		"> mylm chat -m demo", "wait \n>", "read",
		"> what is this project about?", "wait one line of JSON", "read",
		"> how many lines are in parser.go?", "wait lines.", "read",
		"> and which file is the largest?", "wait bytes)", "read",
	}, nil},
	"approval": {92, 26, []string{
		"> mylm chat -m scripted/replies.txt", "wait \n>", "read",
		"> a minute is the usual timeout: set that", "wait [y] once", "read", "read",
		"key y", "wait 60 seconds now", "read",
	}, map[string]string{"replies.txt": `=== reply chunk=6
I look where it is set.

<tool_code><name>search_files</name><parameters>{"pattern":"timeout"}</parameters></tool_code>
=== reply chunk=6
<tool_code><name>edit_file</name><parameters>{"path":"parser.go","old":"const timeout = 10 // seconds","new":"const timeout = 60 // seconds"}</parameters></tool_code>
=== reply chunk=6
The timeout in ` + "`parser.go`" + ` is 60 seconds now. /undo takes that back.
`}},
	"plan": {92, 21, []string{
		`> mylm agent run -m demo "list the files in docs, then count the lines of parser.go, then list the files here"`, "wait \n$", "read",
	}, nil},
}

func main() {
	log.SetFlags(0)
	flag.Parse()
	names := flag.Args()
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(scenes))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	bin, err := os.MkdirTemp("", "picture")
	if err != nil {
		log.Fatal(err)
	}
	err = all(ctx, bin, names)
	_ = os.RemoveAll(bin)
	if err != nil {
		log.Fatal(err)
	}
}

func all(ctx context.Context, bin string, names []string) error {
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(bin, "mylm"), "./cmd/mylm").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	for _, name := range names {
		s, ok := scenes[name]
		if !ok {
			return fmt.Errorf("there is no scene %q, but %q", name, slices.Sorted(maps.Keys(scenes)))
		}
		frames, err := play(ctx, bin, s)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join("docs", name+".svg"), []byte(svg(frames, s.columns, s.rows)), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// play makes the project of a scene, plays the scene in it and returns what was
// on the screen.
func play(ctx context.Context, bin string, s scene) ([]frame, error) {
	home, err := os.MkdirTemp("", "home")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	dir := filepath.Join(home, "parser")
	files := maps.Clone(project)
	maps.Copy(files, s.files)
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	env := []string{"HOME=" + home, "PATH=" + bin + ":" + os.Getenv("PATH"), "TERM=xterm-256color", "COLORTERM=truecolor",
		"LANG=C.UTF-8", "SHELL=/bin/sh", "PS1=$ ", "MYLM_MODEL=demo", "OLLAMA_HOST=127.0.0.1:1"}
	first := exec.CommandContext(ctx, filepath.Join(bin, "mylm"), "ask", "-m", "demo", "run `true`") // it tells about memory, sessions and the sandbox, once
	first.Dir, first.Env = dir, env
	if out, err := first.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	shell := exec.CommandContext(ctx, "bash", "--norc", "--noprofile")
	shell.Dir, shell.Env = dir, env
	t, err := start(shell, s.columns, s.rows)
	if err != nil {
		return nil, err
	}
	defer t.close()
	if err := t.wait(ctx, "$"); err != nil {
		return nil, err
	}
	for _, step := range s.steps {
		what, text, _ := strings.Cut(step, " ")
		switch what {
		case ">":
			err = t.enter(ctx, text)
		case "key":
			err = t.press(text)
		case "wait":
			err = t.wait(ctx, text)
		default:
			err = t.pause(ctx, reading)
		}
		if err != nil {
			return nil, err
		}
	}
	return t.recorded(), nil
}

const (
	reading = time.Second
	keying  = 35 * time.Millisecond
)
