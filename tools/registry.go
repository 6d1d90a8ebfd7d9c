package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// Registry is a set of tools in the order in which they were added. It is
// not changed while agents use it: Only makes another one.
type Registry struct{ tools []*Tool }

// NewRegistry makes a registry of the given tools. It is an error if one has a
// bad name, no schema or no Run, or if two share a name.
func NewRegistry(tools ...*Tool) (*Registry, error) {
	r := &Registry{}
	for _, t := range tools {
		if err := t.check(); err != nil {
			return nil, err
		}
		if slices.Contains(r.Names(), t.Name) {
			return nil, fmt.Errorf("two tools are called %q", t.Name)
		}
		r.tools = append(r.tools, t)
	}
	return r, nil
}

// Names lists the tools in order.
func (r *Registry) Names() (names []string) {
	for _, t := range r.Tools() {
		names = append(names, t.Name)
	}
	return names
}

// Tools lists the tools in order.
func (r *Registry) Tools() []*Tool {
	if r == nil {
		return nil
	}
	return slices.Clone(r.tools)
}

// Lookup returns the tool of that exact name, or nil. It may be one that is not
// listed; see Tool.Finds.
func (r *Registry) Lookup(name string) *Tool {
	if r == nil {
		return nil
	}
	for _, t := range r.tools {
		if t.Name == name {
			return t
		}
	}
	for _, t := range r.tools {
		if t.Finds == nil {
			continue
		}
		if found := t.Finds(name); found != nil && found.Name == name && found.check() == nil {
			return found
		}
	}
	return nil
}

// Schema returns the schema of the tool of that exact name.
func (r *Registry) Schema(name string) (*jsonschema.Schema, bool) {
	t := r.Lookup(name)
	if t == nil {
		return nil, false
	}
	return t.Schema, true
}

// Only returns a registry of the named tools, in the registry's own order; those that
// it does not list come last. An unknown name is an error that suggests similar
// names, or lists all.
func (r *Registry) Only(names ...string) (*Registry, error) {
	for _, name := range names {
		if r.Lookup(name) == nil {
			if near := Nearest(name, r.Names()); len(near) > 0 {
				return nil, fmt.Errorf("there is no tool %q; did you mean %s?", name, strings.Join(near, " or "))
			}
			return nil, fmt.Errorf("there is no tool %q; there are: %s", name, strings.Join(r.Names(), ", "))
		}
	}
	others := func(t *Tool) bool { return !slices.Contains(names, t.Name) }
	only := &Registry{slices.DeleteFunc(r.Tools(), others)}
	for _, name := range names {
		if !slices.Contains(only.Names(), name) {
			only.tools = append(only.tools, r.Lookup(name))
		}
	}
	return only, nil
}

// UnknownToolError is a call of a tool that does not exist.
type UnknownToolError struct {
	Name  string
	Near  []string // names it may have meant, nearest first
	Known []string
}

// Unknown is the error for a tool that is not among the known ones.
func Unknown(name string, known []string) *UnknownToolError {
	return &UnknownToolError{Name: name, Near: Nearest(name, known), Known: known}
}

// Error reports what is wrong and which tools there are. A long name is cut.
func (e *UnknownToolError) Error() string {
	name := cut(e.Name)
	switch {
	case len(e.Known) == 0:
		return fmt.Sprintf("unknown tool %q: no tools are available, answer directly", name)
	case len(e.Near) > 0:
		return fmt.Sprintf("unknown tool %q: did you mean %s?", name, strings.Join(e.Near, " or "))
	}
	return fmt.Sprintf("unknown tool %q: the tools are %s", name, strings.Join(e.Known, ", "))
}

// maxShown is how many characters of a name or a value an error or a repair shows:
// more than the longest name of a tool, and few enough for one line.
const maxShown = 80

func cut[T string | []byte | json.RawMessage](s T) string {
	n := 0
	for i := range string(s) {
		if n++; n > maxShown {
			return string(s[:i]) + "…"
		}
	}
	return string(s)
}

// Invocation is a call that is ready to run.
type Invocation struct {
	Tool    *Tool
	Args    json.RawMessage // after Fit
	Repairs []Repair
	Effect  Effect
	Preview string // what the call would do, for a person

	Permits []Refusal // what it was refused before and may do now; see Permitted
	Tainted bool      // who makes it has read text from outside the workspace; see Tainted
}

// Prepare looks the tool up, fits the arguments to its schema, and asks the
// tool for the effect and the preview of the call. Its errors are for the model
// to read: *UnknownToolError, *ArgError, and another one if the tool panics.
func (r *Registry) Prepare(name string, args json.RawMessage) (*Invocation, error) {
	t := r.Lookup(name)
	if t == nil {
		return nil, Unknown(name, r.Names())
	}
	fitted, repairs, argErr := Fit(t.Schema, args)
	if argErr != nil {
		argErr.Tool = name
		return nil, argErr
	}
	inv := &Invocation{Tool: t, Args: fitted, Repairs: repairs, Preview: string(fitted)}
	if err := inv.describe(); err != nil {
		return nil, err
	}
	return inv, nil
}

// describe asks the tool what the call may do.
func (inv *Invocation) describe() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the tool %s is broken: %v", inv.Tool.Name, p)
		}
	}()
	inv.Effect = inv.Tool.effect(inv.Args)
	if inv.Tool.Preview != nil {
		inv.Preview = inv.Tool.Preview(inv.Args)
	}
	return nil
}

// Outcome is a finished call: the result, and whether it is a success.
type Outcome struct {
	Result
	Error    string // what went wrong; "" is success
	Stack    string // where the tool panicked; "" if it did not
	Duration time.Duration
	Unknown  bool // nobody knows how far it came: the process died under it
}

// Success reports whether the call did what it was asked.
func (o Outcome) Success() bool { return o.Error == "" }

// Body is what the model gets: the error, the text, or both.
func (o Outcome) Body() string {
	if o.Success() {
		return o.Text
	}
	if o.Text == "" {
		return o.Error
	}
	return o.Error + "\n" + o.Text
}

// Run runs the call. Errors and panics of the tool become a failed Outcome. A
// call that is over its tool's timeout, or else over timeout (0: none), fails
// with a message that says so; one that ends because ctx is done, also by a
// deadline of ctx, is cancelled.
func (inv *Invocation) Run(ctx context.Context, timeout time.Duration) (o Outcome) {
	if inv.Tool.Timeout > 0 {
		timeout = inv.Tool.Timeout
	}
	// The cause distinguishes this timeout from a deadline of the caller.
	timedOut := fmt.Errorf("timed out after %v", timeout)
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = WithTimeout(ctx, timeout, timedOut)
		defer cancel()
	}
	start := time.Now()
	defer func() {
		if p := recover(); p != nil {
			o = Outcome{Error: fmt.Sprintf("the tool crashed: %v", p), Stack: string(debug.Stack())}
		}
		o.Duration = time.Since(start)
	}()
	var err error
	ctx = context.WithValue(context.WithValue(ctx, grantKey{}, inv.Effect), permitKey{}, inv.Permits)
	ctx = context.WithValue(ctx, taintKey{}, inv.Tainted)
	o.Result, err = inv.Tool.Run(ctx, inv.Args)
	switch {
	case err == nil:
	case context.Cause(ctx) == timedOut:
		o.Error = timedOut.Error()
	case ctx.Err() != nil:
		o.Error = "cancelled: " + strings.TrimSuffix(err.Error(), ": "+context.Canceled.Error())
	case err.Error() == "":
		o.Error = "failed without saying why"
	default:
		o.Error = err.Error()
	}
	return o
}
