package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// original is a file before the edits.
type original struct {
	text []byte
	mode os.FileMode
}

// originals are the ten files of the edits, of any bytes and modes.
func originals() map[string]original {
	random := rand.New(rand.NewPCG(7, 7))
	all := map[string]original{}
	for i := range 10 {
		lines := [][]byte{}
		for n := range 20 {
			lines = append(lines, fmt.Appendf(nil, "line %d of it, caf\xe9 %x", n, random.Uint64()))
		}
		end := []string{"\n", "\r\n"}[i%2]
		modes := []os.FileMode{0o644, 0o600, 0o755, 0o640, 0o666}
		all[fmt.Sprintf("work/d%d/f%d", i%3, i)] = original{bytes.Join(lines, []byte(end)), modes[i%5]}
	}
	return all
}

// edits N makes a workspace, work, and a script of a model that makes N edits
// there and writes a few files besides: edits.txt.
func edits(ts *testscript.TestScript, neg bool, args []string) {
	n := 0
	if len(args) == 1 {
		n, _ = strconv.Atoi(args[0])
	}
	if neg || n < 1 {
		ts.Fatalf("usage: edits N")
	}
	var names []string
	for name, o := range originals() {
		path := ts.MkAbs(name)
		ts.Check(os.MkdirAll(filepath.Dir(path), 0o700))
		ts.Check(os.WriteFile(path, o.text, o.mode))
		ts.Check(os.Chmod(path, o.mode))
		names = append(names, strings.TrimPrefix(name, "work/"))
	}
	slices.Sort(names)
	var script strings.Builder
	reply := func(tool string, args map[string]any) {
		b, err := json.Marshal(args)
		ts.Check(err)
		fmt.Fprintf(&script, "=== reply\n<tool_code><name>%s</name><parameters>%s</parameters></tool_code>\n", tool, b)
	}
	for i := range n {
		reply("edit_file", map[string]any{"path": names[i%10], "old": fmt.Sprintf("line %d of it", 2+i/10), "new": fmt.Sprintf("edit %d\nand more", i)})
		if i%10 == 0 {
			reply("write_file", map[string]any{"path": fmt.Sprintf("made/%d/g", i%20), "content": fmt.Sprint(i), "create_parents": true})
		}
	}
	reply("write_file", map[string]any{"path": names[0], "content": "all new"})
	script.WriteString("=== reply\nDone.\n")
	ts.Check(os.WriteFile(ts.MkAbs("edits.txt"), []byte(script.String()), 0o600))
}

// restored checks that the workspace of edits is as it was, to the byte and the
// mode; "! restored" that none of its files is.
func restored(ts *testscript.TestScript, neg bool, args []string) {
	all := originals()
	for name, o := range all {
		info, err := os.Stat(ts.MkAbs(name))
		ts.Check(err)
		same := ts.ReadFile(name) == string(o.text)
		switch {
		case same == neg:
			ts.Fatalf("%s: as it was: %v", name, same)
		case info.Mode() != o.mode:
			ts.Fatalf("%s has mode %v, want %v", name, info.Mode(), o.mode)
		}
	}
	count := 0
	ts.Check(filepath.WalkDir(ts.MkAbs("work"), func(_ string, d os.DirEntry, err error) error {
		if err == nil {
			count++
		}
		return err
	}))
	if !neg && count != len(all)+4 { // work and its three directories
		ts.Fatalf("%d files and directories are in the workspace, want %d", count, len(all)+4)
	}
}
