package chat

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// input is the terminal. Its end is an error: the library would go on without input.
type input struct{ *os.File }

// Read implements io.Reader.
func (i *input) Read(b []byte) (int, error) {
	n, err := i.File.Read(b)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// output is the terminal. It reports the first drawing, with which the library turns
// bracketed paste on. What is printed above the drawing is written together with the
// drawing that follows: between the two, the terminal would show rows twice.
type output struct {
	*os.File
	drawn func() // nil once it was called

	mu    sync.Mutex
	held  []byte      // what is printed
	whole int         // of held, when all was printed
	hold  bool        // until that is over
	late  *time.Timer // writes it if no drawing follows
}

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.hold {
		o.held = append(o.held, b...)
		return len(b), nil
	}
	err := o.write(b)
	if o.drawn != nil && bytes.Contains(b, []byte(ansi.SetModeBracketedPaste)) {
		o.drawn()
		o.drawn = nil
	}
	return len(b), err
}

// WriteString implements io.StringWriter, in place of the file's.
func (o *output) WriteString(s string) (int, error) { return o.Write([]byte(s)) }

// write writes what was held, and b, at once.
func (o *output) write(b []byte) error {
	if len(o.held) > 0 {
		const sync = ansi.SetModeSynchronizedOutput
		var begin []byte // of the drawing: until its end, the terminal shows no cursor, or nothing new
		for _, lead := range []string{sync, ansi.ResetModeTextCursorEnable} {
			if rest, ok := bytes.CutPrefix(b, []byte(lead)); ok {
				begin, b = append(begin, lead...), rest
			}
		}
		b = append(append(begin, strings.ReplaceAll(string(o.held), sync, "")...), b...)
		o.held = nil
	}
	if len(b) == 0 {
		return nil
	}
	_, err := o.File.Write(b)
	return err
}

// print holds what is written until release is called.
func (o *output) print() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.hold = true
}

// frame is longer than the time until the next drawing, also on a busy machine. Where
// rows are replaced something is going on, whose spinner is drawn many times a second.
const frame = 5 * time.Second

// printed is called when all is held that is printed.
func (o *output) printed() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.whole = len(o.held)
}

// release ends that, once the library has what is to be drawn then: until it does, it
// may still draw what was there before. What was printed waits for the next drawing if
// that replaces rows.
func (o *output) release(replaces bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.hold = false
	wait := frame
	if len(o.held) > o.whole { // it was drawn already, most likely
		wait = tick
	}
	switch {
	case !replaces:
		_ = o.write(nil) // the next write fails, too
	case o.late == nil:
		o.late = time.AfterFunc(wait, o.flush)
	default:
		o.late.Reset(wait)
	}
}

// tick is longer than the library takes from one drawing to the next.
const tick = 40 * time.Millisecond

// flush writes what is held now.
func (o *output) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.hold {
		_ = o.write(nil)
	}
}

// end holds nothing any more.
func (o *output) end() {
	o.mu.Lock()
	o.hold = false
	o.mu.Unlock()
	o.flush()
}
