package memory_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mylm/memory"
)

// Words of the benchmarks' texts are spread as in a language: few are common,
// most are rare.
func texts(seed uint64) func() string {
	r := rand.New(rand.NewPCG(seed, seed))
	zipf := rand.NewZipf(r, 1.07, 8, 80_000)
	return func() string {
		var b strings.Builder
		for range 20 + r.IntN(60) {
			b.WriteString(word(zipf.Uint64()) + " ")
		}
		return b.String()
	}
}

// word is the nth word of a language in which every word can be pronounced.
func word(n uint64) string {
	var b []byte
	for n += 20; n > 0; n /= 20 {
		b = append(b, "bdfghjklmnprstvwxzkm"[n%20], "aeiouaeiouaeiouaeiou"[n/20%20])
	}
	return string(b)
}

func fill(b testing.TB, s *memory.Store, n int) {
	text := texts(1)
	for at := 0; at < n; {
		var some []memory.Document
		for range min(1000, n-at) {
			some = append(some, memory.Document{Text: text(), Kind: memory.Exchange, Project: fmt.Sprint("p", at%7), Session: fmt.Sprint("s", at/20), Time: day})
			at++
		}
		if _, err := s.Add(b.Context(), some...); err != nil {
			b.Fatal(err)
		}
	}
}

// large makes a memory of 100,000 documents, once for all benchmarks.
var large = sync.OnceValues(func() (string, error) {
	return os.MkdirTemp("", "mylm-memory")
})

func largeStore(b *testing.B) string {
	dir, err := large()
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(dir, "memory.db")
	if _, err := os.Stat(path); err != nil {
		s := open(b, path)
		fill(b, s, 100_000)
		s.Close()
	}
	return path
}

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		child()
		return
	}
	code := m.Run()
	if dir, err := large(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// BenchmarkFsync is what the disk itself takes.
func BenchmarkFsync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "f"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	page := make([]byte, 16<<10)
	for b.Loop() {
		if _, err := f.Write(page); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRecord records an exchange, two documents, in a large memory.
func BenchmarkRecord(b *testing.B) {
	s := open(b, largeStore(b))
	defer s.Close()
	text, n := texts(2), 0
	for b.Loop() {
		n++
		_, err := s.Add(b.Context(),
			memory.Document{Text: text(), Kind: memory.Exchange, Role: "user", Session: fmt.Sprint("r", n/10)},
			memory.Document{Text: text(), Kind: memory.Exchange, Role: "assistant", Session: fmt.Sprint("r", n/10)})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	small := filepath.Join(b.TempDir(), "memory.db")
	s := open(b, small)
	fill(b, s, 10)
	s.Close()
	for name, path := range map[string]string{"10": small, "100000": largeStore(b)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := open(b, path).Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// question is as common as words of a question are.
var question = strings.Join([]string{word(3), word(40), word(900), word(20000), word(77), word(1500)}, " ")

func BenchmarkSearchCold(b *testing.B) {
	path := largeStore(b)
	for b.Loop() {
		s := open(b, path)
		if _, err := s.Search(b.Context(), memory.Query{Text: question}); err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}

func BenchmarkSearchWarm(b *testing.B) {
	s := open(b, largeStore(b))
	defer s.Close()
	for name, q := range map[string]string{"question": question, "rare": word(20000), "slip": "x" + word(70000)[1:]} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Search(b.Context(), memory.Query{Text: q}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkForget(b *testing.B) {
	s := open(b, largeStore(b))
	defer s.Close()
	all, err := s.List(b.Context(), memory.Filter{}, 50_000)
	if err != nil {
		b.Fatal(err)
	}
	n := len(all)
	for b.Loop() {
		n--
		if _, err := s.Forget(b.Context(), memory.Filter{IDs: []string{all[n].ID}}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRedact has a usual text, and those that would take longest if a place
// were looked at again and again.
func BenchmarkRedact(b *testing.B) {
	for name, line := range map[string]string{
		"usual": "The build of 9fceb02d0ae598e95dc970b74767f19372d61af8 at 10:42 set LOG=debug; see https://example.com/a?b=c. ",
		"names": "token=token=", "quotes": `token="token='`, "blocks": "-----BEGIN PRIVATE KEY-----", "labels": "-----BEGIN ", "colons": "password: x ",
		"prefixes": "SG.SG.", "urls": "://a:b", "putty": "Private-Lines: 1\nA", "tags": "<password>", "commands": "curl -u a ", "escapes": `\n\n`, "JWT": "eyJaaaaaaa.",
	} {
		text := strings.Repeat(line, 1+(1<<20)/len(line))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				memory.Redact(text)
			}
		})
	}
}

// noise is an embedder as wide as the small ones that people have. What it
// says means nothing.
type noise struct{}

func (noise) Name() string { return "noise" }

func (noise) EmbedDocuments(_ context.Context, texts []string) (vectors [][]float32, _ error) {
	for _, text := range texts {
		h := fnv.New64a()
		h.Write([]byte(text))
		r := rand.New(rand.NewPCG(h.Sum64(), 1))
		v := make([]float32, 384)
		for i := range v {
			v[i] = float32(r.NormFloat64())
		}
		vectors = append(vectors, v)
	}
	return vectors, nil
}

func (n noise) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	v, err := n.EmbedDocuments(ctx, []string{text})
	return v[0], err
}

func use(b *testing.B, s *memory.Store) *memory.Store {
	s.Use(noise{}, func(err error) { b.Error(err) })
	return s
}

// embedded is the large memory with a vector for each document.
func embedded(b *testing.B) string {
	path := largeStore(b)
	s := open(b, path)
	defer s.Close()
	if err := s.Embed(b.Context(), noise{}, nil); err != nil {
		b.Fatal(err)
	}
	return path
}

// BenchmarkVectorsCold is what a command pays that searches once: what words find
// is compared, and where they find nothing all vectors are. Its peak of memory is
// that of the whole process: run it alone.
func BenchmarkVectorsCold(b *testing.B) {
	path := embedded(b)
	for name, q := range map[string]memory.Query{
		"words": {Text: question}, "none": {Text: "xylophone"}, "none of one project of seven": {Text: "xylophone", Projects: []string{"p3"}},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s := use(b, open(b, path))
				if _, err := s.Search(b.Context(), q); err != nil {
					b.Fatal(err)
				}
				s.Close()
			}
		})
	}
}
