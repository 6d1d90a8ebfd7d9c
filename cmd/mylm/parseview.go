package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/urfave/cli/v2"

	"mylm/prompts"
	"mylm/protocol"
)

// parseInput opens the file that was named, or stdin.
func parseInput(c *cli.Context, s streams) (io.ReadCloser, error) {
	switch name := c.Args().First(); {
	case c.NArg() > 1:
		return nil, usageError("parse takes one file, but got %d", c.NArg())
	case name == "" || name == "-":
		return io.NopCloser(s.in), nil
	default:
		f, err := os.Open(name)
		if err != nil {
			return nil, usageError("%v", err)
		}
		return f, nil
	}
}

// askTools are the tools of mylm ask, to be looked up.
func askTools() (*lookup, error) {
	registry, err := allTools()
	if err != nil {
		return nil, err
	}
	l := &lookup{names: registry.Names(), schemas: map[string]*jsonschema.Schema{}}
	for _, t := range registry.Tools() {
		l.schemas[t.Name] = t.Schema
	}
	return l, nil
}

// parseOne shows what is made of one reply.
func parseOne(c *cli.Context, in io.Reader, s streams, set *prompts.Set) error {
	if c.NArg() == 0 && isTerminal(s.in) {
		fmt.Fprintln(s.err, "reading a reply from the terminal: end it with Ctrl-D on a line of its own")
	}
	reply, err := io.ReadAll(io.LimitReader(in, maxInput+1)) // every byte counts, valid or not
	switch {
	case err != nil:
		return usageError("the reply: %v", err)
	case len(reply) > maxInput:
		return usageError("the reply is longer than %s", bytesText(maxInput))
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
		return printJSON(s.out, v)
	}
	_, err = io.WriteString(s.out, v.String())
	return err
}

// String describes a verdict for a person.
func (v verdict) String() string {
	var b strings.Builder
	section := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%s\n    %s\n", title, strings.ReplaceAll(visible(text), "\n", "\n    "))
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
	section("mended", strings.Join(v.Repairs, ", "))
	return b.String()
}
