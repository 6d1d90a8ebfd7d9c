package memory_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"mylm/memory"
)

// TestKilledWriters kills two processes that write, again and again, in the
// same memory, which three readers search meanwhile. Whatever a writer was told
// is on the disk has to be there.
func TestKilledWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	told := map[string]bool{}
	for round := range rounds(3, 100) {
		var mu sync.Mutex
		var writers, readers sync.WaitGroup
		for range 2 {
			writers.Go(func() {
				cmd, out := start(t, "write", path)
				for range 1 + rand.IntN(40) {
					if !out.Scan() {
						t.Error("a writer ended by itself")
						break
					}
					mu.Lock()
					told[out.Text()] = true
					mu.Unlock()
				}
				cmd.Process.Kill()
				for out.Scan() { // what it was told before it died
					mu.Lock()
					told[out.Text()] = true
					mu.Unlock()
				}
				cmd.Wait()
			})
		}
		done := make(chan struct{})
		for range 3 {
			readers.Go(func() {
				s := open(t, path)
				defer s.Close()
				for {
					if _, err := s.Search(t.Context(), memory.Query{Text: "words of number 7"}); err != nil {
						t.Errorf("a reader: %v", err)
						return
					}
					select {
					case <-done:
						return
					default:
					}
				}
			})
		}
		writers.Wait()
		close(done)
		readers.Wait()
		s := open(t, path)
		if s.Salvaged() != nil {
			t.Fatalf("round %d: %v", round, s.Salvaged())
		}
		there := contents(t, s)
		for id := range told {
			if there[id] == "" {
				t.Fatalf("round %d: %s was acknowledged and is not there", round, id)
			}
		}
		healthy(t, s)
		s.Close()
	}
	t.Logf("%d documents were acknowledged", len(told))
}

// TestKilledOpening kills a process that makes a memory, brings an old one up
// to date, or repairs one.
func TestKilledOpening(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "memory.db")
	want := sample(t, whole, 300)
	old := filepath.Join(t.TempDir(), "memory.db")
	write(t, old, read(t, whole))
	older(t, old)
	for name, prepare := range map[string]func(path string) int{
		"making": func(string) int { return 0 },
		"migration": func(path string) int {
			write(t, path, read(t, old))
			return len(want)
		},
		"repair": func(path string) int {
			write(t, path, append(make([]byte, 100), read(t, whole)[100:]...))
			return len(want)
		},
	} {
		t.Run(name, func(t *testing.T) {
			many := 70
			if name == "migration" { // which nothing else tests as hard
				many = 200
			}
			for range rounds(3, many) {
				path := filepath.Join(t.TempDir(), "memory.db")
				n := prepare(path)
				cmd, _ := start(t, "open", path)
				timer := time.AfterFunc(time.Duration(rand.IntN(60_000))*time.Microsecond, func() { cmd.Process.Kill() })
				cmd.Wait() // killed or done
				timer.Stop()
				s := open(t, path)
				if got := contents(t, s); len(got) != n {
					t.Fatalf("%d documents are there, want %d", len(got), n)
				}
				healthy(t, s)
				s.Close()
				if left, _ := os.Stat(path + ".new"); left != nil {
					t.Error("a file in the making was left behind")
				}
			}
		})
	}
}

// TestKilledEmbedding kills a process that changes the embedder of a memory. It
// always opens, goes on where it was, and searches work meanwhile.
func TestKilledEmbedding(t *testing.T) {
	long(t)
	path := filepath.Join(t.TempDir(), "memory.db")
	want := sample(t, path, 600)
	first := open(t, path)
	if err := first.Embed(t.Context(), newMeaning(), nil); err != nil {
		t.Fatal(err)
	}
	first.Close()
	prepared, stopped := read(t, path), 0
	for range rounds(1, 40) {
		write(t, path, prepared)
		for i := range rounds(2, 5) {
			early := i%2 == 0
			cmd, out := start(t, "embed", path)
			timer := time.AfterFunc(time.Duration(rand.IntN(150_000))*time.Microsecond, func() {
				if early {
					cmd.Process.Kill()
				}
			})
			told := 0
			for out.Scan() { // late kills come in the middle, however slow the machine
				fmt.Sscan(out.Text(), &told)
				if !early {
					cmd.Process.Kill()
				}
			}
			cmd.Wait() // killed or done
			timer.Stop()
			s := open(t, path)
			if got := contents(t, s); len(got) != len(want) {
				t.Fatalf("%d documents are there, want %d", len(got), len(want))
			}
			st, err := s.Stats(t.Context())
			if err != nil || st.Vectors["noise"] < told {
				t.Fatalf("%d vectors of %d that were told, %v", st.Vectors["noise"], told, err)
			}
			if 0 < st.Vectors["noise"] && st.Vectors["noise"] < len(want) {
				stopped++
			}
			if st.Vectors["noise"]+st.Vectors["meaning/1"] < len(want) {
				t.Fatalf("the old vectors went before the new ones were there: %v", st.Vectors)
			}
			search(t, s, memory.Query{Text: "words of number 7"})
			healthy(t, s)
			s.Close()
		}
		s := open(t, path)
		if err := s.Embed(t.Context(), noise{}, nil); err != nil {
			t.Fatal(err)
		}
		if st, err := s.Stats(t.Context()); err != nil || len(st.Vectors) != 1 || st.Vectors["noise"] != len(want) {
			t.Fatalf("%v, %v", st.Vectors, err)
		}
		s.Close()
	}
	if stopped == 0 {
		t.Error("no process was killed in the middle")
	}
	t.Logf("%d were killed in the middle", stopped)
}

// TestTogetherProcesses has two processes write the same at once.
func TestTogetherProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { // all make it at the same time
			cmd, out := start(t, "open", path)
			for out.Scan() {
				t.Error(out.Text())
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s := open(t, path)
	defer s.Close()
	other := open(t, path)
	defer other.Close()
	for i := range 6 {
		wg.Go(func() {
			store := []*memory.Store{s, other}[i%2]
			for range 20 {
				if _, err := store.Add(t.Context(), memory.Document{Text: "said by all"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	all, err := s.List(t.Context(), memory.Filter{}, 0)
	if err != nil || len(all) != 1 || all[0].Count != 120 {
		t.Errorf("%s, %v, want one document with count 120", fmt.Sprint(all), err)
	}
}
