package files

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"mylm/tools"
	"mylm/tools/files/internal/open"
)

func (in readInput) check() error {
	switch {
	case strings.TrimSpace(in.Path) == "":
		return errors.New("the path is empty; give the file to read")
	case in.StartLine < 0 || in.EndLine < 0:
		return errors.New("start_line and end_line count from 1")
	case in.EndLine != 0 && in.EndLine < in.StartLine:
		return fmt.Errorf("end_line %d is before start_line %d", in.EndLine, in.StartLine)
	}
	return nil
}

func read(ctx context.Context, r reading, in readInput) (tools.Result, error) {
	if err := in.check(); err != nil {
		return tools.Result{}, err
	}
	f, size, err := r.openFile(r.root, r.path)
	if err != nil {
		return tools.Result{}, err
	}
	defer f.Close()
	// Only some files have deadlines, for instance /proc/kmsg; waitFor is for the others.
	stop := context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()

	sample := make([]byte, tools.Sampled)
	n, err := f.ReadAt(sample, 0)
	if sample = sample[:n]; n == 0 && err != nil && size > 0 {
		return tools.Result{}, fmt.Errorf("%s cannot be read: %w", r.path, err)
	}
	if tools.Binary(sample) {
		text := fmt.Sprintf("(%s is a binary file, not shown: %d bytes, %s)", r.path, size, http.DetectContentType(sample))
		return tools.Result{Text: text, Origin: tools.Workspace, Truncated: true}, nil
	}
	p := page{start: max(in.StartLine, 1), end: in.EndLine, maxLines: r.MaxLines, maxBytes: r.MaxBytes}
	var text io.Reader = f
	if name, err := r.relative(r.path); err == nil && size <= maxEdited && r.Editor != nil {
		onDisk, err := io.ReadAll(f)
		if err != nil {
			return tools.Result{}, fmt.Errorf("%s cannot be read: %w", r.path, err)
		}
		text = bytes.NewReader(onDisk)
		if changed, ok := r.unsaved(ctx, name, string(onDisk)); ok {
			text = strings.NewReader(changed)
		}
	}
	if err := p.scan(ctx, text); err != nil {
		return tools.Result{}, fmt.Errorf("%s cannot be read: %w", r.path, err)
	}
	return p.result(r.path)
}

// openFile opens a regular file. What it is gets looked at before, since the
// mere opening of a device can do something, and after, since it may be
// another file by then.
func (w *workspace) openFile(root *os.Root, path string) (*os.File, int64, error) {
	name, info, err := w.stat(root, path)
	if err != nil {
		return nil, 0, err
	}
	if err := regular(path, info); err != nil {
		return nil, 0, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|open.Nonblock, 0)
	if err != nil {
		return nil, 0, w.explain(root, path, name, err)
	}
	if info, err = f.Stat(); err == nil {
		err = regular(path, info)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

func regular(path string, info os.FileInfo) error {
	switch {
	case info.IsDir():
		return fmt.Errorf("%s is a directory, not a file", path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is %s; only files can be read", path, open.Kind(info.Mode()))
	}
	return nil
}

// counted is how far into a file lines are counted beyond the ones shown: 64
// MiB take well under a second from a disk that is not cached.
const counted = 64 << 20

// lineReader reads a text line by line, and keeps as much of each as is wanted.
type lineReader struct {
	in    *bufio.Reader
	most  int    // bytes of a line that are kept
	line  []byte // the last line, as far as it is kept
	size  int    // its length
	ended bool   // by a line feed, which is no part of it
}

// next reads a line. ok is false at the end of the text. With bounded, a line
// that is longer than counted comes in parts.
func (l *lineReader) next(ctx context.Context, bounded bool) (ok bool, err error) {
	l.line, l.size, l.ended = l.line[:0], 0, false
	for {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		piece, err := l.in.ReadSlice('\n')
		piece, l.ended = bytes.CutSuffix(piece, []byte{'\n'})
		l.size += len(piece)
		l.line = append(l.line, piece[:min(len(piece), l.most-len(l.line))]...)
		if err == bufio.ErrBufferFull && (l.size <= counted || !bounded) {
			continue
		}
		if err == io.EOF || err == bufio.ErrBufferFull {
			err = nil
		}
		return l.size > 0 || l.ended, err
	}
}

// page collects a range of the lines of a file. It never holds more than maxBytes
// of it.
type page struct {
	start, end int // the range asked for; end 0: none
	maxLines   int
	maxBytes   int

	text  bytes.Buffer // whole lines with their ends
	shown int          // lines in text
	full  bool         // nothing more is shown
	cut   int          // length of the only line shown, if it is too long; else 0
	total int          // lines so far
	more  bool         // what comes after counted was not read
}

// scan reads r to its end, or as far as lines are counted.
func (p *page) scan(ctx context.Context, r io.Reader) error {
	in := &lineReader{in: bufio.NewReaderSize(r, 64<<10), most: p.maxBytes + utf8.UTFMax} // so that a character can be cut off whole
	const mark = "\uFEFF"
	if begin, _ := in.in.Peek(len(mark)); string(begin) == mark {
		_, _ = in.in.Discard(len(mark))
	}
	for read := 0; ; {
		wanted := !p.full && p.total+1 >= p.start
		ok, err := in.next(ctx, wanted || p.full)
		if !ok {
			return err
		}
		read += in.size
		if wanted {
			p.take(in)
		}
		p.total++
		p.full = p.full || p.shown == p.maxLines || p.end != 0 && p.total >= p.end
		if err != nil || p.full && read > counted {
			p.more = true
			return err
		}
	}
}

// take adds a line if it fits.
func (p *page) take(in *lineReader) {
	line := in.line
	if in.size <= p.maxBytes {
		line = bytes.TrimSuffix(line, []byte{'\r'})
	}
	switch fits := p.text.Len()+len(line) <= p.maxBytes; {
	case fits:
		p.text.Write(line)
		if in.ended {
			p.text.WriteByte('\n')
		}
		p.shown++
	case p.shown == 0:
		p.text.Write(tools.Begin(line, p.maxBytes))
		p.shown, p.cut, p.full = 1, in.size, true
	default:
		p.full = true
	}
}

// result is the page as the model sees it.
func (p *page) result(path string) (tools.Result, error) {
	if p.total < p.start && p.start > 1 {
		return tools.Result{}, fmt.Errorf("start_line %d is past the end: %s has %s", p.start, path, tools.Count(p.total, "line"))
	}
	if p.total == 0 {
		return tools.Result{Text: fmt.Sprintf("(%s is empty)", path), Origin: tools.Workspace}, nil
	}
	text := strings.TrimSuffix(p.text.String(), "\n")
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	switch note := p.note(); {
	case note != "":
		text += "\n[" + note + "]"
	case strings.TrimSpace(text) == "":
		text = fmt.Sprintf("(%s has only %s without text)", path, tools.Count(p.total, "line"))
	}
	return tools.Result{Text: text, Origin: tools.Workspace, Truncated: p.truncated()}, nil
}

// last is the number of the last line shown.
func (p *page) last() int { return p.start + p.shown - 1 }

// rest reports whether there is something after the last line shown.
func (p *page) rest() bool { return p.last() < p.total || p.more }

// truncated reports whether something that was asked for is not shown.
func (p *page) truncated() bool {
	return p.cut > 0 || p.rest() && (p.end == 0 || p.last() < p.end)
}

// note reports what the page does not show, "" if it shows all.
func (p *page) note() string {
	if p.start == 1 && p.cut == 0 && !p.rest() {
		return ""
	}
	least := ""
	if p.more {
		least = "at least "
	}
	note := fmt.Sprintf("lines %d-%d of %s%d", p.start, p.last(), least, p.total)
	if p.cut > 0 {
		note = fmt.Sprintf("line %d of %s%d, its first %d of %s%d bytes", p.start, least, p.total, p.text.Len(), least, p.cut)
	}
	if p.truncated() && p.last() < p.total {
		note += fmt.Sprintf("; continue with start_line %d", p.last()+1)
	}
	return note
}
