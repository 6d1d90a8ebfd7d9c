package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
)

// stdinPatience is how long a pipe on stdin may be silent when there is a
// question already. Programs that start mylm often leave a pipe open that they
// never write to.
const stdinPatience = 2 * time.Second

// maxInput bounds what is read from stdin and files: more never fits a model.
const maxInput = 64 << 20

// readNamed reads the text of the file that a flag names; "-" is stdin, which has no
// more to give then.
func readNamed(ctx context.Context, by, path string, screen *term.Screen) (string, error) {
	if path == "-" {
		return readStdinText(ctx, screen)
	}
	return term.Wait(ctx, func() (string, error) { return readTextOf(by, path) })
}

// readStdinText reads a text from stdin to its end.
func readStdinText(ctx context.Context, screen *term.Screen) (string, error) {
	data, err := readStdin(ctx, screen.In, 0, screen)
	if err != nil {
		return "", err
	}
	text, err := asText(data)
	if err != nil {
		return "", failure.Usage("stdin: %v", err)
	}
	return text, nil
}

// namedFile is what errors about a file begin with: the flag that names it, if one does, and its path.
func namedFile(by, path string) string { return strings.TrimSpace(by + " " + term.Echoed(path)) }

// readTextOf reads a file of text that was named by something, as errors begin.
func readTextOf(by, path string) (string, error) {
	data, err := readFileOf(by, path)
	if err != nil {
		return "", err
	}
	if image, err := newImage(path, data); err == nil && image != nil {
		return "", failure.Usage("%s: it is a picture, and no text", namedFile(by, path)).WithHint("mylm ask --image " + term.ShellQuote(path) + " \"...\" sends it to a model that sees.")
	}
	text, err := asText(data)
	if err != nil {
		return "", failure.Usage("%s: %v", namedFile(by, path), err)
	}
	return text, nil
}

// readFileOf reads a file that was named by something, as errors begin.
func readFileOf(by, path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, cmdline.Unread(by, path, err)
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		hint := "Name a file in it."
		if by == "--file" {
			hint = "Name the files in it, or ask about the directory: the model can look itself."
		}
		return nil, failure.Usage("%s: it is a directory", namedFile(by, path)).WithHint(hint)
	}
	data, err := readAll(f)
	if err != nil {
		return nil, failure.Usage("%s: %v", namedFile(by, path), err)
	}
	return data, nil
}

// asText is a text, and an error for anything else.
func asText(b []byte) (string, error) {
	switch {
	case bytes.HasPrefix(b, []byte("%PDF-")):
		return "", errors.New("it is a PDF; pdftotext writes its text")
	case bytes.HasPrefix(b, []byte("\xff\xfe")), bytes.HasPrefix(b, []byte("\xfe\xff")):
		return "", errors.New("it is UTF-16; iconv -f UTF-16 -t UTF-8 writes it as UTF-8")
	case bytes.IndexByte(b, 0) >= 0:
		return "", errors.New("it is not text")
	}
	if !utf8.Valid(b) {
		b = bytes.ToValidUTF8(b, []byte("�"))
	}
	return string(b), nil
}

// readStdin reads stdin to its end. With patience, a stdin without input for that long is ignored.
func readStdin(ctx context.Context, f *os.File, patience time.Duration, screen *term.Screen) ([]byte, error) {
	type piece struct {
		data []byte
		err  error
	}
	begun, whole := make(chan struct{}), make(chan piece, 1)
	go func() {
		first := make([]byte, 1)
		n, err := f.Read(first)
		close(begun)
		if n == 0 {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			whole <- piece{nil, err}
			return
		}
		data, err := readAll(io.MultiReader(bytes.NewReader(first[:n]), f))
		whole <- piece{data, err}
	}()
	if patience > 0 {
		t := time.NewTimer(patience)
		defer t.Stop()
		select {
		case <-begun:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-t.C:
			screen.Dim(fmt.Sprintf("No input on stdin after %v; continuing without it (use - to wait).", patience))
			return nil, nil
		}
	}
	select {
	case p := <-whole:
		if p.err != nil {
			return nil, failure.Usage("stdin: %v", p.err)
		}
		return p.data, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
