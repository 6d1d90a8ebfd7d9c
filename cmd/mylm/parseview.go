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

// parseOne shows what is made of one reply.
func parseOne(c *cli.Context, in io.Reader, s streams, set *prompts.Set) error {
	reply, err := readText(in)
	if err != nil {
		return usageError("the reply: %v", err)
	}
	registry, err := registryOf(nil)
	if err != nil {
		return err
	}
	l := &lookup{names: registry.Names(), schemas: map[string]*jsonschema.Schema{}}
	for _, t := range registry.Tools() {
		l.schemas[t.Name] = t.Schema
	}
	stop := protocol.End
	if c.Bool("cut") {
		stop = protocol.Length
	}
	v, err := judge([]string{reply}, stop, l, set)
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
			fmt.Fprintf(&b, "%s\n    %s\n", title, strings.ReplaceAll(printable(text), "\n", "\n    "))
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
		section("cannot be used ("+v.Reason+"); the model would be told", v.Hint)
	}
	section("mended", strings.Join(v.Repairs, ", "))
	return b.String()
}
