package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"unicode"

	"mylm/agent"
)

// Hit is an entry in which something was found.
type Hit struct {
	Session Info        `json:"session"`
	Entry   agent.Entry `json:"entry"`
}

// Search looks for entries that hold every one of the words, in any case: in
// questions, replies, calls and results. The sessions last changed come first.
// Where one cannot be read, or not all of it, an error comes with its Info and
// without an entry, and the search continues with the next.
func (s *Store) Search(ctx context.Context, text string, f Filter) iter.Seq2[Hit, error] {
	words := strings.Fields(strings.ToLower(text))
	return func(yield func(Hit, error) bool) {
		limit := f.Limit
		f.Limit = 0
		infos, err := s.List(ctx, f)
		if err != nil {
			yield(Hit{}, err)
			return
		}
		n := 0
		for _, info := range infos {
			err := s.search(ctx, info, words, func(h Hit) bool {
				n++
				return yield(h, nil) && (limit == 0 || n < limit)
			})
			switch {
			case errors.Is(err, errStop):
				return
			case ctx.Err() != nil:
				yield(Hit{}, ctx.Err())
				return
			case err == nil, errors.Is(err, ErrNotFound):
			case !yield(Hit{Session: info}, fmt.Errorf("session %s: %w", info.ID, err)):
				return
			}
		}
	}
}

var errStop = errors.New("enough was found")

func (s *Store) search(ctx context.Context, info Info, words []string, found func(Hit) bool) error {
	in, err := s.openFile(info.ID, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer in.Close()
	plain := plainWords(words)
	var damage, bad error // bad: the line before this one cannot be read
	n := 0
	rest, err := lines(ctx, in, func(line []byte) error {
		if n++; n == 1 {
			_, err := parseHeader(line)
			return err
		}
		if damage == nil {
			damage = bad
		}
		var e agent.Entry
		switch {
		case !object(line): // as a line is that was cut short, or never reached the disk
			bad = fmt.Errorf("%w: line %d cannot be read", ErrDamaged, n)
		case !holdsAll(line, plain): // without a look at what the JSON says
		case json.Unmarshal(line, &e) != nil:
			bad = fmt.Errorf("%w: line %d cannot be read", ErrDamaged, n)
		case matches(e, words) && !found(Hit{Session: info, Entry: e}):
			return errStop
		}
		return nil
	})
	if err == nil && n == 0 {
		_, err = parseHeader(rest)
	}
	if err == nil {
		err = damage
	}
	return err
}

// object reports whether a line begins and ends as a JSON object does.
func object(line []byte) bool {
	line = bytes.TrimSpace(line)
	return bytes.HasPrefix(line, []byte("{")) && bytes.HasSuffix(line, []byte("}"))
}

// plainWords are the words that JSON does not escape.
func plainWords(words []string) (plain [][]byte) {
	for _, w := range words {
		if strings.IndexFunc(w, func(r rune) bool { return r > unicode.MaxASCII || r < ' ' || strings.ContainsRune(`"\<>&`, r) }) < 0 {
			plain = append(plain, []byte(w))
		}
	}
	return plain
}

func holdsAll(line []byte, words [][]byte) bool {
	lower := bytes.ToLower(line)
	for _, w := range words {
		if !bytes.Contains(lower, w) {
			return false
		}
	}
	return true
}

func matches(e agent.Entry, words []string) bool {
	text := strings.ToLower(Text(e))
	return text != "" && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}

// Text is the part of an entry that is searched, "" for the engine's own messages.
func Text(e agent.Entry) string {
	call := func(text, name string, args json.RawMessage, failure string) string {
		return strings.TrimSpace(failure + "\n" + text + "\n" + name + " " + string(args))
	}
	switch p := e.Payload.(type) {
	case agent.HistoryEntry:
		return p.Text
	case agent.PromptEntry:
		return p.Text
	case agent.ReplyEntry:
		return p.Text
	case agent.AuxiliaryEntry:
		return p.Text
	case agent.CompactionEntry:
		return p.Text
	case agent.CallEntry:
		return call("", p.Name, p.Args, "")
	case agent.ResultEntry:
		return call(p.Text, p.Name, p.Args, p.Error)
	case agent.CustomEntry:
		var part agent.Entry // of a session within this one
		switch err := json.Unmarshal(p.Args, &part); {
		case err != nil || part.Kind() == "":
			return call("", p.Name, p.Args, p.Error)
		case part.Kind() == agent.EntryPrompt && p.Purpose != "":
			return ""
		}
		return Text(part)
	}
	return ""
}
