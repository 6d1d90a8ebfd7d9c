package files_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mylm/tools/files"
	"mylm/tools/files/undo"
)

// TestKilledWriter kills a process that writes a file, at whatever point. The
// file is whole, undo brings the first version back, and nothing is left.
func TestKilledWriter(t *testing.T) {
	rounds, left := often(12, 300), 0
	for round := range rounds {
		root, dir := tree(t, map[string]string{"deep/er/f": "the first\n"}), t.TempDir()
		file := filepath.Join(root, "deep/er/f")
		if round%2 == 1 { // there was no file, and no directory
			if err := os.RemoveAll(filepath.Join(root, "deep")); err != nil {
				t.Fatal(err)
			}
		} else if err := os.Chmod(file, 0o640); err != nil {
			t.Fatal(err)
		}
		kill(t, root, dir, rand.IntN(3), time.Duration(rand.IntN(30_000))*time.Microsecond)

		if b, err := os.ReadFile(file); err == nil && string(b) != "the first\n" && string(b) != long(b[0]) {
			t.Fatalf("round %d: the file has %d bytes and is neither old nor new", round, len(b))
		} else if err != nil && round%2 == 0 {
			t.Fatalf("round %d: %v", round, err)
		}
		if names, _ := filepath.Glob(filepath.Join(root, "deep/er/.mylm-*")); len(names) > 0 {
			left++
		}
		store := undo.NewStore(undo.Options{Dir: dir})
		runs, err := store.Runs("")
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			if _, err := store.Undo(t.Context(), r, false); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		if round%2 == 1 {
			nothingElse(t, root)
			continue
		}
		nothingElse(t, filepath.Join(root, "deep/er"), "f")
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o640 || content(t, file) != "the first\n" {
			t.Fatalf("round %d: after undo: %v, %v", round, info.Mode(), err)
		}
	}
	t.Logf("%d of %d kills left a temporary file", left, rounds)
}

// kill starts a writer and kills it some time after its n-th write.
func kill(t *testing.T, root, dir string, n int, later time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MYLM_FILES_ROOT="+root, "MYLM_FILES_UNDO="+dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range n {
		if !lines.Scan() {
			t.Errorf("the writer ended by itself")
		}
	}
	timer := time.AfterFunc(later, func() { cmd.Process.Kill() })
	defer timer.Stop()
	for lines.Scan() {
		if strings.Contains(lines.Text(), " ") {
			t.Error(lines.Text())
		}
	}
	cmd.Wait()
}

// The next run in the workspace removes what a killed one has left.
func TestLeftoversAreRemoved(t *testing.T) {
	root, dir := tree(t, map[string]string{"deep/er/f": "x"}), t.TempDir()
	kill(t, root, dir, 1, 0)
	journals, err := filepath.Glob(filepath.Join(dir, "*", "journal.jsonl"))
	if err != nil || len(journals) != 1 {
		t.Fatalf("%q, %v", journals, err)
	}
	temps := regexp.MustCompile(`"temp":"([^"]+)"`).FindAllStringSubmatch(content(t, journals[0]), -1)
	left := filepath.Join(root, temps[len(temps)-1][1]) // where the kill came just before the renaming
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := files.Options{Root: root, Journal: undo.NewStore(undo.Options{Dir: dir}).Begin(root, "")}
	if out := write(t, o, "other", "x"); out.Error != "" {
		t.Fatal(out.Error)
	}
	nothingElse(t, filepath.Join(root, "deep/er"), "f")
}

// Two processes write the same file: it is one of both, and each run can be
// told from the other.
func TestTwoProcesses(t *testing.T) {
	root, dir := tree(t, map[string]string{"deep/er/f": "the first\n"}), t.TempDir()
	done := make(chan bool)
	for range 2 {
		go func() {
			kill(t, root, dir, 5, 5*time.Millisecond)
			done <- true
		}()
	}
	<-done
	<-done
	if b := content(t, filepath.Join(root, "deep/er/f")); b != long(b[0]) {
		t.Errorf("the file has %d bytes of both", len(b))
	}
	store := undo.NewStore(undo.Options{Dir: dir})
	runs, err := store.Runs(root)
	if err != nil || len(runs) != 2 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	for _, r := range runs {
		if len(r.Files()) != 1 {
			t.Errorf("the run %s: %q", r.ID, r.Files())
		}
		if _, err := store.Undo(t.Context(), r, true); err != nil {
			t.Error(err)
		}
	}
	first := fmt.Sprint(content(t, filepath.Join(root, "deep/er/f")))
	if first != "the first\n" && first != long(first[0]) {
		t.Errorf("after undoing both the file has %d bytes", len(first))
	}
}
