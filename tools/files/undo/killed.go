package undo

import (
	"bytes"
	"encoding/json"
	"errors"
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
	path := filepath.Join(r.dir, journalName)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	whole := int64(bytes.LastIndexByte(text, '\n') + 1)
	err = f.Truncate(whole)
	if err == nil {
		_, err = f.WriteAt(append(b, '\n'), whole)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
