package scriptmodel

import (
	"cmp"
	"fmt"
	"math/bits"
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
	begin := map[said]direction{}
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

// said is what distinguishes chains.
type said struct {
	text string
	loop bool
}

// chain lays out a script and returns where it begins. Scripts that say the
// same share a chain.
func (v *vocabulary) chain(s Script, begin map[said]direction) (direction, error) {
	if s.Say == "" {
		return dirEnd, nil
	}
	key := said{s.Say, s.Loop}
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

// signs is a vector of ±1, a bit for each component.
type signs []uint64

func (a signs) dot(b signs) int {
	differ := 0
	for i := range a {
		differ += bits.OnesCount64(a[i] ^ b[i])
	}
	return 64*len(a) - 2*differ
}

func (a signs) fill(row []float32, scale float32) {
	for i := range row {
		if a[i/64]>>(i%64)&1 == 1 {
			row[i] = scale
		} else {
			row[i] = -scale
		}
	}
}

// directions draws n vectors of the smallest width, a multiple of 256, at
// which no two overlap by more than half: the scripted token then always leads
// by logitTop/2.
func directions(n int) (vectors []signs, width int) {
	for width = 256; ; width *= 2 {
		rng := rand.New(rand.NewPCG(1, uint64(width))) // the same model each time
		vectors = vectors[:0]
		for len(vectors) < n {
			s := draw(rng, vectors, width)
			if s == nil {
				break
			}
			vectors = append(vectors, s)
		}
		if len(vectors) == n {
			return vectors, width
		}
	}
}

// draw returns a vector that keeps clear of the others, nil if that is hard.
func draw(rng *rand.Rand, others []signs, width int) signs {
	for range 20 {
		s := make(signs, width/64)
		for i := range s {
			s[i] = rng.Uint64()
		}
		if !slices.ContainsFunc(others, func(o signs) bool {
			d := s.dot(o)
			return d > width/2 || d < -width/2
		}) {
			return s
		}
	}
	return nil
}
