package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
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
// One that cannot be read is passed over.
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
			if info.State == Unreadable {
				continue
			}
			err := s.search(ctx, info, words, func(h Hit) bool {
				n++
				return yield(h, nil) && (limit == 0 || n < limit)
			})
			switch {
			case errors.Is(err, errEnough):
				return
			case ctx.Err() != nil:
				yield(Hit{}, ctx.Err())
				return
			case err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, ErrDamaged):
				yield(Hit{}, err)
				return
			}
		}
	}
}

var errEnough = errors.New("enough was found")

func (s *Store) search(ctx context.Context, info Info, words []string, found func(Hit) bool) error {
	in, err := os.Open(s.Path(info.ID))
	if err != nil {
		return err
	}
	defer in.Close()
	plain := plainWords(words)
	first := true
	return lines(ctx, in, func(line []byte) error {
		if first {
			first = false
			return nil
		}
		if !holdsAll(line, plain) {
			return nil // without a look at what the JSON says
		}
		var e agent.Entry
		if json.Unmarshal(line, &e) != nil || !matches(e, words) {
			return nil
		}
		if !found(Hit{Session: info, Entry: e}) {
			return errEnough
		}
		return nil
	})
}

// plainWords are the words that stand in JSON as they are.
func plainWords(words []string) (plain [][]byte) {
	for _, w := range words {
		if strings.IndexFunc(w, func(r rune) bool { return r > unicode.MaxASCII || r < ' ' || r == '"' || r == '\\' }) < 0 {
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
	switch e.Kind {
	case agent.EntryRun, agent.EntryEnd, agent.EntryUser:
		return false // the engine's own words
	}
	text := strings.ToLower(e.Text + "\n" + e.Name + " " + string(e.Args) + "\n" + e.Error)
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}
