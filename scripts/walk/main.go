// Walk prints how many files of the module's own code a run of the command
// goes through, by the coverage of a binary built for it.
//
//	go run ./scripts/walk [-v]
//
// It builds the command with "go build -cover" and runs it three times with an
// empty HOME: mylm version, a question to the demo model that needs no tool, and
// one that needs one. With -v it lists the files. It exits with 1 where a run
// goes through more files than its bound.
package main

import (
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// runs are the three commands, with the number of files each may go through.
var runs = []struct {
	args  []string
	bound int
}{
	{[]string{"version"}, 12},
	{[]string{"ask", "-m", "demo", "hello"}, 80},
	{[]string{"ask", "-m", "demo", "what files are here?"}, 100},
}

func main() {
	log.SetFlags(0)
	verbose := flag.Bool("v", false, "list the files")
	flag.Parse()
	within, err := walk(*verbose)
	if err != nil {
		log.Fatal(err)
	}
	if !within {
		os.Exit(1)
	}
}

func walk(verbose bool) (within bool, err error) {
	dir, err := os.MkdirTemp("", "walk")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "mylm")
	if out, err := exec.Command("go", "build", "-cover", "-coverpkg=mylm/...", "-o", program, "./cmd/mylm").CombinedOutput(); err != nil {
		return false, fmt.Errorf("go build: %w\n%s", err, out)
	}
	within = true
	for i, run := range runs {
		files, err := files(program, filepath.Join(dir, fmt.Sprint(i)), run.args)
		if err != nil {
			return false, err
		}
		fmt.Printf("%4d files (at most %d)  mylm %s\n", len(files), run.bound, strings.Join(run.args, " "))
		within = within && len(files) <= run.bound
		if verbose {
			fmt.Println("    " + strings.Join(files, "\n    "))
		}
	}
	return within, nil
}

// files runs the program in an empty home and lists the files it went through.
func files(program, dir string, args []string) ([]string, error) {
	home, counts := filepath.Join(dir, "home"), filepath.Join(dir, "counts")
	for _, d := range []string{home, counts} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GOCOVERDIR=" + counts, "CI=true"}
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	profile := filepath.Join(dir, "profile")
	if out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i="+counts, "-o="+profile).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go tool covdata: %w\n%s", err, out)
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		place, covered := strings.CutSuffix(strings.TrimSpace(line), " 0")
		if file, _, ok := strings.Cut(place, ".go:"); ok && !covered {
			seen[strings.TrimPrefix(file, "mylm/")+".go"] = true
		}
	}
	return slices.Sorted(maps.Keys(seen)), nil
}
