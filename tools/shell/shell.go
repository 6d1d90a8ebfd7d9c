package shell

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"mylm/tools"
	"mylm/tools/sandbox"
)

// Name is the name of the tool.
const Name = "execute_command"

// DefaultMaxOutput is how many bytes of output the model sees at most, unless
// Options say otherwise.
const DefaultMaxOutput = 16 << 10

// DefaultTimeout is how long a command may take that does not ask for another
// time, unless Options say otherwise. MaxTimeout is the most it can ask for.
const (
	DefaultTimeout = 30 * time.Second
	MaxTimeout     = 10 * time.Minute
)

// maxDrain is how long output is still read after the command and its group are
// gone. What they wrote is in the pipe already and takes no time; only a
// program that left the group can still hold the pipe open.
const maxDrain = 250 * time.Millisecond

// maxDying is how long processes may take to die. One that hangs in the kernel, or
// runs as somebody else, must not hold the caller.
const maxDying = 5 * time.Second

// Options set where and how commands run. The zero value is useful.
type Options struct {
	// Dir is the working directory, which a call's cwd cannot leave; "" is that
	// of the process.
	Dir string

	// MaxOutput is how many bytes of output the model sees at most, not
	// counting the line that says what was cut. 0 is DefaultMaxOutput.
	MaxOutput int

	// Timeout bounds a call that does not ask for another time, and every call
	// that only reads, whatever it asks for. 0 is DefaultTimeout; more than
	// MaxTimeout is an error.
	Timeout time.Duration

	// Sandbox is what commands may do. If the policy cannot be enforced they
	// are refused. Nil means no sandbox. A call that was granted no more than
	// reading gets less: where there is a sandbox it runs in the strict one,
	// and what it is refused is in the result. A call that runs again with
	// permissions gets just these. Without a sandbox each process has at most 1
	// GiB of memory, where commands can be supervised.
	Sandbox *sandbox.Policy
}

type input struct {
	Command string `json:"command" jsonschema:"as typed in a shell"`
	Cwd     string `json:"cwd,omitempty" jsonschema:"below the working directory"`
	Timeout int    `json:"timeout_s,omitempty" jsonschema:"seconds"`
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
	o.MaxOutput = cmp.Or(o.MaxOutput, DefaultMaxOutput)
	if o.Timeout < 0 || o.Timeout > MaxTimeout {
		return nil, fmt.Errorf("%s: Timeout is %v; it must be 0 (for %v) or more, at most %v", Name, o.Timeout, DefaultTimeout, MaxTimeout)
	}
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	if err := checkDir(o.Dir); err != nil {
		return nil, err
	}
	t, err := tools.New(Name, o.description(), tools.Runs, o.run)
	if err != nil {
		return nil, err
	}
	t.Schema.Properties["timeout_s"].Minimum = jsonschema.Ptr(1.0)
	t.Schema.Properties["timeout_s"].Maximum = jsonschema.Ptr(MaxTimeout.Seconds())
	t.Timeout = MaxTimeout + 2*maxDying // the call's own time comes first
	t.Preview = preview
	t.Effect = o.effect
	return t, nil
}

func (o Options) description() string {
	text := "Run a command line with " + shellName + " and return what it prints and its exit status. " +
		"It cannot ask for input, and what it leaves in the background is stopped when it ends."
	if o.policy().Mode == sandbox.Off {
		return text
	}
	return text + " It runs in a sandbox: it can " + o.permitted()
}

// permitted is what a command can do in the sandbox.
func (o Options) permitted() string {
	where := "only below the working directory and in $TMPDIR"
	if o.Sandbox.Mode == sandbox.ReadOnly {
		where = "only in $TMPDIR"
	}
	text := "write " + where + ", and read no other files of the user"
	if o.Sandbox.AllowNet {
		return text + "."
	}
	return text + ", and has no network."
}

func preview(args json.RawMessage) string {
	in, err := tools.Decode[input](args)
	if err != nil {
		return string(args)
	}
	if in.Cwd != "" {
		return fmt.Sprintf("in %q: %s", in.Cwd, in.Command)
	}
	return in.Command
}

func checkDir(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the working directory %s does not exist; create it or choose another", dir)
	}
	if err != nil {
		return fmt.Errorf("the working directory cannot be used: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("the working directory %s is not a directory; choose another", dir)
	}
	return nil
}

func (o Options) run(ctx context.Context, in input) (tools.Result, error) {
	if err := check(in.Command); err != nil {
		return tools.Result{}, err
	}
	// A directory that was removed meanwhile would be reported as a missing shell.
	if err := checkDir(o.Dir); err != nil {
		return tools.Result{}, err
	}
	dir, err := o.dir(in.Cwd)
	if err != nil {
		return tools.Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return tools.Result{}, fmt.Errorf("the command was not started: %w", context.Cause(ctx))
	}
	limit := o.Timeout
	if in.Timeout > 0 {
		limit = time.Duration(in.Timeout) * time.Second
	}
	given, granted := tools.Granted(ctx)
	permits := tools.Permitted(ctx)
	unasked := granted && given.OnlyReads()
	if unasked {
		limit = min(limit, o.Timeout)
	}
	usual := o.policy() // of what was allowed before it runs, too: a yes widens nothing
	if unasked || len(permits) > 0 {
		o = o.confined(permits)
	} else {
		o = o.watched(in)
	}
	timedOut := &timeoutError{limit, unasked}
	ctx, cancel := tools.WithTimeout(ctx, limit, timedOut)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)

	out := newOutput(o.MaxOutput, func(text string) { tools.Progress(ctx, text) })
	var to io.Writer = out
	if unasked {
		to = &bounded{out, maxUnaskedOutput, func() { stop(errTooMuch) }}
	}
	report, err := o.execute(o.command(ctx, dir, in.Command), to)
	code, err := verdict(ctx, err)
	text, cut := out.text()
	origin := tools.Workspace
	if text != "" && o.mayBeForeign(in, given, unasked) {
		origin = tools.Outside
	}
	lacked, blocked, rest := refusals(usual, o.policy().Strict, report)
	if unasked && time.Duration(in.Timeout)*time.Second > limit && context.Cause(ctx) == error(timedOut) {
		lacked = append(lacked, tools.Refusal{Effect: tools.Runs, Kind: string(sandbox.Limit), What: limit.String()})
	}
	switch {
	case report.Leftovers && err == nil:
		text = joinLines(text, "(processes left in the background were stopped)")
	case text == "" && err == nil:
		text = "(no output)"
	}
	if p := o.policy(); code != nil && *code != 0 && p.Mode != sandbox.Off && !p.Strict && strings.Contains(strings.ToLower(text), "permission denied") {
		text = joinLines(text, "(It ran in a sandbox: it can "+o.permitted()+")") // which does not report what it refused
	}
	if len(rest) > 0 {
		text = joinLines(text, "(refused by the sandbox: "+strings.Join(rest, "; ")+")")
	}
	return tools.Result{Text: text, Origin: origin, ExitCode: code, Truncated: cut, Gap: cut, Refused: lacked, Blocked: blocked}, err
}

// errTooMuch ends a command that prints without end.
var errTooMuch = fmt.Errorf("it printed more than %d MiB, the limit for a command that runs without a question", maxUnaskedOutput>>20)

// readerMemory limits the memory of each process of a command that runs without
// a question. Reading files takes a hundredth of it; a pattern of a hundred
// bytes can make grep take all memory.
const readerMemory = 1 << 30

// policy is what commands may do.
func (o Options) policy() sandbox.Policy {
	if o.Sandbox == nil {
		return sandbox.Policy{Mode: sandbox.Off}
	}
	return *o.Sandbox
}

// timeoutError reports that a command took too long.
type timeoutError struct {
	limit   time.Duration
	unasked bool // nobody allowed it to take longer
}

func (e *timeoutError) Error() string {
	switch {
	case e.unasked:
		return fmt.Sprintf("timed out after %v, the limit for a command that runs without a question", e.limit)
	case e.limit >= MaxTimeout:
		return fmt.Sprintf("timed out after %v", e.limit)
	}
	return fmt.Sprintf("timed out after %v; timeout_s can be up to %.0f", e.limit, MaxTimeout.Seconds())
}

func check(command string) error {
	switch {
	case strings.TrimSpace(command) == "":
		return errors.New("the command is empty; give the command line to run")
	case strings.ContainsRune(command, 0):
		return errors.New("the command contains a NUL byte; remove it")
	}
	return nil
}

// environment keeps programs from waiting for a person: pagers and password
// prompts would, and escape sequences only cost the model tokens. Git's reading
// commands would otherwise write what they found out into its index.
var environment = []string{"GIT_OPTIONAL_LOCKS=0", "TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "NO_COLOR=1"}

// posixly makes programs take flags behind an operand for file names, so that a
// line would do something else than what was judged.
const posixly = "POSIXLY_CORRECT"

func (o Options) command(ctx context.Context, dir, line string) *exec.Cmd {
	cmd := shellCommand(ctx, line)
	cmd.Dir = dir
	cmd.WaitDelay = maxDying
	env := slices.DeleteFunc(cmd.Environ(), func(kv string) bool { return strings.HasPrefix(kv, posixly+"=") })
	cmd.Env = append(o.policy().Environ(env), environment...)
	return cmd
}

// verdict turns the error of Wait into the exit code and the error for the model.
func verdict(ctx context.Context, err error) (*int, error) {
	var exit *exec.ExitError
	var timedOut *timeoutError
	switch {
	case err == nil:
		return new(int), nil
	case errors.As(context.Cause(ctx), &timedOut):
		return nil, timedOut
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
