package memory_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"mylm/memory"
)

// childEnv makes the test binary a process that uses a memory: its value is
// what to do, and the first argument the path.
const childEnv = "MYLM_MEMORY_CHILD"

var day = time.Date(2026, 3, 14, 9, 26, 53, 589793000, time.UTC)

// child does its work until it is killed, and says on stdout what it was told
// is on the disk.
func child() {
	ctx, path := context.Background(), os.Args[1]
	fail := func(err error) {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	if os.Getenv(childEnv) == "nothing" {
		return
	}
	s, err := memory.Open(ctx, path, memory.Options{})
	if err != nil {
		fail(err)
	}
	switch os.Getenv(childEnv) {
	case "open":
		s.Close()
	case "search":
		if _, err := s.Search(ctx, memory.Query{Text: question}); err != nil {
			fail(err)
		}
		s.Close()
	case "embed":
		if err := s.Embed(ctx, noise{}, func(done, _ int) { fmt.Println(done) }); err != nil {
			fail(err)
		}
		s.Close()
	case "write":
		out := bufio.NewWriter(os.Stdout)
		for n := 0; ; n++ {
			id := fmt.Sprintf("%d-%d", os.Getpid(), n)
			text := fmt.Sprintf("%s: some words of number %d, enough to fill segments from time to time", id, n)
			if _, err := s.Add(ctx, memory.Document{ID: id, Text: text, Session: "s"}); err != nil {
				fail(err)
			}
			fmt.Fprintln(out, id)
			if err := out.Flush(); err != nil {
				fail(err)
			}
		}
	}
}

// start starts a child on a path.
func start(t testing.TB, task, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], path)
	cmd.Env = append(os.Environ(), childEnv+"="+task)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}
