package scriptmodel

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
)

// GGUF's types of tokens.
const (
	tokenNormal  = 1
	tokenControl = 3
)

const (
	bosText   = "<|bos|>"
	startText = "<|im_start|>"
	endText   = "<|im_end|>" // also ends every reply
)

func sayToken(i int) string { return fmt.Sprintf("<|say:%d|>", i) }

// direction indexes a vector of ±1. A direction has one successor token.
type direction int

const dirEnd direction = 0 // leads to the end of the reply

// vocabulary is the tokens and where each leads.
type vocabulary struct {
	text      []string // as stored in the file
	kind      []int32
	direction []direction // of each token
	merges    []string
	ids       map[string]int // by stored text
	used      map[int]bool   // tokens that belong to a script
	successor []int          // token, by direction
}

func (v *vocabulary) add(text string, kind int32) int {
	id := len(v.text)
	v.text = append(v.text, text)
	v.kind = append(v.kind, kind)
	v.direction = append(v.direction, dirEnd)
	v.ids[text] = id
	return id
}

func (v *vocabulary) newDirection() direction {
	v.successor = append(v.successor, -1)
	return direction(len(v.successor) - 1)
}

func (m *Model) vocabulary() (*vocabulary, error) {
	v := &vocabulary{ids: map[string]int{}, used: map[int]bool{}}
	for b := range 256 {
		v.add(encodeBytes(string([]byte{byte(b)})), tokenNormal)
	}
	v.learn(m.Corpus)
	v.add(bosText, tokenControl)
	v.add(startText, tokenControl)
	end := v.add(endText, tokenControl)
	v.newDirection()
	v.successor[dirEnd] = end

	scripts := m.scripts()
	var entry, order []int
	for i := range scripts {
		entry, order = append(entry, v.add(sayToken(i), tokenControl)), append(order, i)
	}
	// Shortest first: a text that must become a single token, since all its
	// pieces are taken, then differs from every token there is.
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(scripts[a].Say), len(scripts[b].Say)) })
	begin := map[chainKey]direction{}
	for _, i := range order {
		d, err := v.chain(scripts[i], begin)
		if err != nil {
			return nil, fmt.Errorf("script %d: %w", i, err)
		}
		v.direction[entry[i]] = d
	}
	return v, nil
}

// learn makes each word of a corpus a token, which its bytes are merged into
// one after the other.
func (v *vocabulary) learn(corpus string) {
	for _, w := range word.FindAllString(corpus, -1) {
		for i := 1; i < len(w); i++ {
			left, right := encodeBytes(w[:i]), encodeBytes(w[i:i+1])
			if _, known := v.ids[left+right]; !known {
				v.merges = append(v.merges, left+" "+right)
				v.add(left+right, tokenNormal)
			}
		}
	}
}

// chainKey distinguishes chains.
type chainKey struct {
	text string
	loop bool
}

// chain lays out a script and returns where it begins. Scripts with the
// same text share a chain.
func (v *vocabulary) chain(s Script, begin map[chainKey]direction) (direction, error) {
	if s.Say == "" {
		return dirEnd, nil
	}
	key := chainKey{s.Say, s.Loop}
	if d, ok := begin[key]; ok {
		return d, nil
	}
	pieces, err := uniquePieces(s.Say, func(p string) bool {
		id, known := v.ids[encodeBytes(p)]
		return known && v.used[id]
	})
	if err != nil {
		return 0, err
	}
	first := v.newDirection()
	begin[key] = first
	at := first
	for k, p := range pieces {
		id := v.take(p)
		v.successor[at] = id
		switch {
		case k < len(pieces)-1:
			at = v.newDirection()
		case s.Loop:
			at = first
		default:
			at = dirEnd
		}
		v.direction[id] = at
	}
	return first, nil
}

// take reserves the token of a piece for one script.
func (v *vocabulary) take(piece string) int {
	text := encodeBytes(piece)
	id, known := v.ids[text]
	if !known {
		id = v.add(text, tokenNormal)
	}
	v.used[id] = true
	return id
}

// width is how many numbers a direction has. Of a few thousand random ones, no
// two overlap by more than half, so that the scripted token always leads by
// logitTop/2.
const width = 256

// directions draws n vectors of ±1, the same each time.
func directions(n int) [][]float32 {
	rng := rand.New(rand.NewPCG(1, width))
	vectors := make([][]float32, n)
	for i := range vectors {
		vectors[i] = zeros(width)
		for k := range vectors[i] {
			vectors[i][k] = float32(1 - 2*rng.IntN(2))
		}
	}
	return vectors
}
