package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rogpeppe/go-internal/testscript"

	"mylm/cmd/mylm/internal/term"
)

// eventSchema is the published schema of a line of -o ndjson. It is resolved by
// a package that the command has anyway: another would be initialized in each of
// the thousands of times that the tests start it.
func eventSchema(t *testing.T) (schema *jsonschema.Resolved, types []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "events.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc jsonschema.Schema
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if schema, err = doc.Resolve(nil); err != nil {
		t.Fatal(err)
	}
	for name := range doc.Defs {
		for _, prefix := range []string{"event_", "line_"} {
			if kind, ok := strings.CutPrefix(name, prefix); ok {
				types = append(types, kind)
			}
		}
	}
	return schema, types
}

// line holds the fields of a line of -o ndjson that tests read.
type line struct {
	Type   string
	Text   string
	Result struct {
		Status     string
		StopReason string `json:"stop_reason"`
		Response   string
	}
	Error json.RawMessage
}

// checkLine returns why a line does not fit the schema.
func checkLine(schema *jsonschema.Resolved, line string) error {
	var v map[string]any
	if err := json.Unmarshal([]byte(line), &v); err != nil {
		return err
	}
	if at, ok := v["time"].(string); ok {
		if _, err := time.Parse(time.RFC3339, at); err != nil {
			return err // the schema has the form, which the package does not check
		}
	}
	return schema.Validate(v)
}

// unpublished lists the lines that do not fit the schema.
func unpublished(schema *jsonschema.Resolved, out string) (faults []string) {
	for text := range strings.Lines(out) {
		if err := checkLine(schema, text); err != nil {
			faults = append(faults, text+err.Error())
		}
	}
	return faults
}

// published parses lines of -o ndjson, each of which has to fit the schema.
func published(t *testing.T, out string) (all []line) {
	t.Helper()
	schema, _ := eventSchema(t)
	for _, fault := range unpublished(schema, out) {
		t.Error(fault)
	}
	for text := range strings.Lines(out) {
		var l line
		_ = json.Unmarshal([]byte(text), &l) // the schema has seen it
		all = append(all, l)
	}
	if len(all) == 0 {
		t.Fatal("no line at all")
	}
	return all
}

// different replays every session below a data directory, with the environment of a
// command, and returns the differences, except of sessions that a test has damaged.
func different(data string, command *exec.Cmd) string {
	files, _ := filepath.Glob(filepath.Join(data, "mylm", "sessions", "*.jsonl")) // the pattern is a good one
	if len(files) == 0 {
		return ""
	}
	replay := exec.Command("replay-all", files...)
	replay.Dir, replay.Env = command.Dir, command.Env
	out, err := replay.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s%v", out, err)
	}
	return string(out)
}

// replayAll is mylm replay of several sessions in one process, which saves most of the
// time. It prints what is said of those that differ.
func replayAll() {
	said, err := os.CreateTemp("", "replay-")
	if err != nil {
		panic(err)
	}
	defer os.Remove(said.Name())
	for _, file := range os.Args[1:] {
		before, _ := said.Seek(0, io.SeekEnd)
		code := program([]string{"mylm", "replay", file}, term.Streams{In: os.Stdin, Out: said, Err: said})
		all, err := os.ReadFile(said.Name())
		if err != nil {
			panic(err)
		}
		if text := string(all[before:]); code != 0 && !strings.Contains(text, "is damaged") {
			fmt.Printf("%s: exit %d: %s", filepath.Base(file), code, text)
		}
	}
}

// publishedScript is the command "published" of scripts: the lines on the last
// stdout have to fit the schema.
func publishedScript(schema *jsonschema.Resolved) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) > 0 {
			ts.Fatalf("usage: published")
		}
		out := ts.ReadFile("stdout")
		if faults := unpublished(schema, out); out == "" || len(faults) > 0 {
			ts.Fatalf("not as published: %s", strings.Join(faults, "\n"))
		}
	}
}

// replayAfter replays the sessions of a script at its end, with the variables of
// its beginning.
func replayAfter(env *testscript.Env) {
	env.Defer(func() {
		cmd := &exec.Cmd{Dir: env.WorkDir}
		cmd.Env = append(os.Environ(), "HOME="+env.WorkDir+"/home", "XDG_CONFIG_HOME="+env.WorkDir+"/home/config", "XDG_DATA_HOME="+env.WorkDir+"/home/data")
		if faults := different(filepath.Join(env.WorkDir, "home", "data"), cmd); faults != "" {
			env.T().Fatal(faults)
		}
	})
}
