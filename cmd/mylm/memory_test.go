package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/rogpeppe/go-internal/testscript"
)

// many N FILE writes N records as another program might have them.
func many(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: many N FILE")
	}
	var n int
	if _, err := fmt.Sscan(args[0], &n); err != nil {
		ts.Fatalf("many: %v", err)
	}
	var out bytes.Buffer
	for i := range n {
		fmt.Fprintf(&out, `{"key":"doc-%d","room":"room-%d","at":"2026-01-%02dT10:00:00","body":"The place of marker%d is shelf %d, \u00e4bove <b> & \"c\"."}`+"\n", i, i%5, 1+i%28, i, i*7%113)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), out.Bytes(), 0o600))
}

// id VARIABLE WORD sets a variable to the id of the memory that a search for
// the word finds first.
func id(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: id VARIABLE WORD")
	}
	ts.Check(ts.Exec("mylm", "memory", "search", "--json", args[1]))
	var hits []struct{ ID string }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &hits))
	if len(hits) == 0 {
		ts.Fatalf("id: nothing is found for %q", args[1])
	}
	ts.Setenv(args[0], hits[0].ID)
}

// damage FILE overwrites a part of a file, and cuts its end off.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: damage FILE")
	}
	path := ts.MkAbs(args[0])
	info, err := os.Stat(path)
	ts.Check(err)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	ts.Check(err)
	_, err = f.WriteAt(bytes.Repeat([]byte("damage! "), 1024), info.Size()/3)
	ts.Check(err)
	ts.Check(f.Truncate(info.Size() - 8192))
	ts.Check(f.Close())
}
