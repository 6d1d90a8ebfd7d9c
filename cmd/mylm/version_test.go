package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// A release says what it was built from, by the linker's flags; a build in a clone
// says the same from version control, if it was built there. Some things are left out.
func TestVersion(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "mylm")
	flags := "-w -X main.release=1.2.3 -X main.commit=0123456789abcdef0123 -X main.date=2026-01-02T03:04:05Z"
	if out, err := exec.Command("go", "build", "-ldflags", flags, "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := regexp.MustCompile(`^mylm 1\.2\.3 \(commit 0123456789ab, 2026-01-02T03:04:05Z, go\S+, \w+/\w+\)\n$`)
	for _, arg := range []string{"version", "--version"} {
		cmd := exec.Command(program, arg)
		cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
		if out, err := cmd.CombinedOutput(); err != nil || !want.Match(out) {
			t.Errorf("mylm %s: %v\n%s", arg, err, out)
		}
	}

	// text/template finds methods by name, and a program that can do that keeps every
	// exported method of every type: 2.4 MB. urfave/cli imports it for its own help;
	// as long as nothing reaches that, the linker leaves it out. It also imports a
	// Markdown parser, which every start would set up; go.mod replaces that.
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte("main.newApp\x00")) {
		t.Fatal("the program does not hold the names of its functions")
	}
	for _, name := range []string{"text/template.(*Template).Execute", "html/template.(*Template).Execute", "reflect.Value.MethodByName", "russross/blackfriday/v2."} {
		if bytes.Contains(text, []byte(name)) {
			t.Errorf("the command links %s", name)
		}
	}
}
