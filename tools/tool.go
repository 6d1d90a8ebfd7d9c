package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/jsonschema-go/jsonschema"
)

// Effect is a set of things that a call may do.
type Effect uint8

// What a call may do. None is a call that only computes.
const (
	Reads     Effect = 1 << iota // reads files or state
	Writes                       // changes files or state
	Runs                         // starts a program, which may do anything
	Network                      // talks to other machines
	Remembers                    // adds to mylm's own memory, where it can be looked at and deleted
	Leaves                       // reaches files outside the workspace
	None      Effect = 0
)

// OnlyReads reports whether the call uses no network, stays in the workspace
// and changes nothing except mylm's own memory.
func (e Effect) OnlyReads() bool { return e&^(Reads|Remembers) == 0 }

// Sensitive reports whether the call writes or runs something.
func (e Effect) Sensitive() bool { return e&(Writes|Runs) != 0 }

// effectNames are the effects in the order of their bits.
var effectNames = []string{"reads", "writes", "runs", "network", "remembers", "outside"}

// String lists the effects: "writes, runs".
func (e Effect) String() string {
	var names []string
	for i, name := range effectNames {
		if e&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// MarshalText writes the effects as String does.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (e *Effect) UnmarshalText(b []byte) error {
	*e = None
	for name := range strings.SplitSeq(string(b), ", ") {
		i := slices.Index(effectNames, name)
		switch {
		case i >= 0:
			*e |= 1 << i
		case name != "none":
			return fmt.Errorf("unknown effect %q", name)
		}
	}
	return nil
}

// Origins of a Result.
const (
	Workspace = "workspace" // files of the workspace and commands run in it
	Outside   = "outside"   // files outside the workspace
	Web       = "web"       // pages fetched from elsewhere
	Memory    = "memory"    // what was said before about the same project
	Elsewhere = "elsewhere" // what was said about other projects, and what tools once found out
)

// Result is what a call gives back.
type Result struct {
	Text      string // for the model
	Origin    string // whose words Text is: Workspace, Outside, Web, Memory, Elsewhere; "" is the tool's own
	ExitCode  *int   // of a program that was run
	Truncated bool   // Text is not all there was
	Gap       bool   // Text has the mark of a Gap

	// Images are pictures of the result, which Text names: PNG, JPEG, WebP or GIF files.
	// Others are not shown, and none to a model that is not known to see.
	Images [][]byte

	// Refused is what a sandbox prevented the call from doing. The user may be asked
	// whether to run it again, from the start, with permission for that.
	Refused []Refusal

	// Blocked is what it prevented although nobody can be asked about it: Text reports
	// it to the model. The Effect is 0 if no permission is for it.
	Blocked []Refusal
}

// Refusal is something that a call tried to do and had no permission for.
type Refusal struct {
	Effect Effect `json:"effect"`         // the permission that it lacked; 0: it was not made, for another reason
	Kind   string `json:"kind"`           // what it tried, in the tool's own word: "write"
	What   string `json:"what,omitempty"` // a path, an address, or whatever names it
	Text   string `json:"text,omitempty"` // a stranger's words about it, for the person who decides and not for the model
}

// String describes what the call tried to do: "write notes.txt".
func (r Refusal) String() string { return strings.TrimSpace(r.Kind + " " + r.What) }

// Tool is one thing a model can ask for.
type Tool struct {
	Name        string // letters, digits, _ and -, at most 64, starting with a letter
	Description string // one or two sentences; the model reads it
	Schema      *jsonschema.Schema

	// External says that somebody else defines the tool, for instance a server, and may
	// change it: the record of a run holds its definition.
	External bool

	// Timeout bounds one call. Zero is the engine's default.
	Timeout time.Duration

	// Effect returns what a call with these arguments may do. Nil means Runs:
	// the most dangerous thing a tool can be.
	Effect func(args json.RawMessage) Effect

	// Preview describes a call to the user who is asked about it, for
	// instance the command or a diff. Nil shows the arguments.
	Preview func(args json.RawMessage) string

	// Finds, where it is set, makes tools that are not listed, since there are too many
	// or nothing is known of them yet: the tool of a name, or nil. A registry that
	// holds this tool holds those, too.
	Finds func(name string) *Tool

	// Sample is an example of its use, for the prompt. Nil: there is none.
	Sample *Sample

	// Run does the work. It must return soon after ctx is done. A Result
	// returned with an error is shown to the model below the error. It may be
	// called from several goroutines at once.
	Run func(ctx context.Context, args json.RawMessage) (Result, error)
}

// Sample is an example of the use of a tool that a model is shown.
type Sample struct {
	Question string          // that the tool helps with
	Args     json.RawMessage // of the call
	Result   string          // of the call
	Answer   string          // that rests on the result
}

// New makes a Tool whose schema is inferred from the struct In: `json` tags name
// the arguments, a `jsonschema` tag describes one, omitempty makes it optional.
// Its calls have the effect e. It is an error if In has no JSON Schema.
func New[In any](name, description string, e Effect, f func(context.Context, In) (Result, error)) (*Tool, error) {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		return nil, fmt.Errorf("tool %q: no schema for its arguments: %w", name, err)
	}
	return &Tool{
		Name:        name,
		Description: description,
		Schema:      schema,
		Effect:      func(json.RawMessage) Effect { return e },
		Run: func(ctx context.Context, args json.RawMessage) (Result, error) {
			in, err := Decode[In](args)
			if err != nil {
				return Result{}, err
			}
			return f(ctx, in)
		},
	}, nil
}

// Decode reads arguments that fit In's schema into an In. Its error, for
// instance about a number that In's field cannot hold, is for the model to read.
func Decode[In any](args json.RawMessage) (In, error) {
	var in In
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	err := d.Decode(&in)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return in, nil
	case !errors.As(err, &wrong):
		return in, fmt.Errorf("arguments: %w", err)
	}
	where := wrong.Field
	if where == "" {
		where = "the arguments"
	}
	if number, ok := strings.CutPrefix(wrong.Value, "number "); ok {
		return in, fmt.Errorf("%s: the number %s is out of range", cut(where), cut(number))
	}
	return in, fmt.Errorf("%s: got %s, which does not fit", cut(where), wrong.Value)
}

// validName reports whether every backend and dialect can write the name.
func validName(s string) bool {
	for i, r := range s {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || (r < '0' || r > '9') && r != '_' && r != '-') {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

func (t *Tool) check() error {
	switch {
	case t == nil:
		return fmt.Errorf("nil tool")
	case !validName(t.Name):
		return fmt.Errorf("tool name %q: want a letter, then letters, digits, _ or -, at most 64 in all", t.Name)
	case t.Run == nil:
		return fmt.Errorf("tool %q has no Run function", t.Name)
	case t.Schema == nil:
		return fmt.Errorf("tool %q has no schema (use an empty object schema for a tool without arguments)", t.Name)
	}
	return nil
}

func (t *Tool) effect(args json.RawMessage) Effect {
	if t.Effect == nil {
		return Runs
	}
	return t.Effect(args)
}

type grantKey struct{}

type permitKey struct{}

type taintKey struct{}

// Permitted is what the running call was refused when it ran before, and may do
// this time. A path that it names may be read, and no other.
func Permitted(ctx context.Context) []Refusal {
	permits, _ := ctx.Value(permitKey{}).([]Refusal)
	return permits
}

// Granted returns the effect that the running call was checked and allowed
// with. A tool whose effect depends on what changes meanwhile, like a file,
// must not do more than that. Without a registry in between, as in a test that
// calls Run itself, ok is false and nothing is bounded.
func Granted(ctx context.Context) (e Effect, ok bool) {
	e, ok = ctx.Value(grantKey{}).(Effect)
	return e, ok
}

// Tainted reports whether the run that makes the running call has read text from
// outside the workspace.
func Tainted(ctx context.Context) bool {
	tainted, _ := ctx.Value(taintKey{}).(bool)
	return tainted
}

type progressKey struct{}

// WithProgress gives tools that run under the context a function to report
// output as it comes.
func WithProgress(ctx context.Context, report func(text string)) context.Context {
	return context.WithValue(ctx, progressKey{}, report)
}

// Progress passes on output of a running tool, if anybody listens. It may be
// called from any goroutine until the tool's Run returns, and does not block
// for long.
func Progress(ctx context.Context, text string) {
	if report, ok := ctx.Value(progressKey{}).(func(string)); ok {
		report(text)
	}
}

// Hidden reports whether a character shows nothing of its own: control and format
// characters, variation selectors, fillers, invisible operators, and a blank that is
// no space. Line ends and tabs are not among them. Text made of such characters is
// read by a model and not by a person.
func Hidden(r rune) bool {
	const brailleBlank = 0x2800
	switch {
	case r == '\n', r == '\t', r < unicode.MaxASCII && r >= ' ', unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false
	}
	return r == brailleBlank || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
