package memory_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/philippgille/chromem-go"
	"golang.org/x/crypto/argon2"

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

// TestSealedByEarlierVersions opens an export of the version that had vectors
// built in.
func TestSealedByEarlierVersions(t *testing.T) {
	db := chromem.NewDB()
	c, err := db.CreateCollection("memory", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range []string{"b", "a"} {
		vector := make([]float32, 384)
		vector[i+5] = 1
		err := c.AddDocument(t.Context(), chromem.Document{ID: id, Content: "text " + id, Embedding: vector,
			Metadata: map[string]string{"order": fmt.Sprintf("%012d", i), "document": `{"id":"` + id + `","kind":"note","time":"2026-01-02T03:04:05Z"}`}})
		if err != nil {
			t.Fatal(err)
		}
	}
	salt := "0123456789abcdef"
	sealed, back := bytes.NewBufferString("mylm memory, sealed, 1\n"+salt), bytes.Buffer{}
	if err := db.ExportToWriter(sealed, true, string(argon2.IDKey([]byte("horse"), []byte(salt), 3, 64<<10, 4, 32))); err != nil {
		t.Fatal(err)
	}
	if err := memory.Unseal(t.Context(), sealed, &back, "horse"); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(back.String(), "\n"); len(lines) != 3 || !strings.Contains(lines[0], `"text":"text b"`) || !strings.Contains(lines[1], `"text":"text a"`) {
		t.Errorf("%q", lines)
	}
}
