package pieces

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"mylm/providers"
)

const (
	batch = 32 // texts in a request: enough to keep a server busy, few enough to cancel
	most  = 16 // pieces of a text; what is behind them does not count
	least = 32 // bytes; a model that takes less takes nothing

	longest = 1 << 16 // numbers of a vector; models have a few thousand
)

// ErrUnusable is the error for vectors that a backend gave and that are none.
var ErrUnusable = errors.New("the vectors cannot be used")

// Splitter keeps how long a piece is. It may be used by several goroutines at
// once.
type Splitter struct{ size atomic.Int64 }

// New makes a Splitter that begins with pieces of size bytes, at least 32.
func New(size int) *Splitter {
	var s Splitter
	s.size.Store(int64(max(least, size)))
	return &s
}

// Ask embeds a few texts. An error of the kind providers.Overflow means that
// one of them is too long.
type Ask func(ctx context.Context, texts []string) ([][]float32, error)

// Embed gives a vector for each text, which is split if need be. The prompt is
// put before each piece. Errors are those of ask, or ErrUnusable.
func (s *Splitter) Embed(ctx context.Context, prompt string, texts []string, ask Ask) ([][]float32, error) {
	vectors := make([][]float32, 0, len(texts))
	for some := range slices.Chunk(texts, batch) {
		v, err := s.some(ctx, prompt, some, ask)
		if err != nil {
			return nil, err
		}
		vectors = append(vectors, v...)
	}
	return vectors, nil
}

func (s *Splitter) some(ctx context.Context, prompt string, texts []string, ask Ask) ([][]float32, error) {
	for {
		size := s.size.Load()
		v, err := try(ctx, prompt, texts, int(size), ask)
		var fault *providers.Error
		if !errors.As(err, &fault) || fault.Kind != providers.Overflow || size <= least {
			return v, err
		}
		s.size.CompareAndSwap(size, max(least, size/2))
	}
}

func try(ctx context.Context, prompt string, texts []string, size int, ask Ask) ([][]float32, error) {
	var pieces []string
	var of []int // the text of each piece
	for i, text := range texts {
		for _, p := range split(text, size, most) {
			pieces, of = append(pieces, prompt+p), append(of, i)
		}
	}
	got := make([][]float32, 0, len(pieces))
	for some := range slices.Chunk(pieces, batch) {
		v, err := ask(ctx, some)
		if err == nil && len(v) != len(some) {
			err = fmt.Errorf("%w: %d vectors for %d texts", ErrUnusable, len(v), len(some))
		}
		if err != nil {
			return nil, err
		}
		got = append(got, v...)
	}
	for _, v := range got {
		if len(v) == 0 {
			return nil, fmt.Errorf("%w: one is empty", ErrUnusable)
		}
		if len(v) > longest {
			return nil, fmt.Errorf("%w: one has %d numbers", ErrUnusable, len(v))
		}
		if len(v) != len(got[0]) {
			return nil, fmt.Errorf("%w: one has %d numbers, another %d", ErrUnusable, len(got[0]), len(v))
		}
	}
	if len(pieces) == len(texts) {
		return got, nil
	}
	vectors := make([][]float32, len(texts))
	for i, v := range got {
		if vectors[of[i]] == nil {
			vectors[of[i]] = make([]float32, len(v))
		}
		add(vectors[of[i]], v, len(pieces[i]))
	}
	return vectors, nil
}

// add adds the vector of a piece to that of its text: each counts by the length
// of the piece, whatever its own.
func add(to, v []float32, weight int) {
	var square float64
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	if square == 0 {
		return
	}
	scale := float64(weight) / math.Sqrt(square)
	for i, x := range v {
		to[i] += float32(float64(x) * scale)
	}
}

// split cuts a text into at most n pieces of at most size bytes, at white space
// if there is some in the second half of a piece.
func split(text string, size, n int) []string {
	var pieces []string
	for len(text) > size && len(pieces) < n-1 {
		end := size
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		if space := strings.LastIndexAny(text[:end], " \t\r\n"); space > size/2 {
			end = space + 1
		}
		pieces, text = append(pieces, text[:end]), text[end:]
	}
	if len(text) > size {
		text = strings.ToValidUTF8(text[:size], "")
	}
	return append(pieces, text)
}
