package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// config is what the command was started with.
type config struct {
	mylm   string // the binary
	corpus string // the folder; "" is none
	out    io.Writer
	misses io.Writer // where to list what is not as it was meant

	refused []string // sentences about what mylm would not run
}

// parts are what can be measured, in the order of the report.
var parts = []struct {
	name   string
	corpus bool // it needs one
	run    func(config) error
}{
	{"speed", false, speed},
	{"exact", true, exact},
	{"dialects", true, dialects},
}

func main() {
	c := config{corpus: os.Getenv("MYLM_CORPUS"), out: os.Stdout}
	flag.StringVar(&c.mylm, "mylm", "mylm", "the mylm binary whose `mylm parse --jsonl` reads the corpora")
	misses := flag.Bool("misses", false, "list on stderr what was read otherwise than it was meant")
	flag.Parse()
	c.misses = io.Discard
	if *misses {
		c.misses = os.Stderr
	}
	if err := run(c, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(c config, wanted []string) error {
	for _, name := range wanted {
		if name != "speed" && name != "exact" && name != "dialects" {
			return fmt.Errorf("there is no part %q: name speed, exact or dialects, or nothing for all of them", name)
		}
	}
	for _, p := range parts {
		if len(wanted) > 0 && !slices.Contains(wanted, p.name) {
			continue
		}
		if p.corpus && c.corpus == "" {
			fmt.Fprintf(c.out, "\n%s: skipped, it needs the corpus: set MYLM_CORPUS to the folder that holds it\n", p.name)
			continue
		}
		if err := p.run(c); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// file is a file of the corpus.
func (c config) file(name string) (*os.File, error) {
	f, err := os.Open(filepath.Join(c.corpus, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("MYLM_CORPUS is %s, but holds no %s", c.corpus, name)
	}
	return f, err
}
