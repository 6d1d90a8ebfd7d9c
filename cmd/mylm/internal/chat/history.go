package chat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2/maybe"
)

// Bounds of the history.
const (
	historyEntries = 1000
	historyEntry   = 16 << 10 // bytes of one in the file; a longer one is kept for this conversation only
)

// history is what was typed, the last at the end, also in earlier conversations.
// Each line of its file is a text as JSON.
type history struct {
	path   string // "": it is kept for this conversation only
	all    []string
	at     int    // which one is shown; len(all): none
	typing string // what was in the editor before
}

func openHistory(path string) *history {
	h := &history{path: path}
	if path != "" {
		h.all = readHistory(path)
	}
	h.at = len(h.all)
	return h
}

// readHistory reads the file; lines that cannot be read are left out.
func readHistory(path string) (all []string) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		var text string
		if json.Unmarshal([]byte(line), &text) == nil && text != "" {
			all = append(all, text)
		}
	}
	return all[max(0, len(all)-historyEntries):]
}

// add puts a text at the end, here and in the file. Another conversation may have
// written to that: its lines are kept. What cannot be written is known here only.
func (h *history) add(text string) {
	defer func() { h.at, h.typing = len(h.all), "" }()
	h.all = appended(h.all, text)
	if h.path == "" || len(text) > historyEntry || os.MkdirAll(filepath.Dir(h.path), 0o700) != nil {
		return
	}
	lock := flock.New(h.path + ".lock")
	if lock.Lock() != nil {
		return
	}
	defer lock.Unlock()
	var b strings.Builder
	for _, t := range appended(readHistory(h.path), text) {
		line, err := json.Marshal(t)
		if err == nil {
			b.Write(line)
			b.WriteByte('\n')
		}
	}
	_ = maybe.WriteFile(h.path, []byte(b.String()), 0o600)
}

// appended is the list with text at its end, and nowhere else.
func appended(all []string, text string) []string {
	all = slices.DeleteFunc(all, func(t string) bool { return t == text })
	all = append(all, text)
	return all[max(0, len(all)-historyEntries):]
}

// older is the text before the one that is shown.
func (h *history) older(typing string) (string, bool) {
	if h.at == 0 {
		return "", false
	}
	if h.at == len(h.all) {
		h.typing = typing
	}
	h.at--
	return h.all[h.at], true
}

// newer is the text after it, in the end what was being typed.
func (h *history) newer() (string, bool) {
	if h.at >= len(h.all) {
		return "", false
	}
	if h.at++; h.at == len(h.all) {
		return h.typing, true
	}
	return h.all[h.at], true
}
