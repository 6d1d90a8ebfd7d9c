package journal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"mylm/agent"
)

// Load reads a session, which may be in use. Where a line in the middle cannot
// be read the entries before it are returned with ErrDamaged, and with ErrCut
// all those before a last line that is not whole.
func (s *Store) Load(ctx context.Context, id string) (Header, []agent.Entry, error) {
	if !validID(id) {
		return Header{}, nil, fmt.Errorf("session %q: %w", id, ErrNotFound)
	}
	in, err := s.openFile(id, os.O_RDONLY)
	if err != nil {
		return Header{}, nil, fmt.Errorf("session %s: %w", id, err)
	}
	defer in.Close()
	h, entries, _, err := read(ctx, in)
	if err != nil {
		err = fmt.Errorf("session %s: %w", id, err)
	}
	return h, entries, err
}

// openFile opens the journal of a session, and refuses anything but a regular
// file: opening a named pipe may block forever.
func (s *Store) openFile(id string, flag int) (*os.File, error) {
	path := s.Path(id)
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return nil, fmt.Errorf("%w: it is a link to a missing file", ErrDamaged)
		}
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: it is %s", ErrDamaged, kindOf(info.Mode()))
	}
	f, err := os.OpenFile(path, flag, 0)
	if errors.Is(err, os.ErrNotExist) {
		err = ErrNotFound // removed meanwhile
	}
	return f, err
}

// kindOf describes a path that is not a regular file.
func kindOf(mode os.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&os.ModeSymlink != 0:
		return "a link"
	case mode&os.ModeNamedPipe != 0:
		return "a named pipe"
	}
	return "a device or the like"
}

// LoadFile reads the journal at a path, as Load does. A path may also be that of
// a pipe.
func LoadFile(ctx context.Context, path string) (Header, []agent.Entry, error) {
	in, err := os.Open(path)
	if err != nil {
		return Header{}, nil, err
	}
	defer in.Close()
	h, entries, _, err := read(ctx, in)
	return h, entries, err
}

// read reads a journal, and returns how many bytes of it are intact. A last
// line that is not is ErrCut.
func read(ctx context.Context, in io.Reader) (h Header, entries []agent.Entry, whole int64, err error) {
	var bad error // the line before this one cannot be read
	n := 0
	rest, err := lines(ctx, in, func(line []byte) (err error) {
		n++
		var e agent.Entry
		switch {
		case bad != nil:
			return bad
		case n == 1:
			h, err = parseHeader(line)
		default:
			err := checkSum(line, h.Version >= sumVersion)
			if err == nil {
				err = json.Unmarshal(line, &e)
			}
			if err != nil {
				bad = fmt.Errorf("%w: line %d cannot be read: %w", ErrDamaged, n, err)
				return nil
			}
			if e.Seq != len(entries)+1 {
				return fmt.Errorf("%w: line %d: entry %d is missing before it", ErrDamaged, n, len(entries)+1)
			}
			entries = append(entries, e)
		}
		whole += int64(len(line))
		return err
	})
	switch {
	case err != nil:
	case n == 0:
		_, err = parseHeader(rest)
	case bad != nil || len(rest) > 0:
		err = ErrCut
	}
	return h, entries, whole, err
}

// lines hands over what ends in a line break, with it. It returns what comes
// after the last one.
func lines(ctx context.Context, in io.Reader, f func([]byte) error) (rest []byte, err error) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			head := bytes.Clone(line)
			line, err = r.ReadBytes('\n')
			line = append(head, line...)
		}
		switch {
		case errors.Is(err, io.EOF):
			return line, nil
		case err != nil:
			return nil, err
		}
		if err := f(line); err != nil {
			return nil, err
		}
	}
}

// parseHeader reads the first line of a journal, with its line break.
func parseHeader(line []byte) (Header, error) {
	var h Header
	err := json.Unmarshal(line, &h)
	switch {
	case len(line) == 0:
		return h, fmt.Errorf("%w: it is empty", ErrDamaged)
	case !bytes.HasSuffix(line, []byte("\n")):
		return h, fmt.Errorf("%w: its first line is cut short", ErrDamaged)
	case h.Format != Format:
		return h, fmt.Errorf("%w: its first line is not the header of a session", ErrDamaged)
	case h.Version > Version:
		return h, fmt.Errorf("%w (format %d; this one reads up to %d)", ErrNewer, h.Version, Version)
	case err != nil:
		return h, fmt.Errorf("%w: its header cannot be read: %w", ErrDamaged, err)
	}
	if err := checkSum(line, h.Version >= sumVersion); err != nil {
		return h, fmt.Errorf("%w: its header: %w", ErrDamaged, err)
	}
	return h, nil
}

// checkSum compares a line with its checksum, which it must have if required.
func checkSum(line []byte, required bool) error {
	at := len(line) - sumLength
	if at < 0 || !bytes.HasPrefix(line[at:], []byte(sumField)) || !bytes.HasSuffix(line, []byte(sumEnd)) {
		if required {
			return errors.New("it has no checksum")
		}
		return nil
	}
	want := fmt.Sprintf("%08x", crc32.Checksum(line[:at], castagnoli()))
	if got := string(line[at+len(sumField) : at+len(sumField)+8]); got != want {
		return fmt.Errorf("its checksum is %s, not %s", want, got)
	}
	return nil
}
