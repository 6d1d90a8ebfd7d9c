package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	hundred = 100_000
	million = 1_000_000
)

func main() {
	log.SetFlags(0)
	dir := flag.String("dir", "", "the folder of the data, which stay there; a temporary one without it")
	large := flag.Bool("million", true, "measure 1,000,000 documents, too")
	only := flag.String("only", "", "one part: cold, warm or vectors")
	times := flag.Int("times", 7, "how many processes search cold")
	flag.Parse()
	ctx := context.Background()
	var err error
	switch {
	case flag.NArg() == 3: // one of the processes
		err = first(ctx, flag.Arg(0), flag.Arg(1), flag.Arg(2))
	case flag.NArg() > 0:
		err = fmt.Errorf("%q is not expected", flag.Args())
	default:
		err = run(ctx, *dir, *only, *large, *times)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dir, only string, large bool, times int) (err error) {
	if only == "vectors" {
		return vectors(ctx)
	}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "mylm-bench"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	sizes := []int{hundred}
	if large {
		sizes = append(sizes, million)
	}
	for _, n := range sizes {
		names := []string{"mylm", "mylm/384"}
		if n == hundred {
			names = append(names, "mylm/768", "fts5", "bleve", "chromem")
		}
		for _, name := range names {
			if err := prepare(ctx, name, folder(dir, name, n), n); err != nil {
				return fmt.Errorf("%s with %d documents: %w", name, n, err)
			}
		}
	}
	if only != "warm" {
		if err := colds(ctx, dir, large, times); err != nil {
			return err
		}
	}
	if only != "cold" {
		if err := warms(ctx, dir); err != nil {
			return err
		}
	}
	if only != "" {
		return nil
	}
	return vectors(ctx)
}

func colds(ctx context.Context, dir string, large bool, times int) error {
	fmt.Print("| cold, the median | clock | processor | memory | limit |\n|---|---|---|---|---|\n")
	for _, c := range []struct {
		n                           int
		name, question, what, limit string
	}{
		{hundred, "mylm", question, "words", "50 ms"}, {hundred, "fts5", question, "words", ""}, {hundred, "bleve", question, "words", ""},
		{hundred, "mylm/384", question, "words, with vectors", "400 ms"}, {hundred, "mylm/384", unknown, "all vectors", "400 ms"},
		{hundred, "mylm/768", unknown, "all vectors of 768", ""}, {hundred, "chromem", question, "all vectors", ""},
		{million, "mylm", question, "words", "250 ms, 150 MB"}, {million, "mylm/384", question, "words, with vectors", "3 s"},
		{million, "mylm/384", unknown, "all vectors", "3 s"},
	} {
		if c.n == million && !large {
			continue
		}
		if err := cold(ctx, fmt.Sprintf("%s, %d: %s", c.name, c.n, c.what), c.limit, c.name, folder(dir, c.name, c.n), c.question, times); err != nil {
			return err
		}
	}
	return nil
}

func warms(ctx context.Context, dir string) error {
	fmt.Print("\n| 100,000 | warm search, the median | its processor time, the mean | recording two documents beyond the fsync, the median |\n|---|---|---|---|\n")
	for _, name := range []string{"mylm", "mylm/384", "fts5", "bleve", "chromem"} {
		if err := warm(ctx, name, folder(dir, name, hundred)); err != nil {
			return err
		}
	}
	fmt.Println("| limit of mylm | 6 ms | | 1 ms |")
	return nil
}

func folder(dir, name string, n int) string {
	return filepath.Join(dir, filepath.FromSlash(name)+"-"+strconv.Itoa(n))
}

// prepare makes a store of n documents, unless it is there.
func prepare(ctx context.Context, name, dir string, n int) error {
	complete := filepath.Join(dir, "complete")
	if _, err := os.Stat(complete); err == nil {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	dimension, err := strconv.Atoi(filepath.Base(name))
	copied := err == nil // of the store without vectors
	if copied {
		if err := os.CopyFS(dir, os.DirFS(folder(filepath.Dir(filepath.Dir(dir)), "mylm", n))); err != nil {
			return err
		}
		if err := os.Remove(complete); err != nil {
			return err
		}
	}
	s, err := opened(ctx, name, dir)
	if err != nil {
		return err
	}
	start := time.Now()
	if copied {
		err = s.(mylm).Embed(ctx, noise(dimension), nil)
	} else {
		err = batches(n, func(first int, texts []string) error { return s.record(ctx, first, texts...) })
	}
	if err != nil {
		return err
	}
	log.Printf("%s, %d documents: made in %.0f s", name, n, time.Since(start).Seconds())
	if err := s.close(); err != nil {
		return err
	}
	return os.WriteFile(complete, nil, 0o644)
}

// measured is what a process prints of its search.
type measured struct {
	Clock, Processor time.Duration
	Hits, Memory     int // in kB, at most
}

// first opens a store and searches.
func first(ctx context.Context, name, dir, question string) error {
	start, before := time.Now(), processor()
	s, err := opened(ctx, name, dir)
	if err != nil {
		return err
	}
	n, err := s.search(ctx, question)
	if err != nil {
		return err
	}
	m := measured{time.Since(start), processor() - before, n, 0}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(peak, &m.Memory); err != nil {
		return fmt.Errorf("the peak of memory: %w", err)
	}
	return json.NewEncoder(os.Stdout).Encode(m)
}

// processor is the processor time of this process.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails for no process of one's own
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func cold(ctx context.Context, what, limit, name, dir, question string, times int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var clock, cpu []time.Duration
	memory := 0
	for range times {
		c := exec.CommandContext(ctx, self, name, dir, question)
		c.Stderr = os.Stderr
		out, err := c.Output()
		var m measured
		if err == nil {
			err = json.Unmarshal(out, &m)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if m.Hits == 0 && question != unknown {
			return fmt.Errorf("%s: nothing is found", what)
		}
		clock, cpu = append(clock, m.Clock), append(cpu, m.Processor)
		memory = max(memory, m.Memory)
	}
	fmt.Printf("| %s | %s | %s | %d MB | %s |\n", what, ms(median(clock)), ms(median(cpu)), memory>>10, limit)
	return nil
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.3g ms", float64(d.Microseconds())/1000) }

// warm searches and records in one process.
func warm(ctx context.Context, name, dir string) error {
	s, err := opened(ctx, name, dir)
	if err != nil {
		return err
	}
	var searches, records, syncs []time.Duration
	var before time.Duration
	for i, q := range questions(210) {
		start := time.Now()
		if i == 10 {
			before = processor()
		}
		if _, err := s.search(ctx, q); err != nil {
			return err
		}
		if i >= 10 { // the first ones read the files
			searches = append(searches, time.Since(start))
		}
	}
	used := (processor() - before) / time.Duration(len(searches))
	if err := s.close(); err != nil {
		return err
	}
	// A copy takes what is recorded, or each run would measure another store.
	copied := dir + "-copy"
	defer os.RemoveAll(copied)
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		return err
	}
	if s, err = opened(ctx, name, copied); err != nil {
		return err
	}
	defer s.close()
	f, err := os.Create(filepath.Join(copied, "fsync"))
	if err != nil {
		return err
	}
	defer f.Close()
	c, page := newCorpus(2), make([]byte, 16<<10)
	for i := range 300 {
		start := time.Now()
		if _, err := f.Write(page); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		syncs = append(syncs, time.Since(start))
		start = time.Now()
		if err := s.record(ctx, 10*million+2*i, c.text(), c.text()); err != nil {
			return err
		}
		records = append(records, time.Since(start))
	}
	fmt.Printf("| %s | %s | %s | %s (fsync %s) |\n", name, ms(median(searches)), ms(used), ms(median(records)-median(syncs)), ms(median(syncs)))
	return nil
}
