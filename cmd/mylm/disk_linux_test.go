package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// onDisk runs a shell script in which mylm has its data on a file system of its
// own, mounted with options where only the script sees it.
func onDisk(t *testing.T, replies, options, script string) (out, errs, code string) {
	t.Helper()
	cmd := command(t, map[string]string{"replies.txt": replies}, "version")
	data := filepath.Join(cmd.Dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	mount := "mount -t tmpfs -o " + options + " none " + data
	if err := exec.Command("unshare", "-rm", "sh", "-c", mount).Run(); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", `exec unshare -rm sh -c "$1"`, "sh", mount + "\n" + script}
	cmd.Env = append(cmd.Env, "MYLM_NO_SAVE=", "MYLM_NO_MEMORY=1")
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	code = exitWithin(t, cmd)
	return o.String(), e.String(), code
}

// If no file can be created the run continues, and reports that once.
func TestSessionCannotBeKept(t *testing.T) {
	replies := commandReply("echo x >> made")
	for name, test := range map[string][2]string{
		"read-only": {"size=1m,ro", ""},
		"full":      {"size=64k", "dd if=/dev/zero of=data/fill bs=4k count=64 2>/dev/null\n"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs, code := onDisk(t, replies, test[0], test[1]+"mylm ask --yes q; code=$?; ls data; exit $code")
			if code != "0" || !strings.HasPrefix(out, "Done.\n") || strings.Count(errs, "this session is not kept, and cannot be resumed") != 1 {
				t.Errorf("exit %s, %q, %s", code, out, errs)
			}
			if strings.Contains(out, "jsonl") || !strings.Contains(errs, "read-only file system") && !strings.Contains(errs, "no space left on device") {
				t.Errorf("%q, %s", out, errs)
			}
		})
	}
}

// A session that could not be kept is not named in the result.
func TestSessionNotNamed(t *testing.T) {
	out, errs, code := onDisk(t, "=== reply\nDone.\n", "size=1m,ro", "mylm ask --json q")
	if code != "0" || !strings.Contains(out, `"output": "Done."`) || strings.Contains(out, `"session"`) {
		t.Errorf("exit %s, %s, %s", code, out, errs)
	}
}

// A conversation that could not be saved is not announced as saved.
func TestMemoryCannotBeKept(t *testing.T) {
	out, errs, code := onDisk(t, "=== reply\nDone.\n", "size=64k", "MYLM_NO_MEMORY= mylm ask q")
	if code != "0" || out != "Done.\n" || strings.Count(errs, "was not remembered") != 1 || strings.Contains(errs, "is remembered") {
		t.Errorf("exit %s, %q, %s", code, out, errs)
	}
}

// What is remembered is found where nothing can be written: on a full disk, where
// it can be forgotten, too, and on one that is read-only.
func TestMemoryCannotBeWritten(t *testing.T) {
	const remember = "export MYLM_NO_MEMORY=\nmylm memory add 'the staging host is called heron' >/dev/null 2>&1\n"
	const search = "mylm memory search staging host; echo exit $?\nmylm ask q\n"
	replies := "=== reply\n<tool_code><name>search_memory</name><parameters>{\"query\":\"staging host\"}</parameters></tool_code>\n=== reply\nDone.\n"
	for name, test := range map[string][2]string{
		"full":      {"head -c 10m /dev/zero >data/fill 2>/dev/null\n", "ls data; mylm memory forget --all --yes; echo forgot $?; rm data/fill; mylm memory search staging host"},
		"read-only": {"mount -o remount,ro none data\n", "mylm memory forget --all --yes; echo forgot $?"},
	} {
		out, errs, code := onDisk(t, replies, "size=1m", remember+test[0]+search+test[1])
		found, rest, _ := strings.Cut(out, "exit 0\n")
		if !strings.Contains(found, "heron") || !strings.Contains(rest, "Done.\n") {
			t.Errorf("%s: not found: exit %s, %q, %s", name, code, out, errs)
		}
		if name == "full" && !strings.HasSuffix(out, "forgot 0\n") || name != "full" && !strings.HasSuffix(out, "forgot 1\n") {
			t.Errorf("%s: exit %s, %q, %s", name, code, out, errs)
		}
	}
}

// A disk that fills up ends the run before anything happens that is not recorded,
// and the session can be resumed.
func TestDiskFillsUp(t *testing.T) {
	p := newPlaced(t, shellCall("dd if=/dev/zero of=data/fill bs=4k count=256 2>/dev/null; seq 3000"), shellCall("echo never >> made"), "Done.")
	script := `export OLLAMA_HOST=` + p.URL + ` MYLM_MODEL=m
mylm ask --yes q; echo "exit $?"; cat made 2>/dev/null
rm data/fill
mylm sessions list --global
mylm resume --yes; echo "exit $?"; cat made`
	out, errs, code := onDisk(t, "", "size=256k", script)
	if code != "0" {
		t.Fatalf("exit %s, %q, %s", code, out, errs)
	}
	if !strings.HasPrefix(out, "exit 1\n") || !strings.Contains(errs, "the session could not be recorded") || !strings.Contains(errs, "no space left on device") || !strings.Contains(errs, "go on: mylm resume ") {
		t.Errorf("%q, %s", out, errs)
	}
	if strings.Count(errs, "are saved on this machine only") != 1 || strings.Index(errs, "are saved on this machine only") > strings.Index(errs, "$ dd") {
		t.Errorf("told late that it is saved, or again: %s", errs)
	}
	if !strings.Contains(out, "  unfinished  ") || !strings.HasSuffix(out, "Done.\nexit 0\nnever\n") {
		t.Errorf("%q, %s", out, errs)
	}
}

// An exam whose disk is full ends with what was reached, wherever it was, and goes on
// once there is room.
func TestExamOnFullDisk(t *testing.T) {
	slow(t)
	suite, err := os.Stat("../../agent/eval/suites/core.yaml")
	if err != nil {
		t.Fatal(err)
	}
	size := func(kib int64) string { return fmt.Sprintf("size=%dk", suite.Size()>>10+kib) } // each exam keeps its suite
	for _, size := range []string{size(7), size(19), size(51), size(91)} {
		out, errs, code := onDisk(t, "", size, "mylm eval -m demo --suite smoke -q; echo exit $?\nmount -o remount,size=20m none data\nmylm eval --resume last -q >/dev/null; echo exit $?\nmylm eval list")
		if code != "0" || strings.Count(out, "exit 1\n") != 1 || strings.Count(out, "exit 0\n") != 1 || !strings.Contains(out, "Not complete: ") || !strings.HasSuffix(out, "complete\n") {
			t.Errorf("%s: exit %s: %s%s", size, code, out, errs)
		}
		if !strings.Contains(errs, "no space left on device") || !strings.Contains(errs, "Make room") || !strings.Contains(errs, "mylm eval --resume ") {
			t.Errorf("%s: %s", size, errs)
		}
	}
	out, errs, _ := onDisk(t, "", size(31), "mylm eval -m demo --suite smoke -q; mylm eval -m demo --suite smoke -q\nls data/mylm/eval | wc -l")
	if !strings.HasSuffix(out, "\n1\n") {
		t.Errorf("an exam that could not begin is kept: %s%s", out, errs)
	}
}

// Where stdout takes no more, the advice is not about the data.
func TestOutputIsFull(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	cmd := command(t, nil, "tools")
	var e bytes.Buffer
	cmd.Stdout, cmd.Stderr = full, &e
	if code := exitCode(cmd.Run()); code != "1" || !strings.Contains(e.String(), "Make room where the output goes.") || strings.Contains(e.String(), "--no-save") {
		t.Errorf("exit %s: %s", code, e.String())
	}
}
