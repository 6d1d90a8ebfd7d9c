package memory

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/philippgille/chromem-go"
	"golang.org/x/crypto/argon2"
)

// A sealed export is this line, a salt, and an export of chromem-go's: a gob,
// compressed with gzip, encrypted with AES-256 in GCM. The key is derived from
// the passphrase and the salt.
const (
	sealedLine = "mylm memory, sealed, 1\n"
	saltLength = 16
	keyLength  = 32
)

// ErrPassphrase is returned for a file that a passphrase does not open. Whether
// the passphrase or the file is wrong cannot be told.
var ErrPassphrase = errors.New("the passphrase is not the one that the file was made with, or the file is damaged")

// key derives a key with Argon2id, with the second of the parameters that RFC
// 9106 recommends: for where 2 GiB of memory are too much.
func key(passphrase string, salt []byte) []byte {
	return argon2.IDKey([]byte(passphrase), salt, 3, 64<<10, 4, keyLength)
}

// ExportSealed writes what a filter selects, with what was superseded, as a
// database of chromem-go's, compressed and encrypted with a passphrase. All of
// it is held in memory meanwhile. Import reads it by way of Unseal.
//
// It has no vectors: the texts are what counts, and an import makes its own.
func (s *Store) ExportSealed(ctx context.Context, w io.Writer, f Filter, passphrase string) (int, error) {
	if passphrase == "" {
		return 0, errors.New("the passphrase is empty, and would protect nothing")
	}
	db := chromem.NewDB()
	to, err := db.CreateCollection(collectionName, nil, unasked)
	if err != nil {
		return 0, err
	}
	n, err := s.each(ctx, f, func(n int, d Document) error {
		text := d.Text
		d.Text = ""                                                                                   // stands beside
		rest, _ := json.Marshal(d)                                                                    // the time of a stored document can be written
		return to.AddDocument(ctx, chromem.Document{ID: d.ID, Content: text, Embedding: []float32{1}, // stored by no other means
			Metadata: map[string]string{sealedOrder: fmt.Sprintf("%012d", n), sealedDocument: string(rest)}})
	})
	if err != nil {
		return 0, err
	}
	salt := make([]byte, saltLength)
	_, _ = rand.Read(salt) // never fails
	if _, err := io.WriteString(w, sealedLine+string(salt)); err != nil {
		return 0, err
	}
	return n, db.ExportToWriter(w, true, string(key(passphrase, salt)))
}

// The metadata of a document in a sealed export.
const (
	sealedOrder    = "order"    // documents of a session are neighbours in their order
	sealedDocument = "document" // what else is known of it, as JSON
)

// Sealed reports whether what r begins with is a sealed export. Nothing of r
// is consumed.
func Sealed(r *bufio.Reader) bool {
	head, _ := r.Peek(len(sealedLine))
	return string(head) == sealedLine
}

// Unseal opens a sealed export and writes its documents as Export does. The
// error is ErrPassphrase if the passphrase does not fit.
func Unseal(ctx context.Context, r io.Reader, w io.Writer, passphrase string) error {
	head := make([]byte, len(sealedLine)+saltLength)
	if _, err := io.ReadFull(r, head); err != nil || string(head[:len(sealedLine)]) != sealedLine {
		return errors.New("this is not an encrypted export of mylm")
	}
	body, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	db := chromem.NewDB()
	if err := db.ImportFromReader(bytes.NewReader(body), string(key(passphrase, head[len(sealedLine):]))); err != nil {
		return fmt.Errorf("%w (%w)", ErrPassphrase, err)
	}
	found, err := contents(ctx, db.GetCollection(collectionName, unasked))
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b chromem.Result) int { return cmp.Compare(a.Metadata[sealedOrder], b.Metadata[sealedOrder]) })
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	for _, d := range found {
		if err := ctx.Err(); err != nil {
			return err
		}
		var document Document
		if err := json.Unmarshal([]byte(d.Metadata[sealedDocument]), &document); err != nil {
			return fmt.Errorf("%w (%s: %w)", ErrPassphrase, d.ID, err)
		}
		document.Text = d.Content
		if err := out.Encode(document); err != nil {
			return err
		}
	}
	return nil
}

// contents returns all documents of a collection. chromem-go returns them to
// those who know their names or the length of their vectors: 1, and 384 in exports
// of the version that had vectors built in.
func contents(ctx context.Context, from *chromem.Collection) (found []chromem.Result, err error) {
	if from == nil || from.Count() == 0 {
		return nil, nil
	}
	for _, length := range []int{1, 384} {
		vector := make([]float32, length)
		vector[0] = 1
		if found, err = from.QueryEmbedding(ctx, vector, from.Count(), nil, nil); err == nil {
			break
		}
	}
	return found, cmp.Or(ctx.Err(), err)
}
