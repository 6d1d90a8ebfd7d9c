package langchain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tmc/langchaingo/llms"

	"mylm/internal/group"
	"mylm/providers"
	"mylm/providers/internal/wire"
)

// local is a program on this machine: the conversation goes in as one text,
// what it prints is the reply. langchaingo's package of that name is not used:
// it adds every prompt to the arguments of all later calls, and kills no child.
func local() backend {
	return backend{
		Provider: Provider{
			Name: "local", Title: "the local program", Streams: true,
			Settings: []Setting{
				{Name: "bin", Vars: []string{"LOCAL_LLM_BIN"}, Required: true,
					Help: "the program: a name to be found in PATH, or a path from the root"},
				{Name: "args", Vars: []string{"LOCAL_LLM_ARGS"},
					Help: "its arguments; {prompt} in one is replaced by the conversation, which otherwise goes to stdin"},
			},
		},
		open: func(c Config, _ *http.Client) (llms.Model, error) {
			args, err := words(c.Settings["args"])
			return program{c.Settings["bin"], args}, err
		},
		api:        api{noSeed: true},
		check:      checkLocal,
		anyModel:   true,
		oneMessage: true,
		noOptions:  true,
	}
}

// checkLocal refuses a program that depends on where mylm is started: a cloned
// repository could bring one of that name along.
func checkLocal(c Config) error {
	if c.BaseURL != "" || c.Key != "" {
		return badConfig("a local program has neither address nor key", "Take them out of the configuration.")
	}
	if bin := c.Settings["bin"]; bin != filepath.Base(bin) && !filepath.IsAbs(bin) {
		return badConfig(fmt.Sprintf("the program %q is a path from the current folder", bin),
			"Write the path from the root, or a name that is found in PATH.")
	}
	_, err := words(c.Settings["args"])
	return err
}

// words splits at spaces. Quotes of either kind hold words together; nothing
// else means anything, and no shell is involved.
func words(s string) (out []string, err error) {
	var word []rune
	var quote rune
	open := false // a word has begun, perhaps with an empty quote
	for _, r := range s {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word = append(word, r)
		case r == '\'' || r == '"':
			quote, open = r, true
		case r == ' ':
			if open {
				out = append(out, string(word))
			}
			word, open = nil, false
		default:
			word, open = append(word, r), true
		}
	}
	if quote != 0 {
		return nil, badConfig("a quote in the arguments of the local program is not closed",
			"Add the missing "+string(quote)+".")
	}
	if open {
		out = append(out, string(word))
	}
	return out, nil
}

// program is a program as an llms.Model.
type program struct {
	bin  string
	args []string
}

// promptMark is replaced by the conversation in an argument.
const promptMark = "{prompt}"

// longestPrint bounds what a program prints. No reply is that long.
const longestPrint = 8 << 20

var errLongPrint = errors.New("a reply of more than 8 MiB")

// heldOpen is how long to wait for output after the end of the program.
const heldOpen = 500 * time.Millisecond

// Call is what llms.Model asks for.
func (p program) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, p, prompt, options...)
}

// GenerateContent runs the program with the text of the one message.
func (p program) GenerateContent(ctx context.Context, messages []llms.MessageContent,
	options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, set := range options {
		set(&o)
	}
	prompt := messages[0].Parts[0].(llms.TextContent).Text
	run, kill := context.WithCancel(ctx)
	defer kill()
	cmd, out, stderr := exec.CommandContext(run, p.bin), &output{ctx: ctx, stream: o.StreamingFunc, kill: kill}, &tail{}
	inArgs := false
	for _, a := range p.args {
		inArgs = inArgs || strings.Contains(a, promptMark)
		cmd.Args = append(cmd.Args, strings.ReplaceAll(a, promptMark, prompt))
	}
	if !inArgs {
		cmd.Stdin = strings.NewReader(prompt)
	}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, stderr, heldOpen
	children, err := group.Start(cmd)
	if err == nil {
		err = cmd.Wait()
		children.Kill()
	}
	if err != nil {
		return nil, p.failed(ctx, err, out, stderr)
	}
	if err := out.pass(out.rest); err != nil {
		return nil, err
	}
	choice := &llms.ContentChoice{Content: out.all.String(), StopReason: string(providers.StopEnd)}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{choice}}, nil
}

// failed reports why there is no complete reply.
func (p program) failed(ctx context.Context, err error, out *output, stderr *tail) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := &providers.Error{Kind: providers.ServerFault, Err: err, Hint: "Try the program by hand: " + p.bin}
	var exit *exec.ExitError
	switch {
	case out.flood:
		e.Permanent, e.Message = true, fmt.Sprintf("%s printed %v", p.bin, errLongPrint)
	case errors.Is(err, exec.ErrWaitDelay):
		e.Kind, e.Message = providers.Interrupted, p.bin+" ended, but something that it started kept its output open"
	case !errors.As(err, &exit):
		e.Kind, e.Permanent, e.Message = providers.Unreachable, true, fmt.Sprintf("the program cannot be started: %s",
			wire.OneLine(err.Error()))
		e.Hint = "Check the setting bin."
	case !exit.Exited() || out.all.Len() > 0:
		e.Kind, e.Message = providers.Interrupted, fmt.Sprintf("%s ended in mid-reply: %v", p.bin, err)
	default:
		e.Message = fmt.Sprintf("%s failed: %v", p.bin, err)
	}
	if last := wire.OneLine(string(stderr.end)); last != "" {
		e.Message += ": " + last
	}
	return e
}

// output passes on what the program prints, never cutting a character.
type output struct {
	ctx    context.Context
	stream func(context.Context, []byte) error // nil: only all is wanted
	all    strings.Builder                     // what was passed on
	rest   []byte                              // the beginning of a character
	flood  bool                                // more came than any reply has
	kill   func()                              // ends the program
}

func (o *output) Write(b []byte) (int, error) {
	if o.all.Len()+len(b) > longestPrint {
		o.flood = true
		o.kill()
		return 0, errLongPrint
	}
	b, given := append(o.rest, b...), len(b)
	n := len(b)
	for i := n - 1; i >= max(0, n-utf8.UTFMax); i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				n = i
			}
			break
		}
	}
	o.rest = bytes.Clone(b[n:])
	return given, o.pass(b[:n])
}

func (o *output) pass(b []byte) error {
	o.all.Write(b)
	if o.stream == nil {
		return nil
	}
	return o.stream(o.ctx, b)
}

// tail keeps the end of what is written to it.
type tail struct{ end []byte }

// tailLength is as much of stderr as fits a message: the cause is at its
// end.
const tailLength = 400

func (t *tail) Write(b []byte) (int, error) {
	t.end = append(t.end, b...)
	t.end = bytes.Clone(t.end[max(0, len(t.end)-tailLength):])
	return len(b), nil
}
