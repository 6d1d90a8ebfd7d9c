package scriptmodel

import (
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"
)

// byteToRune is GPT-2's mapping of bytes to printable characters, in which
// vocabularies of byte pairs are stored.
var byteToRune = func() (table [256]rune) {
	next := rune(256)
	for b := range 256 {
		r := rune(b)
		if !(r >= '!' && r <= '~' || r >= 0xA1 && r <= 0xAC || r >= 0xAE && r <= 0xFF) {
			r = next
			next++
		}
		table[b] = r
	}
	return table
}()

func encodeBytes(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(byteToRune[s[i]])
	}
	return b.String()
}

// word splits text roughly as llama.cpp does for the tokenizer "llama-bpe".
var word = regexp.MustCompile(`[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+|.`)

// uniquePieces cuts text into word-like pieces none of which is taken and no
// two of which are equal: a piece that would repeat an earlier one is extended
// until it is new. The chain of tokens is then free of forks.
func uniquePieces(text string, taken func(string) bool) ([]string, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("text is not valid UTF-8")
	}
	words := word.FindAllString(text, -1)
	own := map[string]bool{}
	fresh := func(p string) bool { return !own[p] && !taken(p) }
	var out []string
	piece := ""
	for _, w := range words {
		if piece += w; fresh(piece) {
			own[piece] = true
			out = append(out, piece)
			piece = ""
		}
	}
	// What is left over repeats an earlier piece: give it to its predecessor.
	for piece != "" {
		if len(out) == 0 {
			return nil, errors.New("the whole text is a piece of another script's")
		}
		last := out[len(out)-1]
		out = out[:len(out)-1]
		delete(own, last)
		if piece = last + piece; fresh(piece) {
			own[piece] = true
			out = append(out, piece)
			piece = ""
		}
	}
	return out, nil
}
