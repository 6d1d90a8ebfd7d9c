package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

func (w *workspace) read(ctx context.Context, in readInput) (tools.Result, error) {
	if err := in.check(); err != nil {
		return tools.Result{}, err
	}
	return patiently(ctx, in.Path, func() (tools.Result, error) {
		seen, path, err := w.allowed(ctx, in.Path)
		if err != nil {
			return tools.Result{}, err
		}
		in.Path = path
		return seen.labelled(seen.show(ctx, in))
	})
}

func (w *workspace) show(ctx context.Context, in readInput) (tools.Result, error) {
	root, err := w.open()
	if err != nil {
		return tools.Result{}, err
	}
	defer root.Close()
	f, size, err := w.openFile(root, in.Path)
	if err != nil {
		return tools.Result{}, err
	}
	defer f.Close()
	// Only some files have deadlines, for instance /proc/kmsg; patiently is for the others.
	stop := context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()

	sample := make([]byte, sampled)
	n, err := f.ReadAt(sample, 0)
	if sample = sample[:n]; n == 0 && err != nil && size > 0 {
		return tools.Result{}, fmt.Errorf("%s cannot be read: %w", in.Path, err)
	}
	if binary(sample) {
		text := fmt.Sprintf("(%s is a binary file, not shown: %d bytes, %s)", in.Path, size, http.DetectContentType(sample))
		return tools.Result{Text: text, Origin: tools.Workspace, Truncated: true}, nil
	}
	p := newPage(max(in.StartLine, 1), in.EndLine, w.MaxLines, w.MaxBytes)
	if err := p.scan(ctx, f); err != nil {
		return tools.Result{}, fmt.Errorf("%s cannot be read: %w", in.Path, err)
	}
	return p.result(in.Path)
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
		return fmt.Errorf("%s is %s; only files can be read", path, kind(info.Mode()))
	}
	return nil
}

// sampled is how much of a file decides whether it is text; git looks at as
// many bytes for a NUL (buffer_is_binary in xdiff-interface.c).
const sampled = 8000

// binary reports whether the beginning of a file holds a NUL, is a PDF, or has
// more than a tenth of invalid UTF-8; a text in Latin-1 has less.
func binary(sample []byte) bool {
	if bytes.IndexByte(sample, 0) >= 0 || bytes.HasPrefix(sample, []byte("%PDF-")) {
		return true
	}
	invalid := 0
	for b := sample; len(b) > 0; {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 && utf8.FullRune(b) {
			invalid++
		}
		b = b[size:]
	}
	return invalid*10 > len(sample)
}
