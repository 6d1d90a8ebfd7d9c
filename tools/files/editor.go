package files

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// Editor has files of the workspace open, perhaps with changes that are not saved.
// Names are relative to the root, with the system's separator. Its methods may be
// called from several goroutines at once.
type Editor interface {
	Reads() bool  // ReadFile can be used
	Writes() bool // WriteFile can be used
	// ReadFile returns a file as the editor has it. After an error the disk counts.
	ReadFile(ctx context.Context, name string) (string, error)
	// WriteFile writes a file, and saves it.
	WriteFile(ctx context.Context, name, text string) error
}

// unsaved is the text of a file that the editor has changed and not saved. onDisk
// is what it was saved as.
func (w *workspace) unsaved(ctx context.Context, name, onDisk string) (text string, changed bool) {
	if w.Editor == nil || w.outside || !w.Editor.Reads() {
		return "", false
	}
	text, err := w.Editor.ReadFile(ctx, name)
	if err != nil { // it has not opened it
		return "", false
	}
	if strings.HasSuffix(onDisk, "\n") && !strings.HasSuffix(text, "\n") { // some join lines
		text += "\n"
	}
	if strings.Contains(onDisk, "\r\n") && !strings.Contains(text, "\r\n") { // editors keep line ends apart from the text
		text = toCRLF(text)
	}
	return text, text != onDisk
}

// current is the text of a file: what the editor has, if it also writes it, or what
// is on the disk. onDisk is that in any case.
func (w *workspace) current(ctx context.Context, root *os.Root, t *target) (text, onDisk string, err error) {
	if onDisk, err = w.text(root, t); err != nil {
		return "", "", err
	}
	if w.Editor != nil && w.Editor.Writes() {
		if text, changed := w.unsaved(ctx, t.name, onDisk); changed {
			return text, onDisk, nil
		}
	}
	return onDisk, onDisk, nil
}

// through is how the editor writes a revision; nil: it does not.
func (w *workspace) through(r *revision) func(context.Context) error {
	if w.Editor == nil || !w.Editor.Writes() {
		return nil
	}
	return func(ctx context.Context) error {
		if r.exact {
			if text, changed := w.unsaved(ctx, r.name, r.onDisk); changed && text != r.old {
				return fmt.Errorf("%s was changed in the editor meanwhile, so nothing was written; read it again", r.path)
			}
		}
		if err := w.Editor.WriteFile(ctx, r.name, r.new); err != nil {
			return fmt.Errorf("the editor did not write it: %w", err)
		}
		return nil
	}
}
