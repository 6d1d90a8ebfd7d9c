package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"mylm/tools"
)

// Name is the name of the tool.
const Name = "execute_command"

// DefaultMaxOutput is how many bytes of output the model sees at most, unless
// Options say otherwise.
const DefaultMaxOutput = 16 << 10

// drain is how long output is still read after the command and its group are
// gone. What they wrote is in the pipe already and takes no time; only a
// program that left the group can still hold the pipe open.
const drain = 250 * time.Millisecond

// Options say where and how commands run. The zero value is useful.
type Options struct {
	// Dir is the working directory; "" is that of the process.
	Dir string

	// MaxOutput is how many bytes of output the model sees at most, not
	// counting the line that says what was cut. 0 is DefaultMaxOutput.
	MaxOutput int
}

type input struct {
	Command string `json:"command" jsonschema:"the command line, as typed in a shell"`
}

// New makes the tool execute_command. It is an error if Dir is not a directory
// or MaxOutput is negative.
//
// A call that ends with another exit status than 0, or by a signal, returns
// its output and exit code together with an error. While a command runs its
// output goes to tools.Progress as it comes, with control characters removed.
// The tool may be called from several goroutines at once.
func New(o Options) (*tools.Tool, error) {
	if o.MaxOutput < 0 {
		return nil, fmt.Errorf("%s: MaxOutput is %d; it must be 0 (for %d) or more", Name, o.MaxOutput, DefaultMaxOutput)
	}
	if o.MaxOutput == 0 {
		o.MaxOutput = DefaultMaxOutput
	}
	if err := o.checkDir(); err != nil {
		return nil, err
	}
	t, err := tools.New(Name, "Run a command line with "+shellName+" and return what it prints and its exit status. "+
		"It cannot ask for input, and what it leaves in the background is stopped when it ends, unless that has detached itself.", tools.Runs, o.run)
	if err != nil {
		return nil, err
	}
	t.Preview = preview
	t.Effect = o.effect
	return t, nil
}

func preview(args json.RawMessage) string {
	in, err := tools.Decode[input](args)
	if err != nil {
		return string(args)
	}
	return in.Command
}

func (o Options) checkDir() error {
	if o.Dir == "" {
		return nil
	}
	info, err := os.Stat(o.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the working directory %s does not exist; create it or choose another", o.Dir)
	}
	if err != nil {
		return fmt.Errorf("the working directory cannot be used: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("the working directory %s is not a directory; choose another", o.Dir)
	}
	return nil
}

func (o Options) run(ctx context.Context, in input) (tools.Result, error) {
	if err := check(in.Command); err != nil {
		return tools.Result{}, err
	}
	// A directory that was removed meanwhile would be reported as a missing shell.
	if err := o.checkDir(); err != nil {
		return tools.Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return tools.Result{}, fmt.Errorf("the command was not started: %w", context.Cause(ctx))
	}
	out := newOutput(o.MaxOutput, func(text string) { tools.Progress(ctx, text) })
	leftovers, err := execute(o.command(ctx, in.Command), out)
	code, err := verdict(ctx, err)
	text, cut := out.text()
	switch {
	case leftovers && err == nil:
		text = joinLines(text, "(processes left in the background were stopped)")
	case text == "" && err == nil:
		text = "(no output)"
	}
	return tools.Result{Text: text, Origin: tools.Workspace, ExitCode: code, Truncated: cut}, err
}

func check(command string) error {
	switch {
	case strings.TrimSpace(command) == "":
		return errors.New("the command is empty; give the command line to run")
	case strings.ContainsRune(command, 0):
		return errors.New("the command holds a NUL byte, which no command line can; leave it out")
	}
	return nil
}

// environment keeps programs from waiting for a person: pagers and password
// prompts would, and escape sequences only cost the model tokens.
var environment = []string{"TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "NO_COLOR=1"}

func (o Options) command(ctx context.Context, line string) *exec.Cmd {
	cmd := shellCommand(ctx, line)
	cmd.Dir = o.Dir
	cmd.Env = append(cmd.Environ(), environment...)
	return cmd
}

// execute runs cmd with both its streams on one pipe that is copied to out. It
// returns when the command is done, its group is dead and its output is read;
// leftovers says that the group outlived the command.
//
// The pipe is made here and not by Cmd, because Cmd.Wait would wait for
// everybody who holds it before the rest of the group could be killed.
func execute(cmd *exec.Cmd, out io.Writer) (leftovers bool, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return false, fmt.Errorf("no pipe for the output of the command: %w", err)
	}
	defer r.Close()
	cmd.Stdout, cmd.Stderr = w, w
	g, err := start(cmd)
	w.Close()
	if err != nil {
		return false, fmt.Errorf("the command could not be started: %w", err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		io.Copy(out, r)
	}()
	err = cmd.Wait()
	leftovers = g.kill()
	select {
	case <-read:
	case <-time.After(drain):
		r.Close()
		<-read
	}
	return leftovers, err
}

// verdict turns the error of Wait into the exit code and the error for the model.
func verdict(ctx context.Context, err error) (*int, error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return new(int), nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("the command was stopped before it ended: %w", context.Cause(ctx))
	case !errors.As(err, &exit):
		return nil, err
	}
	code, signal := exitCode(exit.ProcessState)
	if signal != "" {
		return &code, fmt.Errorf("killed by signal %s", signal)
	}
	return &code, fmt.Errorf("exit status %d", code)
}

func joinLines(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}
