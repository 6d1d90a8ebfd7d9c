package chat

import (
	"bytes"
	"os"

	"github.com/charmbracelet/x/ansi"
)

// output is the terminal, and reports the first drawing: the library turns
// bracketed paste on with it.
type output struct {
	*os.File
	drawn func() // nil once it was called
}

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	n, err := o.File.Write(b)
	if o.drawn != nil && bytes.Contains(b, []byte(ansi.SetModeBracketedPaste)) {
		o.drawn()
		o.drawn = nil
	}
	return n, err
}
