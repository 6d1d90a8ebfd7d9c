package journal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"mylm/agent"
)

// file is the journal of one session that is being appended to.
type file struct {
	store *Store
	id    string

	mu          sync.Mutex
	out         *os.File // nil until the journal is there
	lock        *lock
	header      Header
	size        int64           // of what is whole in the file
	seq         int             // of the last entry
	entries     []agent.Entry   // those that are not in the file yet
	syncResults map[string]bool // calls whose result must not be lost
	synced      bool            // the directory was, too
	reopens     bool            // the journal exists and is opened for the first entry
	closed      bool            // no entry can follow
	err         error           // why nothing can be appended any more
	reported    bool            // an Append has returned err
	createTimer *time.Timer     // makes the file
}

func newFile(s *Store, id string) *file {
	return &file{store: s, id: id, syncResults: map[string]bool{}, header: Header{Format: Format, Version: Version, ID: id}}
}

// append writes an entry to the file, and closes the file after the last one,
// or on an error. The entries up to the first question wait for it, and are
// written while the model is being asked.
func (f *file) append(ctx context.Context, e agent.Entry) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil && f.reopens {
		f.err = f.reopen(ctx, e.Seq)
	}
	if f.err == nil && e.Seq != f.seq+1 { // of a session that was opened again since
		return f.outdated()
	}
	if images := e.Images(); f.err == nil && len(images) > 0 {
		f.err = f.store.keepImages(f.id, images)
	}
	if f.err == nil {
		f.err = f.add(e)
	}
	if f.err != nil {
		_ = f.release() // the first error counts
		f.reported = true
	}
	return f.err
}

func (f *file) add(e agent.Entry) error {
	f.seq = e.Seq
	f.entries = append(f.entries, e)
	if f.out == nil && f.header.Fill(e) {
		if e.Kind() == agent.EntryPrompt {
			f.createTimer = time.AfterFunc(createDelay, f.createNow)
		}
		return nil
	}
	if err := f.flush(f.mustSync(e)); err != nil || e.Kind() != agent.EntryEnd {
		return err
	}
	return f.release()
}

// release closes the file for good and unlocks the session.
func (f *file) release() error {
	var err error
	if f.out != nil {
		err = f.out.Close()
	}
	f.lock.release()
	f.out, f.lock, f.closed = nil, nil, true
	return err
}

// isClosed reports whether the file was closed.
func (f *file) isClosed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

// outdated is the error of an entry that does not follow what the journal holds.
func (f *file) outdated() error {
	return fmt.Errorf("session %s: %w, or was: another run has continued it; open it again", f.id, ErrInUse)
}

// acquireFile locks and opens an existing journal.
func (f *file) acquireFile(ctx context.Context) (err error) {
	if _, err := os.Lstat(f.store.Path(f.id)); errors.Is(err, os.ErrNotExist) {
		return ErrNotFound
	}
	if f.lock, err = acquireSoon(ctx, f.store.dir, f.id); err != nil {
		return err
	}
	f.out, err = f.store.openFile(f.id, os.O_RDWR|os.O_APPEND)
	return err
}

// reopen reopens the journal of a session whose last run is over, if the entry is the next one.
func (f *file) reopen(ctx context.Context, seq int) error {
	if err := f.acquireFile(ctx); err != nil {
		return fmt.Errorf("session %s: %w", f.id, err)
	}
	info, err := f.out.Stat()
	if err != nil {
		return err
	}
	end, last, whole, err := lastEnd(f.out, info.Size())
	switch {
	case err != nil:
		return err
	case end == nil || whole != info.Size() || last < seq-1:
		return fmt.Errorf("session %s: entry %d cannot be appended before the session is opened", f.id, seq)
	case last >= seq:
		return f.outdated()
	}
	f.size, f.seq, f.reopens = whole, last, false
	return nil
}

// createDelay is how long the first question waits for the file to be made, so
// that the question to the model goes out first. Sending one takes a few
// milliseconds, and the answer comes later than that.
const createDelay = 15 * time.Millisecond

// createNow makes the file, if that has not happened meanwhile.
func (f *file) createNow() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return
	}
	if f.err = f.flush(false); f.err != nil {
		_ = f.release()
	}
}

// Fill takes what an entry says of its session, which those before the first reply do. It
// reports whether the entry is one of them.
func (h *Header) Fill(e agent.Entry) bool {
	if h.Created.IsZero() {
		h.Created = e.Time
	}
	switch p := e.Payload.(type) {
	case agent.HistoryEntry:
		return true
	case agent.RunEntry:
		if p.Setup != nil {
			h.Labels = p.Setup.Labels
		}
		return true
	case agent.PromptEntry:
		h.Title = title(cmp.Or(h.Labels["title"], p.Text))
		return true
	}
	return false
}

// title is the beginning of a question in one line.
func title(text string) string {
	const most = 200
	text = text[:min(len(text), 8*most)]
	runes := []rune(strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), ""))
	if len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return string(runes)
}

// mustSync reports whether an entry has to outlive a loss of power: without a
// call that was begun its effect would be repeated, without its result the
// model would not know of it.
func (f *file) mustSync(e agent.Entry) bool {
	result := func(call string) bool {
		careful := f.syncResults[call]
		delete(f.syncResults, call)
		return careful
	}
	switch p := e.Payload.(type) {
	case agent.CallEntry:
		if !p.OnlyReads() {
			f.syncResults[p.ID] = true
		}
		return !p.OnlyReads()
	case agent.ResultEntry:
		return result(p.ID)
	case agent.CustomEntry: // of a session within this one
		if p.Effect == nil {
			return p.Call != "" && result(p.Call)
		}
		if !p.Effect.OnlyReads() {
			f.syncResults[p.Call] = true
		}
		return !p.Effect.OnlyReads()
	case agent.EndEntry:
		return true
	}
	return false
}

// flush writes what waits, whole or not at all.
func (f *file) flush(sync bool) error {
	if len(f.entries) == 0 {
		return nil // written meanwhile
	}
	if f.createTimer != nil {
		f.createTimer.Stop()
	}
	var text bytes.Buffer
	for _, e := range f.entries {
		start := text.Len()
		if err := encode(&text, e); err != nil {
			return fmt.Errorf("session %s: %w", f.id, err)
		}
		addSum(&text, start)
	}
	f.entries = nil
	if f.out == nil {
		if err := f.create(text.Bytes()); err != nil {
			return fmt.Errorf("%w: %w", ErrNotBegun, err)
		}
		text.Reset()
	}
	n, err := f.out.Write(text.Bytes())
	if err == nil && sync {
		err = f.sync()
	}
	if err != nil {
		return fmt.Errorf("session %s: %w", f.id, errors.Join(err, f.out.Truncate(f.size)))
	}
	f.size += int64(n)
	return nil
}

// create makes the file, with its header and the first entries.
func (f *file) create(text []byte) (err error) {
	if err := os.MkdirAll(f.store.dir, 0o700); err != nil {
		return err
	}
	if f.lock, err = acquire(f.store.dir, f.id); err != nil {
		return err
	}
	path := f.store.Path(f.id)
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	var head bytes.Buffer
	if err = encode(&head, f.header); err == nil {
		addSum(&head, 0)
		head.Write(text)
		_, err = out.Write(head.Bytes()) // all of it or no file
	}
	if err != nil {
		return errors.Join(err, out.Close(), os.Remove(path))
	}
	f.out, f.size = out, int64(head.Len())
	return nil
}

// sync puts the file on the disk, and its name as well.
func (f *file) sync() error {
	if err := f.store.sync(f.out); err != nil || f.synced {
		return err
	}
	f.synced = true
	dir, err := os.Open(filepath.Clean(f.store.dir))
	if err != nil {
		return err
	}
	_ = f.store.sync(dir) // not all systems can, and those that cannot need not
	return dir.Close()
}

// open takes the journal that is there, and reads it.
func (f *file) open(ctx context.Context) (*agent.Session, error) {
	if err := f.acquireFile(ctx); err != nil {
		return nil, fmt.Errorf("session %s: %w", f.id, err)
	}
	var err error
	var entries []agent.Entry
	f.header, entries, f.size, err = read(ctx, f.out)
	if err != nil && !errors.Is(err, ErrCut) {
		return nil, fmt.Errorf("session %s: %w", f.id, err)
	}
	if end, err := f.out.Seek(0, io.SeekEnd); err != nil || end > f.size {
		if err = errors.Join(err, f.out.Truncate(f.size)); err != nil {
			return nil, fmt.Errorf("session %s: its last line is cut short and cannot be removed: %w", f.id, err)
		}
	}
	for _, c := range agent.OpenCalls(entries) {
		if !c.OnlyReads() {
			f.syncResults[c.ID] = true
		}
	}
	f.seq = len(entries)
	f.store.putBack(f.id, entries)
	s, err := agent.LoadSession(f.id, entries)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return s, nil
}

func (f *file) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	failed := f.err
	switch {
	case f.reported:
		failed = nil
	case failed == nil && f.out != nil:
		failed = f.flush(false)
	}
	failed = errors.Join(failed, f.release())
	f.err = fmt.Errorf("session %s: the store was closed", f.id)
	return failed
}

// encode writes v as one line of JSON that a person can read.
func encode(w *bytes.Buffer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// From version 2 of the format on, each line of a journal ends with a checksum
// of what comes before it in the line, so that a bit that flips on the disk is
// noticed. An export has none: a person may edit it.

const (
	sumVersion = 2
	sumField   = `,"sum":"`
	sumEnd     = "\"}\n"
	sumLength  = len(sumField) + 8 + len(sumEnd)
)

// castagnoli is made on first use, since that takes a while.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// addSum puts the checksum into a line that is an object, from the byte at start.
func addSum(text *bytes.Buffer, start int) {
	text.Truncate(text.Len() - len("}\n"))
	sum := crc32.Checksum(text.Bytes()[start:], castagnoli())
	fmt.Fprintf(text, sumField+"%08x"+sumEnd, sum)
}
