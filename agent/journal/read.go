package journal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"mylm/agent"
)

// Load reads a session, which may be in use. Where a line in the middle cannot
// be read the entries before it are returned with ErrDamaged.
func (s *Store) Load(ctx context.Context, id string) (Header, []agent.Entry, error) {
	if !validID(id) {
		return Header{}, nil, fmt.Errorf("session %q: %w", id, ErrNotFound)
	}
	h, entries, err := LoadFile(ctx, s.Path(id))
	if errors.Is(err, os.ErrNotExist) {
		err = ErrNotFound
	}
	if err != nil {
		err = fmt.Errorf("session %s: %w", id, err)
	}
	return h, entries, err
}

// LoadFile reads the journal at a path, as Load does.
func LoadFile(ctx context.Context, path string) (Header, []agent.Entry, error) {
	in, err := os.Open(path)
	if err != nil {
		return Header{}, nil, err
	}
	defer in.Close()
	var entries []agent.Entry
	h, _, err := read(ctx, in, func(e agent.Entry) error {
		if e.Seq != len(entries)+1 {
			return fmt.Errorf("%w: entry %d is missing", ErrDamaged, len(entries)+1)
		}
		entries = append(entries, e)
		return nil
	})
	return h, entries, err
}

// read hands the entries of a journal to f, and returns how many bytes of it
// are whole. A last line that is not whole is passed over.
func read(ctx context.Context, in io.Reader, f func(agent.Entry) error) (h Header, whole int64, err error) {
	var bad error // the line before this one cannot be read
	n := 0
	err = lines(ctx, in, func(line []byte) error {
		if bad != nil {
			return bad
		}
		n++
		var err error
		if n == 1 {
			h, err = parseHeader(line)
		} else {
			var e agent.Entry
			if err = json.Unmarshal(line, &e); err != nil {
				bad = fmt.Errorf("%w: line %d cannot be read: %w", ErrDamaged, n, err)
				return nil
			}
			err = f(e)
		}
		whole += int64(len(line))
		return err
	})
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: it has no header", ErrDamaged)
	}
	return h, whole, err
}

// lines hands over what ends in a line break, with it.
func lines(ctx context.Context, in io.Reader, f func([]byte) error) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			head := bytes.Clone(line)
			line, err = r.ReadBytes('\n')
			line = append(head, line...)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil // what is behind the last line break was cut short
		case err != nil:
			return err
		}
		if err := f(line); err != nil {
			return err
		}
	}
}

func parseHeader(line []byte) (Header, error) {
	var h Header
	err := json.Unmarshal(line, &h)
	switch {
	case h.Format != format:
		return h, fmt.Errorf("%w: its first line is not the header of a session", ErrDamaged)
	case h.Version > Version:
		return h, fmt.Errorf("%w (format %d; this one reads up to %d)", ErrNewer, h.Version, Version)
	case err != nil:
		return h, fmt.Errorf("%w: its header cannot be read: %w", ErrDamaged, err)
	}
	return h, nil
}
