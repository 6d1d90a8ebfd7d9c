package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"github.com/google/jsonschema-go/jsonschema"
)

// tool is a tool that a model was shown.
type tool struct {
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters"`
}

// call is a tool call as a reader found it.
type call struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// String writes the call on one line; of none it says so.
func (c *call) String() string {
	if c == nil {
		return "no call"
	}
	return c.Name + " " + string(c.Args)
}

// query is one reply to read: a line for mylm parse --jsonl and for peer.mjs.
type query struct {
	ID    string `json:"id,omitempty"`
	Input string `json:"input"`
	Tools []tool `json:"tools"`
	Chunk int    `json:"chunk,omitempty"`
}

// records reads a gzipped file of one JSON object a line.
func records[T any](c config, name string) ([]T, error) {
	f, err := c.file(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var all []T
	for d := json.NewDecoder(z); ; {
		var r T
		switch err := d.Decode(&r); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("%s: record %d: %w", name, len(all)+1, err)
		}
		all = append(all, r)
	}
}

// verdict is what mylm makes of a reply.
type verdict struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
	call
}

// parse has mylm read the replies.
func (c config) parse(queries []query) ([]verdict, error) {
	var in, fault bytes.Buffer
	e := json.NewEncoder(&in)
	for _, q := range queries {
		if err := e.Encode(q); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(c.mylm, "parse", "--jsonl")
	cmd.Stdin, cmd.Stderr = &in, &fault
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s parse --jsonl: %w: %s", c.mylm, err, bytes.TrimSpace(fault.Bytes()))
	}
	var all []verdict
	s := bufio.NewReader(bytes.NewReader(out))
	for d := json.NewDecoder(s); d.More(); {
		var v verdict
		if err := d.Decode(&v); err != nil {
			return nil, fmt.Errorf("%s parse --jsonl: answer %d: %w", c.mylm, len(all)+1, err)
		}
		if len(all) == len(queries) || v.ID != queries[len(all)].ID {
			return nil, fmt.Errorf("%s parse --jsonl: answer %d is for %q", c.mylm, len(all)+1, v.ID)
		}
		all = append(all, v)
	}
	if len(all) != len(queries) {
		return nil, fmt.Errorf("%s parse --jsonl: %d answers to %d questions", c.mylm, len(all), len(queries))
	}
	return all, nil
}

// declared looks tools up for a decoder.
type declared []tool

// Names lists the tools.
func (d declared) Names() []string {
	names := make([]string, len(d))
	for i, t := range d {
		names[i] = t.Name
	}
	return names
}

// Schema returns the schema of a tool's arguments.
func (d declared) Schema(name string) (*jsonschema.Schema, bool) {
	for _, t := range d {
		if t.Name == name {
			s := &jsonschema.Schema{}
			return s, json.Unmarshal(t.Parameters, s) == nil
		}
	}
	return nil, false
}
