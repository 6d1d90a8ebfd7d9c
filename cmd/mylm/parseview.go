package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/prompts"
	"mylm/protocol"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/urfave/cli/v2"
)

// parseInput opens the file that was named, or stdin.
func parseInput(c *cli.Context, s *term.Screen) (io.ReadCloser, error) {
	switch name := c.Args().Get(0); {
	case name == "" || name == "-":
		return io.NopCloser(s.In), nil
	default:
		f, err := os.Open(name)
		if err != nil {
			return nil, cmdline.Unread("", name, err)
		}
		return f, nil
	}
}

// askTools is a lookup of the tools of mylm ask.
func askTools() (*lookup, error) {
	registry, err := inspectTools()
	if err != nil {
		return nil, err
	}
	l := &lookup{names: registry.Names(), schemas: map[string]*jsonschema.Schema{}}
	for _, t := range registry.Tools() {
		l.schemas[t.Name] = t.Schema
	}
	return l, nil
}

// parseOne shows how one reply is read.
func parseOne(c *cli.Context, in io.Reader, s *term.Screen, set *prompts.Set) error {
	if c.NArg() == 0 && term.IsTerminal(s.In) {
		fmt.Fprintln(s.Err, "reading a reply from the terminal: end it with Ctrl-D on a line of its own")
	}
	reply, err := io.ReadAll(io.LimitReader(in, maxInput+1)) // every byte counts, valid or not
	switch {
	case err != nil:
		return failure.Usage("the reply: %v", err)
	case len(reply) > maxInput:
		return failure.Usage("the reply is longer than %s", term.Bytes(maxInput))
	}
	l, err := askTools()
	if err != nil {
		return err
	}
	stop := protocol.End
	if c.Bool("cut") {
		stop = protocol.Length
	}
	v, err := judge([]string{string(reply)}, stop, l, set)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return term.PrintJSON(s.Out, v)
	}
	_, err = io.WriteString(s.Out, v.String())
	return err
}

// String describes a verdict for a person.
func (v verdict) String() string {
	var b strings.Builder
	section := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%s\n    %s\n", title, strings.ReplaceAll(term.Visible(text), "\n", "\n    "))
		}
	}
	section("thought", v.Thought)
	switch v.Kind {
	case "final":
		section("answer", v.Text)
	case "call":
		section("text before the call", v.Text)
		section("call ("+v.Dialect+")", v.Name+" "+string(v.Args))
	case "malformed":
		section("text before it", v.Text)
		if v.Detail != "" {
			section("what is wrong", fmt.Sprintf("%s, at byte %d", v.Detail, *v.Offset))
		}
		section("cannot be used ("+v.Reason+"); the model would be told", v.Hint)
	}
	section("repaired", strings.Join(v.Repairs, ", "))
	return b.String()
}
