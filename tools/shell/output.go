package shell

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"mylm/tools"
)

const (
	// sniffed is how many bytes http.DetectContentType looks at.
	sniffed = 512

	// alienShare is the share of NULs and invalid UTF-8, one byte in so many,
	// above which output is binary. Text in Latin-1 and file names separated by
	// NULs have less, programs, archives and UTF-16 have more.
	alienShare = 10
)

// output keeps the beginning and the end of what is written to it, as text.
// Its memory does not grow with what is written.
type output struct {
	progress         func(string)
	headCap, tailCap int

	clean      cleaner
	buffer     []byte // of the last write, as text
	first      []byte // the first raw bytes, for telling what kind they are
	raw        int    // bytes written
	head, tail []byte // text; tail holds up to twice its share
	size       int    // bytes of text
	lines      int    // newlines of text
}

func newOutput(limit int, progress func(string)) *output {
	head := limit * 2 / 3
	return &output{progress: progress, headCap: head, tailCap: limit - head}
}

// Write never fails.
func (o *output) Write(p []byte) (int, error) {
	if n := sniffed - len(o.first); n > 0 {
		o.first = append(o.first, p[:min(n, len(p))]...)
	}
	o.raw += len(p)
	o.buffer = o.clean.feed(o.buffer[:0], p)
	o.keep(o.buffer)
	return len(p), nil
}

func (o *output) binary() bool { return o.clean.alien*alienShare > o.raw }

func (o *output) keep(text []byte) {
	if len(text) == 0 {
		return
	}
	if !o.binary() {
		o.progress(string(text))
	}
	o.size += len(text)
	o.lines += bytes.Count(text, []byte{'\n'})
	n := min(o.headCap-len(o.head), len(text))
	o.head = append(o.head, text[:n]...)
	o.tail = append(o.tail, text[n:]...)
	if len(o.tail) > 2*o.tailCap {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-o.tailCap:]...)
	}
}

// text ends the output and returns what the model sees of it, and whether that
// is less than there was.
func (o *output) text() (text string, cut bool) {
	o.keep(o.clean.close(nil))
	if o.binary() {
		return fmt.Sprintf("(binary output, not shown: %d bytes, %s)", o.raw, http.DetectContentType(o.first)), true
	}
	if o.size <= o.headCap+o.tailCap {
		return strings.TrimRight(string(o.head)+string(o.tail), "\n"), false
	}
	tail := o.tail[len(o.tail)-min(o.tailCap, len(o.tail)):]
	missing := tools.Gap{Bytes: o.size - len(o.head) - len(tail), Breaks: o.lines - bytes.Count(o.head, []byte{'\n'}) - bytes.Count(tail, []byte{'\n'})}
	return strings.TrimRight(missing.Join(string(o.head), string(tail)), "\n"), true
}
