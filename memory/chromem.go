package memory

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

var errNoDatabase = errors.New("this is no database of chromem-go's")

// chromemDB is what chromem-go's exports hold, by the names in its source.
type chromemDB struct {
	Collections map[string]*chromemCollection
}

type chromemCollection struct {
	Name      string
	Documents map[string]*gobDocument
}

// gobDocument is chromem-go's without the vector, which decoding then passes
// over: it is made anew.
type gobDocument struct {
	ID       string
	Metadata map[string]string
	Content  string
}

// How much of a database is read into memory, unpacked: a few bytes may stand
// for very many.
const (
	longestDocument = 2 * MaxText
	longestDatabase = 2 << 30
)

// chromemName is the file, in the directory of a collection, that names it.
const chromemName = "00000000"

// ReadChromem reads a database of chromem-go's, a directory or a file that its
// Export made, and writes a record for each document as a line of JSON, for
// Import with the mapping FromChromem or another one: id, text and collection,
// and beside them what stands in its metadata. Key is the 32 bytes that the file
// is encrypted with, "" if it is not.
//
// Files of a directory that cannot be read are left out, which chromem-go
// would not open then; broken tells how many.
func ReadChromem(ctx context.Context, path, key string, w io.Writer) (broken int, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	var db chromemDB
	if !info.IsDir() && !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%s is neither a file nor a directory", path)
	}
	if info.IsDir() {
		db, broken, err = readChromemDir(ctx, path)
	} else {
		db, err = readChromemFile(path, key)
	}
	if err != nil {
		return broken, err
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	for _, d := range inOrder(db) {
		if err := ctx.Err(); err != nil {
			return broken, err
		}
		record := map[string]any{}
		for name, value := range d.Metadata {
			record[name] = value
		}
		record["id"], record["text"], record["collection"] = d.ID, d.Content, d.collection
		if err := out.Encode(record); err != nil {
			return broken, err
		}
	}
	return broken, nil
}

// FromChromem is the mapping of records that ReadChromem made. Metadata with
// the usual names for it says when and by whom something was said; a time that
// cannot be read is left out.
func FromChromem(record map[string]any) ([]Document, error) {
	collection, id := str(record, "collection"), str(record, "id")
	if collection != "" && id != "" {
		id = collection + "/" + id // names are of a collection
	}
	d := Document{ID: id, Text: str(record, "text"), Source: strings.TrimSpace("chromem " + collection),
		Role: str(record, "role"), Speaker: str(record, "speaker"), Session: cmp.Or(str(record, "session"), str(record, "session_id"), str(record, "conversation_id")),
		Project: str(record, "project")}
	for _, field := range []string{"time", "timestamp", "created_at", "date"} {
		if at, err := timeOf(record, field); err == nil && !at.IsZero() {
			d.Time = at
			break
		}
	}
	return []Document{d}, nil
}

// chromemDocument is a document and where it stood.
type chromemDocument struct {
	gobDocument
	collection string
}

// inOrder gives all documents: by collection, then in the order of a sealed
// export, then by name.
func inOrder(db chromemDB) (all []chromemDocument) {
	for _, name := range slices.Sorted(maps.Keys(db.Collections)) {
		c := db.Collections[name]
		if c == nil {
			continue
		}
		from := len(all)
		for _, d := range c.Documents {
			if d != nil {
				all = append(all, chromemDocument{*d, c.Name})
			}
		}
		slices.SortFunc(all[from:], func(a, b chromemDocument) int {
			return cmp.Or(strings.Compare(a.Metadata[sealedOrder], b.Metadata[sealedOrder]), strings.Compare(a.ID, b.ID))
		})
	}
	return all
}

func readChromemFile(path, key string) (db chromemDB, err error) {
	body, err := os.ReadFile(path)
	if err != nil {
		return db, err
	}
	switch len(key) {
	case 0:
		return db, decodeGob(bytes.NewReader(body), longestDatabase, &db)
	case keyLength:
		return unseal(body, []byte(key))
	}
	return db, fmt.Errorf("a key of chromem-go's has %d bytes, and this one %d", keyLength, len(key))
}

func readChromemDir(ctx context.Context, path string) (db chromemDB, broken int, err error) {
	db.Collections = map[string]*chromemCollection{}
	dirs, err := os.ReadDir(path)
	if err != nil {
		return db, 0, err
	}
	for _, dir := range dirs {
		if !dir.IsDir() {
			continue
		}
		c := &chromemCollection{Name: dir.Name(), Documents: map[string]*gobDocument{}}
		files, err := os.ReadDir(filepath.Join(path, dir.Name()))
		if err != nil {
			return db, broken, err
		}
		seen := 0
		for _, file := range files {
			if err := ctx.Err(); err != nil {
				return db, broken, err
			}
			if name := file.Name(); !strings.HasSuffix(strings.TrimSuffix(name, ".gz"), ".gob") {
				continue
			}
			seen++
			if !c.read(filepath.Join(path, dir.Name(), file.Name())) {
				broken++
			}
		}
		if seen > 0 {
			db.Collections[c.Name+"/"+dir.Name()] = c
		}
	}
	if len(db.Collections) == 0 {
		return db, broken, errNoDatabase
	}
	return db, broken, nil
}

// read reads one file of a collection's directory.
func (c *chromemCollection) read(file string) (ok bool) {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() { // a pipe would be waited for
		return false
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	if strings.HasPrefix(filepath.Base(file), chromemName+".") {
		var head struct{ Name string }
		if decodeGob(f, longestDocument, &head) != nil {
			return false
		}
		c.Name = head.Name
		return true
	}
	var d gobDocument
	if decodeGob(f, longestDocument, &d) != nil || d.ID == "" {
		return false
	}
	c.Documents[d.ID] = &d
	return true
}
