package memory

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"

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
	to, err := db.CreateCollection("memory", nil,
		func(context.Context, string) ([]float32, error) { return nil, errAsked })
	if err != nil {
		return 0, err
	}
	lines, out := io.Pipe()
	exported := make(chan error, 1)
	go func() {
		_, err := s.Export(ctx, out, f)
		out.CloseWithError(err)
		exported <- err
	}()
	n, err := collect(ctx, lines, to)
	lines.CloseWithError(err)
	if exportErr := <-exported; err == nil || exportErr != nil && !errors.Is(exportErr, err) {
		err = exportErr
	}
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

// collect puts exported documents into a collection.
func collect(ctx context.Context, lines io.Reader, to *chromem.Collection) (n int, err error) {
	for d := json.NewDecoder(lines); ; n++ {
		var document Document
		if err := d.Decode(&document); errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
		text := document.Text
		document.Text = "" // stands beside
		rest, err := json.Marshal(document)
		if err != nil {
			return n, err
		}
		err = to.AddDocument(ctx, chromem.Document{ID: document.ID, Content: text, Embedding: []float32{1}, // chromem-go stores nothing without one

			Metadata: map[string]string{sealedOrder: fmt.Sprintf("%012d", n), sealedDocument: string(rest)}})
		if err != nil {
			return n, err
		}
	}
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
		return errors.New("this is no sealed export of mylm's")
	}
	body, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	found, err := unseal(body, key(passphrase, head[len(sealedLine):]))
	if err != nil {
		return err
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	for _, d := range inOrder(found) {
		if err := ctx.Err(); err != nil {
			return err
		}
		var document Document
		if err := json.Unmarshal([]byte(d.Metadata[sealedDocument]), &document); err != nil {
			return fmt.Errorf("%w: %s: %w", errNoDatabase, d.ID, err)
		}
		document.Text = d.Content
		if err := out.Encode(document); err != nil {
			return err
		}
	}
	return nil
}

// unseal opens an export of chromem-go's. chromem-go gives documents only to
// those who know their names, or the length of their vectors; written once more,
// without a key, they can be read.
func unseal(body, key []byte) (db chromemDB, err error) {
	opened := chromem.NewDB()
	if err := opened.ImportFromReader(bytes.NewReader(body), string(key)); err != nil {
		return db, fmt.Errorf("%w (%w)", ErrPassphrase, err)
	}
	var plain bytes.Buffer
	if err := opened.ExportToWriter(&plain, false, ""); err != nil {
		return db, err
	}
	return db, decodeGob(&plain, longestDatabase, &db)
}

// decodeGob reads one value, compressed or not, of at most so many bytes.
func decodeGob(r io.Reader, most int64, v any) (err error) {
	defer func() {
		if p := recover(); p != nil { // gob is made for data that is trusted
			err = fmt.Errorf("%w: %v", errNoDatabase, p)
		}
	}()
	in := bufio.NewReader(r)
	if magic, _ := in.Peek(2); string(magic) == "\x1f\x8b" {
		unzipped, err := gzip.NewReader(in)
		if err != nil {
			return fmt.Errorf("%w: %w", errNoDatabase, err)
		}
		in = bufio.NewReader(unzipped)
	}
	limited := &io.LimitedReader{R: in, N: most}
	if err := gob.NewDecoder(limited).Decode(v); err != nil && limited.N <= 0 {
		return fmt.Errorf("%w: it would take more than %d MiB", errNoDatabase, most>>20)
	} else if err != nil {
		return fmt.Errorf("%w: %w", errNoDatabase, err)
	}
	return nil
}
