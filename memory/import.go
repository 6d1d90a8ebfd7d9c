package memory

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode"
)

// Mapping makes documents of one record of a file. Numbers in the record are
// json.Number. An error ends the import; no documents leave the record out.
type Mapping func(record map[string]any) ([]Document, error)

// Imported says what an import did.
type Imported struct {
	Records int // in the file
	Added   int // documents that were not there
	Known   int // documents that were there
	Skipped int // records without a text
	Kept    int // corrections that were left out, because what they correct is there and says something else
	Circles int // corrections that were left out, because they lead back to what they correct
}

// Import reads JSON Lines, or one JSON array, and adds what m makes of each
// record. Without m it reads what Export wrote. Documents are added as by Add:
// secrets are taken out, and one whose ID is there stays as it is. One without
// an ID gets one that its text, source, session and time make, and how often
// the same was in the file before. So an import that ended early, or a file that
// grew, can be imported again; what was added otherwise is not looked at.
//
// Records without a text are left out; if all are, that is ErrEmpty. Import
// works in portions: after an error those that came before are stored.
func (s *Store) Import(ctx context.Context, r io.Reader, m Mapping) (Imported, error) {
	in := importer{store: s, mapping: m, said: map[[sha256.Size]byte]uint64{}}
	if m == nil {
		in.mapping = Exported("")
	}
	err := in.readAll(ctx, r)
	err = cmp.Or(err, in.flush(ctx)) // what was read before an error is stored
	if err == nil {
		err = in.supersede(ctx)
	}
	if err == nil && in.done.Skipped > 0 && in.done.Skipped == in.done.Records {
		err = fmt.Errorf("%w, in each of %d records: do their fields have other names?", ErrEmpty, in.done.Records)
	}
	return in.done, err
}

type importer struct {
	store       *Store
	mapping     Mapping
	pending     []Document
	corrections []correction                 // in the order of the file
	said        map[[sha256.Size]byte]uint64 // how often, of documents without an ID
	done        Imported
}

// correction is the ID of a document and that of the one that supersedes it.
type correction struct{ old, by string }

func (in *importer) readAll(ctx context.Context, r io.Reader) error {
	buffered := bufio.NewReader(r)
	blanks, array := beginning(buffered)
	decoder := json.NewDecoder(buffered)
	decoder.UseNumber()
	if array {
		_, _ = decoder.Token() // the bracket that was seen
	}
	for decoder.More() {
		var value any
		if err := decoder.Decode(&value); err != nil {
			return fmt.Errorf("record %d, at byte %d: %w", in.done.Records+1, blanks+decoder.InputOffset(), err)
		}
		record, ok := value.(map[string]any)
		if !ok {
			return fmt.Errorf("record %d, before byte %d: it is not a JSON object", in.done.Records+1, blanks+decoder.InputOffset())
		}
		if err := in.add(ctx, record); err != nil {
			return fmt.Errorf("record %d: %w", in.done.Records+1, err)
		}
		in.done.Records++
	}
	_, err := decoder.Token() // the other bracket, the end, or what stopped the reader
	if array && errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("after record %d, at byte %d: %w", in.done.Records, blanks+decoder.InputOffset(), err)
	}
	return nil
}

// beginning skips white space and the byte order mark that programs on Windows begin a
// file in UTF-8 with, and reports whether an array follows. An error of the reader is
// left to who reads on.
func beginning(r *bufio.Reader) (blanks int64, array bool) {
	for {
		c, size, err := r.ReadRune()
		if err != nil || c != '\ufeff' && !unicode.IsSpace(c) {
			_ = r.UnreadRune() // nothing, or what was just read
			return blanks, c == '['
		}
		blanks += int64(size)
	}
}

func (in *importer) add(ctx context.Context, record map[string]any) error {
	made, err := in.mapping(record)
	if err != nil && !errors.Is(err, ErrEmpty) {
		return err
	}
	taken := 0
	for _, d := range made {
		timed := !d.Time.IsZero()
		d, err := d.clean(in.store.now())
		if errors.Is(err, ErrEmpty) {
			continue
		}
		if err != nil {
			return err
		}
		taken++
		if d.ID == "" {
			d.ID = in.name(d, timed)
		}
		in.pending = append(in.pending, d)
	}
	if taken == 0 {
		in.done.Skipped++
	}
	if len(in.pending) < batch {
		return nil
	}
	return in.flush(ctx)
}

// name makes the ID of a document whose record has none: the same whenever the
// record is imported, and another one for each time that the same is said.
func (in *importer) name(d Document, timed bool) string {
	h := sha256.New()
	h.Write(d.hash())
	for _, s := range []string{d.Source, d.Session} {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	if timed { // else it is when it was imported
		fmt.Fprint(h, d.Time.UnixMicro())
	}
	same := [sha256.Size]byte(h.Sum(nil))
	in.said[same]++
	return derivedID(sha256.Sum256(binary.LittleEndian.AppendUint64(same[:], in.said[same])))
}

// flush stores what is pending. What is in the memory otherwise than in the file is
// not corrected: a file could hide it.
func (in *importer) flush(ctx context.Context) error {
	pending := in.pending
	in.pending = nil
	read := slices.Clone(pending)
	added, err := in.store.insert(ctx, pending, nil)
	if err != nil {
		return err
	}
	for i, d := range pending {
		if added[i] {
			in.done.Added++
		} else {
			in.done.Known++
		}
		switch by := read[i].SupersededBy; {
		case by == "":
		case added[i] || bytes.Equal(read[i].hash(), d.hash()) && read[i].Time.Equal(d.Time):
			in.corrections = append(in.corrections, correction{d.ID, by})
		default:
			in.done.Kept++
		}
	}
	return nil
}

// supersede repeats what corrected what, where both are there.
func (in *importer) supersede(ctx context.Context) error {
	if len(in.corrections) == 0 {
		return nil
	}
	return in.store.update(ctx, func(tx *sql.Tx) error {
		for _, c := range in.corrections {
			old, err := byID(ctx, tx, c.old)
			if err == nil && old.SupersededBy == "" {
				err = supersede(ctx, tx, old, c.by)
			}
			if errors.Is(err, errCircle) {
				in.done.Circles++
			} else if err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
		}
		return nil
	})
}

// Exported is the mapping of what Export writes, or of records like it. One that
// names no project is of the given one.
func Exported(project string) Mapping {
	return func(record map[string]any) ([]Document, error) {
		data, _ := json.Marshal(record) // it was JSON
		d := Document{Project: project}
		if err := json.Unmarshal(data, &d); err != nil {
			return nil, fmt.Errorf("this is not a record that mylm exported: %w", err)
		}
		return []Document{d}, nil
	}
}
