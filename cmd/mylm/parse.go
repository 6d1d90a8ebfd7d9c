package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/prompts"
	"mylm/protocol"
	"mylm/providers/calling"
	"mylm/tools"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/urfave/cli/v2"
)

// verdict is how the engine interprets a reply.
type verdict struct {
	ID      json.RawMessage `json:"id,omitempty"`
	Kind    string          `json:"kind"` // call, final or malformed
	Name    string          `json:"name,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"`
	Text    string          `json:"text"`
	Dialect string          `json:"dialect,omitempty"`
	Repairs []string        `json:"repairs"`
	Reason  string          `json:"reason,omitempty"`
	Detail  string          `json:"detail,omitempty"` // why it could not be read
	Offset  *int64          `json:"offset,omitempty"` // in bytes, of the fault
	Hint    string          `json:"hint,omitempty"`
	Thought string          `json:"thought,omitempty"`
}

// lookup is a set of tools that are only looked up, never run.
type lookup struct {
	names   []string
	schemas map[string]*jsonschema.Schema
}

func (l *lookup) Names() []string { return l.names }

func (l *lookup) Schema(name string) (*jsonschema.Schema, bool) {
	s, ok := l.schemas[name]
	return s, ok
}

// judge decodes a reply in pieces and fits the arguments of its call, as a run does.
func judge(pieces []string, stop protocol.Stop, l *lookup, set *prompts.Set) (verdict, error) {
	d := protocol.NewDecoder(protocol.Options{Tools: l})
	v := verdict{Kind: "final", Repairs: []string{}}
	var answer, thought strings.Builder
	var call *protocol.ToolCall
	var fault *protocol.FormatError
	take := func(parts []protocol.Part) {
		for _, p := range parts {
			switch p.Kind {
			case protocol.Text:
				answer.WriteString(p.Text)
			case protocol.Thought:
				thought.WriteString(p.Text)
			case protocol.Answer:
				answer.Reset()
			case protocol.Retract:
				thought.WriteString(answer.String())
				answer.Reset()
			case protocol.Call:
				call = p.Call
			case protocol.Malformed:
				fault = p.Err
			}
		}
	}
	for _, piece := range pieces {
		if take(d.Push(piece)); d.Done() {
			break
		}
	}
	take(d.Close(stop))
	v.Text, v.Thought = strings.TrimSpace(answer.String()), strings.TrimSpace(thought.String())
	words := calling.Corrections{Prompts: set, Tools: l}
	var err error
	switch {
	case fault != nil:
		v.Kind, v.Reason, v.Name = "malformed", string(fault.Reason), fault.Tool
		v.Detail, v.Offset = fault.Detail, &fault.Offset
		v.Hint, err = words.Malformed(fault)
	case call != nil:
		err = v.called(call, l, words)
	}
	return v, err
}

// called fits the arguments of a call, or returns why it would not run.
func (v *verdict) called(call *protocol.ToolCall, l *lookup, words calling.Corrections) (err error) {
	for _, r := range call.Repairs {
		v.repaired(r.Code)
	}
	v.Name, v.Dialect = call.Name, call.Dialect
	schema, known := l.Schema(call.Name)
	if !known {
		v.Kind, v.Reason = "malformed", "unknown_tool"
		v.Hint, err = words.Refused(tools.Unknown(call.Name, l.names))
		return err
	}
	args, repairs, bad := tools.Fit(schema, call.Args)
	if bad != nil {
		bad.Tool = call.Name
		v.Kind, v.Reason = "malformed", "schema"
		v.Hint, err = words.Refused(bad)
		return err
	}
	for _, r := range repairs {
		v.repaired(r.Code)
	}
	v.Kind, v.Args = "call", args
	return nil
}

// repaired adds the code of a repair once.
func (v *verdict) repaired(code string) {
	if !slices.Contains(v.Repairs, code) {
		v.Repairs = append(v.Repairs, code)
	}
}

func parseCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		ArgsUsage: "[FILE]",
		Description: `Reads a reply from FILE or stdin and says what is text, thought and call in it, what
was repaired to read the call, and what the model would be told if it cannot be read.
Nothing runs, and a reply that cannot be read is no failure. The tools are those of mylm ask.

With --jsonl every line of the input is an object
   {"id", "input", "tools": [{"name", "description", "parameters"}],
    "stop": "stop"|"length", "chunk": N, "splits": [N...]}
and every line of the output is what was made of it; without "tools" they are those of mylm ask.`,
		UsageText: `mylm parse reply.txt
mylm parse --jsonl < replies.jsonl`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "jsonl", Usage: "read and write one JSON object a line"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object"},
			&cli.BoolFlag{Name: "cut", Usage: "the reply was cut by a length limit"},
		},
		Action: func(c *cli.Context) error {
			if c.Bool("jsonl") && (c.Bool("json") || c.Bool("cut")) {
				return failure.Usage("--jsonl goes without --json and --cut: each line says \"stop\" for itself")
			}
			set, err := setup.Prompts()
			if err != nil {
				return err
			}
			_, err = term.Wait(c.Context, func() (string, error) {
				in, err := parseInput(c, s)
				if err != nil {
					return "", err
				}
				defer in.Close()
				if c.Bool("jsonl") {
					return "", parseLines(c.Context, in, s.Out, set)
				}
				return "", parseOne(c, in, s, set)
			})
			return err
		},
	}
}

// parseQuery is one line of --jsonl.
type parseQuery struct {
	ID    json.RawMessage `json:"id"`
	Input string          `json:"input"`
	Tools *[]struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"tools"`
	Stop   string `json:"stop"`
	Chunk  int    `json:"chunk"`
	Splits []int  `json:"splits"`
}

func parseLines(ctx context.Context, in io.Reader, out io.Writer, set *prompts.Set) error {
	r := bufio.NewReaderSize(in, 1<<20)
	w := bufio.NewWriter(out)
	defer w.Flush()
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for n := 1; ctx.Err() == nil; n++ {
		line, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			v, err := parseLine(line, set)
			if err != nil {
				return failure.Usage("line %d: %v", n, err)
			}
			if err := e.Encode(v); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return w.Flush()
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

func parseLine(line []byte, set *prompts.Set) (verdict, error) {
	var q parseQuery
	if err := json.Unmarshal(line, &q); err != nil {
		return verdict{}, err
	}
	l, err := q.lookup()
	if err != nil {
		return verdict{}, err
	}
	stop := protocol.End
	switch q.Stop {
	case "", "stop":
	case "length":
		stop = protocol.Length
	default:
		return verdict{}, fmt.Errorf("stop is %q; it must be \"stop\" or \"length\"", term.Echoed(q.Stop))
	}
	v, err := judge(q.pieces(), stop, l, set)
	v.ID = q.ID
	return v, err
}

// lookup is the set of tools of the query.
func (q *parseQuery) lookup() (*lookup, error) {
	if q.Tools == nil {
		return askTools()
	}
	l := &lookup{schemas: map[string]*jsonschema.Schema{}}
	for _, t := range *q.Tools {
		if t.Name == "" {
			return nil, errors.New("a tool has no name")
		}
		schema := &jsonschema.Schema{}
		if p := bytes.TrimSpace(t.Parameters); len(p) > 0 && !bytes.Equal(p, []byte("null")) {
			if err := json.Unmarshal(p, schema); err != nil {
				return nil, fmt.Errorf("the schema of tool %q: %w", t.Name, err)
			}
		}
		l.names = append(l.names, t.Name)
		l.schemas[t.Name] = schema
	}
	return l, nil
}

// pieces splits the input as the query asks.
func (q *parseQuery) pieces() []string {
	s := q.Input
	if q.Chunk > 0 {
		var out []string
		for len(s) > q.Chunk {
			out, s = append(out, s[:q.Chunk]), s[q.Chunk:]
		}
		return append(out, s)
	}
	var out []string
	at := 0
	for _, cut := range slices.Sorted(slices.Values(q.Splits)) {
		if cut > at && cut < len(s) {
			out, at = append(out, s[at:cut]), cut
		}
	}
	return append(out, s[at:])
}
