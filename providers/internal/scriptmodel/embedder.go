package scriptmodel

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"

	"mylm/providers/internal/gguf"
)

// Embedder is a computed embedding model: one BERT layer whose weights are
// zero, with mean pooling, so that a text's embedding is the sum of its words'
// vectors. Texts that share words are similar, others nearly orthogonal. It
// knows ASCII only; any other word counts as unknown.
type Embedder struct {
	// Synonyms lists groups of words that share one vector.
	Synonyms [][]string

	// ContextLength is in tokens. 0 is 512.
	ContextLength int
}

const (
	embedderWidth = 256
	embedderHead  = 64
	wordMark      = "▁" // begins a word
)

// Ids of the tokens that come first.
const (
	idPad = iota
	idUnknown
	idBegin
	idSeparator
)

// WriteGGUF writes the model file.
func (m *Embedder) WriteGGUF(out io.Writer) error {
	context := m.ContextLength
	if context == 0 {
		context = 512
	}
	p := pieces{ids: map[string]bool{}, rng: rand.New(rand.NewPCG(2, embedderWidth))}
	p.special()
	if err := p.synonyms(m.Synonyms); err != nil {
		return err
	}
	p.pairs()
	w := &gguf.Writer{}
	m.architecture(w, context)
	p.tokenizer(w)
	p.weights(w, context)
	_, err := w.WriteTo(out)
	return err
}

// Template returns "": embedding models have none.
func (m *Embedder) Template() string { return "" }

// pieces is the vocabulary of an Embedder.
type pieces struct {
	text      []string
	kind      []int32
	embedding []float32
	ids       map[string]bool
	rng       *rand.Rand
}

// draw makes a balanced vector of ±1: with mean 0 and variance 1 it passes the
// layers' normalisation unchanged.
func (p *pieces) draw() []float32 {
	v := zeros(embedderWidth)
	for i, k := range p.rng.Perm(embedderWidth) {
		v[i] = float32(1 - 2*(k%2))
	}
	return v
}

func (p *pieces) add(s string, kind int32, vector []float32) {
	if p.ids[s] {
		return
	}
	p.ids[s] = true
	p.text, p.kind, p.embedding = append(p.text, s), append(p.kind, kind), append(p.embedding, vector...)
}

func (p *pieces) special() {
	p.add("[PAD]", tokenControl, zeros(embedderWidth))
	p.add("[UNK]", tokenControl, p.draw())
	p.add("[CLS]", tokenControl, p.draw()) // in every text: keeps "" from being a zero vector
	p.add("[SEP]", tokenControl, zeros(embedderWidth))
}

func (p *pieces) synonyms(groups [][]string) error {
	for _, group := range groups {
		vector := p.draw()
		for _, w := range group {
			w = strings.ToLower(w)
			if w == "" || strings.ContainsFunc(w, func(r rune) bool { return !isAlnum(r) }) {
				return fmt.Errorf("synonym %q: want a plain ASCII word", w)
			}
			p.add(wordMark+w, tokenNormal, vector)
		}
	}
	return nil
}

// pairs adds what any other word is spelt with: one or two characters.
func (p *pieces) pairs() {
	for a := '!'; a <= '~'; a++ {
		if a >= 'A' && a <= 'Z' {
			continue // text is lowered first
		}
		p.spell(string(a))
		for b := '0'; b <= 'z' && isAlnum(a); b++ {
			if isAlnum(b) && !(b >= 'A' && b <= 'Z') {
				p.spell(string([]rune{a, b}))
			}
		}
	}
}

func (p *pieces) spell(s string) {
	p.add(wordMark+s, tokenNormal, p.draw())
	p.add(s, tokenNormal, p.draw())
}

func isAlnum(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

func (m *Embedder) architecture(w *gguf.Writer, context int) {
	w.Set("general.architecture", "bert")
	w.Set("general.name", "computed test embedder")
	w.Set("general.file_type", uint32(0))
	w.Set("bert.block_count", uint32(1))
	w.Set("bert.context_length", uint32(context))
	w.Set("bert.embedding_length", uint32(embedderWidth))
	w.Set("bert.feed_forward_length", uint32(ffnSize))
	w.Set("bert.attention.head_count", uint32(embedderWidth/embedderHead))
	w.Set("bert.attention.layer_norm_epsilon", float32(1e-12))
	w.Set("bert.attention.causal", false)
	w.Set("bert.pooling_type", uint32(1)) // the mean
}

func (p *pieces) tokenizer(w *gguf.Writer) {
	w.Set("tokenizer.ggml.model", "bert")
	w.Set("tokenizer.ggml.pre", "default")
	w.Set("tokenizer.ggml.tokens", p.text)
	w.Set("tokenizer.ggml.token_type", p.kind)
	w.Set("tokenizer.ggml.token_type_count", uint32(2))
	w.Set("tokenizer.ggml.padding_token_id", uint32(idPad))
	w.Set("tokenizer.ggml.unknown_token_id", uint32(idUnknown))
	w.Set("tokenizer.ggml.bos_token_id", uint32(idBegin))
	w.Set("tokenizer.ggml.cls_token_id", uint32(idBegin))
	w.Set("tokenizer.ggml.eos_token_id", uint32(idSeparator))
	w.Set("tokenizer.ggml.seperator_token_id", uint32(idSeparator)) // llama.cpp spells it so
}

func (p *pieces) weights(w *gguf.Writer, context int) {
	const width = embedderWidth
	norm := func(name string) {
		w.Tensor(name+".weight", ones(width), width)
		w.Tensor(name+".bias", zeros(width), width)
	}
	linear := func(name string, in, out int) {
		w.Tensor("blk.0."+name+".weight", zeros(in*out), in, out)
		w.Tensor("blk.0."+name+".bias", zeros(out), out)
	}
	w.Tensor("token_embd.weight", p.embedding, width, len(p.text))
	w.Tensor("token_types.weight", zeros(2*width), width, 2)
	w.Tensor("position_embd.weight", zeros(context*width), width, context)
	norm("token_embd_norm")
	for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
		linear(name, width, width)
	}
	norm("blk.0.attn_output_norm")
	linear("ffn_up", width, ffnSize)
	linear("ffn_down", ffnSize, width)
	norm("blk.0.layer_output_norm")
}
