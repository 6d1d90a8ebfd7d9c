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

// errUnusable is the error for vectors that are empty, too long or unequal.
var errUnusable = errors.New("the vectors cannot be used")

// Options describes an Embedder.
type Options struct {
	Name            string // distinguishes its vectors from all others
	Query, Document string // what the model was trained to find before a text
	Size            int    // bytes of a piece, to begin with; at least 32

	Ask      Ask // for documents
	AskQuery Ask // for queries; nil: Ask

	// Unusable reports vectors that cannot be used.
	Unusable func(err error) *providers.Error
}

// Ask embeds a few texts. An error of the kind providers.Overflow means that
// one of them is too long.
type Ask func(ctx context.Context, texts []string) ([][]float32, error)

// Embedder turns texts into vectors. It may be used by several goroutines at
// once if its Ask may.
type Embedder struct {
	o    Options
	size atomic.Int64
}

// New makes an Embedder.
func New(o Options) *Embedder {
	e := &Embedder{o: o}
	e.size.Store(int64(max(least, o.Size)))
	return e
}

// Name distinguishes the vectors of this embedder from all others.
func (e *Embedder) Name() string { return e.o.Name }

// EmbedDocuments gives a vector for each text. A text that is longer than the
// model takes is split; its vector is the mean of those of its parts, of which
// the first 16 count. Errors are *providers.Error or those of ctx.
func (e *Embedder) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	return e.embed(ctx, e.o.Document, texts, e.o.Ask)
}

// EmbedQuery gives the vector of a question, to be compared with those of
// documents. Its errors are those of EmbedDocuments.
func (e *Embedder) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	ask := e.o.AskQuery
	if ask == nil {
		ask = e.o.Ask
	}
	v, err := e.embed(ctx, e.o.Query, []string{text}, ask)
	if err != nil {
		return nil, err
	}
	return v[0], nil
}

func (e *Embedder) embed(ctx context.Context, prompt string, texts []string, ask Ask) ([][]float32, error) {
	vectors := make([][]float32, 0, len(texts))
	for some := range slices.Chunk(texts, batch) {
		v, err := e.some(ctx, prompt, some, ask)
		if errors.Is(err, errUnusable) {
			return nil, e.o.Unusable(err)
		}
		if err != nil {
			return nil, err
		}
		vectors = append(vectors, v...)
	}
	return vectors, nil
}

// some halves the pieces until they fit.
func (e *Embedder) some(ctx context.Context, prompt string, texts []string, ask Ask) ([][]float32, error) {
	for {
		size := e.size.Load()
		v, err := try(ctx, prompt, texts, int(size), ask)
		if providers.KindOf(err) != providers.Overflow || size <= least {
			return v, err
		}
		e.size.CompareAndSwap(size, max(least, size/2))
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
			err = fmt.Errorf("%w: %d vectors for %d texts", errUnusable, len(v), len(some))
		}
		if err != nil {
			return nil, err
		}
		got = append(got, v...)
	}
	for _, v := range got {
		if len(v) == 0 {
			return nil, fmt.Errorf("%w: one is empty", errUnusable)
		}
		if len(v) > longest {
			return nil, fmt.Errorf("%w: one has %d numbers", errUnusable, len(v))
		}
		if len(v) != len(got[0]) {
			return nil, fmt.Errorf("%w: one has %d numbers, another %d", errUnusable, len(got[0]), len(v))
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
