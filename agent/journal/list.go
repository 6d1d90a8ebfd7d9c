package journal

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"mylm/agent"
)

// States of a session beside the stop reason of its last run.
const (
	Running    = "running"    // a process has it
	Unfinished = "unfinished" // the process died
	Unreadable = "unreadable"
)

// LabelPlan is the label with the session of the plan that a session's runs are for. That of
// the plan names itself.
const LabelPlan = "plan"

// Info describes a session in a list.
type Info struct {
	Header
	Changed time.Time `json:"changed"`
	Size    int64     `json:"size"`
	// State is the stop reason of the last run, or one of Running, Unfinished
	// and Unreadable.
	State string `json:"state"`
	// Problem is why a session is unreadable.
	Problem string `json:"problem,omitempty"`
}

// Filter selects sessions. Its zero value is all of them. One whose labels
// cannot be read always matches.
type Filter struct {
	Labels map[string]string // those that have all of these
	Before time.Time         // those that were last changed before; zero: whenever
	Limit  int               // at most so many; 0: all
}

func (f Filter) matches(i Info) bool {
	if i.State == Unreadable && i.Labels == nil {
		return true
	}
	for k, v := range f.Labels {
		if i.Labels[k] != v {
			return false
		}
	}
	return true
}

// List lists sessions, the last changed first. Of each it reads the beginning
// and the end.
func (s *Store) List(ctx context.Context, f Filter) (all []Info, err error) {
	err = s.each(ctx, f, func(i Info) bool {
		all = append(all, i)
		return f.Limit == 0 || len(all) < f.Limit
	})
	return all, err
}

// Last is the session last changed that can be read, or nil, and those that
// were changed since and cannot be read. The filter's limit does not count.
func (s *Store) Last(ctx context.Context, f Filter) (last *Info, unreadable []Info, err error) {
	err = s.each(ctx, f, func(i Info) bool {
		if i.State == Unreadable {
			unreadable = append(unreadable, i)
			return true
		}
		last = &i
		return false
	})
	return last, unreadable, err
}

// each hands over the sessions that are meant, the last changed first, as long as
// more are wanted.
func (s *Store) each(ctx context.Context, f Filter, more func(Info) bool) error {
	names, err := s.recent(f.Before)
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		info, err := s.readInfo(n)
		if errors.Is(err, ErrNotFound) {
			continue // removed meanwhile
		}
		if err != nil {
			info.State, info.Problem = Unreadable, err.Error()
		}
		if f.matches(info) && !more(info) {
			return nil
		}
	}
	return nil
}

// recent lists the journals, the last changed first.
func (s *Store) recent(before time.Time) ([]name, error) {
	names, err := s.names()
	if !before.IsZero() {
		names = slices.DeleteFunc(names, func(n name) bool { return !n.changed.Before(before) })
	}
	slices.SortFunc(names, func(a, b name) int { return cmp.Or(b.changed.Compare(a.changed), cmp.Compare(a.id, b.id)) })
	return names, err
}

// Bounds of what is read of a journal for a list, in bytes. A header is far
// shorter than its bound, and so is the entry of an end: its error is.
const (
	maxHeader = 64 << 10
	maxEnd    = 16 << 10
)

// readInfo reads the beginning and the end of a journal.
func (s *Store) readInfo(n name) (Info, error) {
	info := Info{Header: Header{ID: n.id}, Changed: n.changed, Size: n.size}
	in, err := s.openFile(n.id, os.O_RDONLY)
	if err != nil {
		return info, err
	}
	defer in.Close()
	line, err := bufio.NewReaderSize(io.LimitReader(in, maxHeader), 1<<10).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return info, err
	}
	info.Header, err = parseHeader(line)
	info.ID = n.id // the file's name is what it is found by
	if err != nil {
		return info, err
	}
	end, _, whole, err := lastEnd(in, n.size)
	switch {
	case err != nil:
		return info, err
	case end != nil:
		info.State = string(end.StopReason)
	case s.inUse(n.id):
		info.State = Running
	case whole <= int64(len(line)):
		return info, ErrNothing
	default:
		info.State = Unfinished
	}
	return info, nil
}

// lastEnd is the end of a run on the last whole line of a journal of a size, with
// its number, nil if that is another entry, and how many bytes are whole.
func lastEnd(in io.ReaderAt, size int64) (end *agent.EndEntry, seq int, whole int64, err error) {
	tail := make([]byte, min(maxEnd, size))
	if _, err := in.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, 0, err
	}
	rest := tail[bytes.LastIndexByte(tail, '\n')+1:]
	tail = tail[:len(tail)-len(rest)]
	last := tail[bytes.LastIndexByte(tail[:max(0, len(tail)-1)], '\n')+1:]
	var e agent.Entry
	if json.Unmarshal(last, &e) == nil {
		if p, ok := e.Payload.(agent.EndEntry); ok {
			end = &p
		}
	}
	return end, e.Seq, size - int64(len(rest)), nil
}

// inUse reports whether a process appends to a session.
func (s *Store) inUse(id string) bool {
	if _, err := os.Lstat(lockPath(s.dir, id)); err != nil {
		return false
	}
	l, err := acquire(s.dir, id)
	l.release()
	return errors.Is(err, ErrInUse)
}
