package undo

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"mylm/tools/files/internal/replace"
)

// sweep clears up after a run that was killed: it removes the temporary file of
// the last change, which is the only one that can be there, and ends the run.
func (r *Run) sweep(root *os.Root) error {
	if len(r.changes) > 0 {
		last := r.changes[len(r.changes)-1]
		if replace.Sweep(root, filepath.FromSlash(last.Temp)) != nil {
			return nil // its directory is closed just now: another time
		}
	}
	now := time.Now()
	return r.append(line{Ended: &now})
}

// append adds a line to the journal of a run that is over. Half a line at its
// end, of a process that was killed, is removed first.
func (r *Run) append(l line) error {
	f, err := os.OpenFile(filepath.Join(r.dir, journalName), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(f)
	if err == nil {
		err = f.Truncate(int64(bytes.LastIndexByte(text, '\n') + 1))
	}
	if err == nil {
		err = writeLine(f, l)
	}
	return errors.Join(err, f.Close())
}

// writeLine adds a line to a journal. It is on the disk when writeLine returns.
func writeLine(f *os.File, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err = f.Write(append(b, '\n')); err == nil {
		err = f.Sync()
	}
	if err != nil { // half a line would spoil the next one
		return errors.Join(err, f.Truncate(end))
	}
	return nil
}
