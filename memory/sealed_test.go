package memory_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/philippgille/chromem-go"

	"mylm/memory"
)

func TestSealed(t *testing.T) {
	s := fresh(t)
	fill(t, s, 300)
	old := add(t, s, memory.Document{Text: "the port is 1\x00 \xff", Tags: []string{"a", "b"}, Speaker: "Ann", Role: "user", Kind: memory.Exchange, Session: "é", Time: day})[0]
	by := add(t, s, memory.Document{Text: "!!!"})[0]
	if err := s.Supersede(t.Context(), old.ID, by.ID); err != nil {
		t.Fatal(err)
	}
	var plain, sealed bytes.Buffer
	if _, err := s.Export(t.Context(), &plain, memory.All); err != nil {
		t.Fatal(err)
	}
	if n, err := s.ExportSealed(t.Context(), &sealed, memory.All, "correct horse"); err != nil || n != 302 {
		t.Fatal(n, err)
	}
	for _, word := range []string{"the port", old.ID, "Ann"} {
		if bytes.Contains(sealed.Bytes(), []byte(word)) {
			t.Errorf("%q can be read", word)
		}
	}
	if r := bufio.NewReader(bytes.NewReader(sealed.Bytes())); !memory.Sealed(r) || memory.Sealed(bufio.NewReader(&bytes.Buffer{})) {
		t.Error("it is not told from others")
	}
	var back bytes.Buffer
	if err := memory.Unseal(t.Context(), bytes.NewReader(sealed.Bytes()), &back, "correct horse"); err != nil {
		t.Fatal(err)
	}
	if back.String() != plain.String() {
		t.Errorf("what comes out is not what Export writes:\n%.400s\n%.400s", back.String(), plain.String())
	}
	other := fresh(t)
	if done, err := other.Import(t.Context(), &back, nil); err != nil || done.Added != 302 {
		t.Error(done, err)
	}
	if got, err := other.Get(t.Context(), old.ID); err != nil || got.SupersededBy != by.ID || got.Speaker != "Ann" {
		t.Errorf("%+v, %v", got, err)
	}

	var none bytes.Buffer
	if err := memory.Unseal(t.Context(), bytes.NewReader(sealed.Bytes()), &none, "wrong horse"); !errors.Is(err, memory.ErrPassphrase) || none.Len() > 0 {
		t.Error(err)
	}
	places := []int{0, 25, sealed.Len() - 1} // the first line, the salt, the checksum
	if os.Getenv("MYLM_SLOW") != "" {        // each takes a key, and so half a second
		places = append(places, 45, 60, sealed.Len()/2)
	}
	for _, at := range places { // a flipped bit, a cut
		broken := bytes.Clone(sealed.Bytes())
		broken[at] ^= 1
		if err := memory.Unseal(t.Context(), bytes.NewReader(broken), &none, "correct horse"); err == nil || none.Len() > 0 {
			t.Errorf("byte %d is another: %v", at, err)
		}
		if err := memory.Unseal(t.Context(), bytes.NewReader(sealed.Bytes()[:at]), &none, "correct horse"); err == nil || none.Len() > 0 {
			t.Errorf("cut at %d: %v", at, err)
		}
	}
	if _, err := s.ExportSealed(t.Context(), &none, memory.All, ""); err == nil {
		t.Error("an empty passphrase is taken")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.ExportSealed(ctx, &none, memory.All, "x"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if none.Len() > 0 {
		t.Error("something was written")
	}
}

func TestReadChromem(t *testing.T) {
	dir := t.TempDir()
	fill := func(db *chromem.DB) {
		t.Helper()
		for _, name := range []string{"notes [1]", "chat"} {
			c, err := db.CreateCollection(name, map[string]string{"made": "by hand"}, func(context.Context, string) ([]float32, error) { return []float32{1, 0}, nil })
			if err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				err := c.AddDocument(t.Context(), chromem.Document{ID: fmt.Sprint(i), Content: fmt.Sprintf("%s says <%d>", name, i),
					Metadata: map[string]string{"timestamp": "2026-02-03T04:05:06Z", "role": "user", "text": "not this"}})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	made := chromem.NewDB()
	fill(made)
	const secret = "0123456789abcdef0123456789abcdef"
	files := map[string]string{"plain.gob": "", "small.gob.gz": "", "secret.gob.gz.enc": secret}
	for name, key := range files {
		if err := made.ExportToFile(filepath.Join(dir, name), strings.Contains(name, ".gz"), key); err != nil {
			t.Fatal(err)
		}
	}
	for _, compress := range []bool{false, true} {
		name := fmt.Sprint("dir ", compress)
		db, err := chromem.NewPersistentDB(filepath.Join(dir, name), compress)
		if err != nil {
			t.Fatal(err)
		}
		fill(db)
		files[name] = ""
	}
	for name, key := range files {
		var records bytes.Buffer
		if broken, err := memory.ReadChromem(t.Context(), filepath.Join(dir, name), key, &records); broken != 0 || err != nil {
			t.Errorf("%s: %d broken, %v", name, broken, err)
			continue
		}
		s := fresh(t)
		if done, err := s.Import(t.Context(), &records, memory.FromChromem); err != nil || done.Added != 6 {
			t.Errorf("%s: %+v, %v", name, done, err)
		}
		d, err := s.Get(t.Context(), "notes [1]/1")
		if err != nil || d.Text != "notes [1] says <1>" || d.Role != "user" || d.Time.Month() != 2 || d.Source != "chromem notes [1]" {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}

	// What a crash leaves behind does not cost the rest.
	broken, err := filepath.Glob(filepath.Join(dir, "dir false", "*", "*.gob"))
	if err != nil || len(broken) != 8 {
		t.Fatal(broken, err)
	}
	broken = slices.DeleteFunc(broken, func(path string) bool { return strings.HasSuffix(path, "00000000.gob") })
	if err := os.Truncate(broken[0], 5); err != nil {
		t.Fatal(err)
	}
	write(t, broken[1], bytes.Repeat([]byte{0xff}, 100))
	var records bytes.Buffer
	if n, err := memory.ReadChromem(t.Context(), filepath.Join(dir, "dir false"), "", &records); n != 2 || err != nil || strings.Count(records.String(), "\n") != 4 {
		t.Errorf("%d broken, %v, %s", n, err, records.String())
	}

	for name, key := range map[string]string{"secret.gob.gz.enc": strings.Repeat("x", 32), "plain.gob": secret, "small.gob.gz": "short", "nothing": "", ".": ""} {
		if _, err := memory.ReadChromem(t.Context(), filepath.Join(dir, name), key, &records); err == nil && name != "." {
			t.Errorf("%s is read with the key %q", name, key)
		}
	}
	// A few bytes that stand for very many.
	large := chromem.NewDB()
	c, err := large.CreateCollection("c", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddDocument(t.Context(), chromem.Document{ID: "1", Content: strings.Repeat("x", 20<<20), Embedding: []float32{1}}); err != nil {
		t.Fatal(err)
	}
	bomb := filepath.Join(t.TempDir(), "bomb")
	db, err := chromem.NewPersistentDB(bomb, true)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	if err := large.ExportToWriter(&packed, true, ""); err != nil {
		t.Fatal(err)
	}
	if err := db.ImportFromReader(bytes.NewReader(packed.Bytes()), ""); err != nil {
		t.Fatal(err)
	}
	if n, err := memory.ReadChromem(t.Context(), bomb, "", &records); n != 1 || err != nil {
		t.Errorf("a bomb: %d broken, %v", n, err)
	}
	if _, err := memory.ReadChromem(t.Context(), t.TempDir(), "", &records); err == nil {
		t.Error("an empty directory is a database")
	}
}

func FuzzReadChromem(f *testing.F) {
	db := chromem.NewDB()
	if _, err := db.CreateCollection("c", nil, nil); err != nil {
		f.Fatal(err)
	}
	var seed bytes.Buffer
	if err := db.ExportToWriter(&seed, false, ""); err != nil {
		f.Fatal(err)
	}
	f.Add(seed.Bytes())
	path := filepath.Join(f.TempDir(), "db.gob")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		var records bytes.Buffer
		if _, err := memory.ReadChromem(t.Context(), path, "", &records); err != nil && records.Len() > 0 {
			t.Errorf("records and an error: %v", err)
		}
	})
}
