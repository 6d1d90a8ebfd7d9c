package scriptmodel

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/ollama/ollama/fs/ggml"
)

// Embedder is a computed embedding model: one BERT layer whose weights are
// zero, with mean pooling, so that a text's embedding is the sum of its words'
// vectors. Texts that share words are similar, others nearly orthogonal.
type Embedder struct {
	// Synonyms lists groups of words that share one vector. All other words
	// share another.
	Synonyms [][]string

	// ContextLength is in tokens. 0 is 512.
	ContextLength int
}

const (
	embedderWidth = 256
	embedderHead  = 64
	wordMark      = "▁" // begins a word
)

// WriteGGUF writes the model file.
func (m *Embedder) WriteGGUF(out *os.File) error {
	rng := rand.New(rand.NewPCG(2, embedderWidth)) // the same model each time
	// draw makes a balanced vector of ±1: with mean 0 and variance 1 it passes
	// the layers' normalization unchanged.
	draw := func() []float32 {
		v := zeros(embedderWidth)
		for i, k := range rng.Perm(embedderWidth) {
			v[i] = float32(1 - 2*(k%2))
		}
		return v
	}
	words := []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]"}
	kinds := []int32{tokenControl, tokenControl, tokenControl, tokenControl}
	vectors := append(zeros(embedderWidth), draw()...)
	vectors = append(vectors, draw()...) // in every text: keeps "" from being a zero vector
	vectors = append(vectors, zeros(embedderWidth)...)
	for _, group := range m.Synonyms {
		vector := draw()
		for _, w := range group {
			if w == "" || strings.ContainsFunc(w, func(r rune) bool { return r < 'a' || r > 'z' }) {
				return fmt.Errorf("synonym %q: want a word of small letters", w)
			}
			words, kinds, vectors = append(words, wordMark+w), append(kinds, tokenNormal), append(vectors, vector...)
		}
	}
	context := cmp.Or(m.ContextLength, 512)
	f := &file{KV: ggml.KV{
		"general.architecture":              "bert",
		"general.name":                      "computed test embedder",
		"general.file_type":                 uint32(0),
		"bert.block_count":                  uint32(1),
		"bert.context_length":               uint32(context),
		"bert.embedding_length":             uint32(embedderWidth),
		"bert.feed_forward_length":          uint32(ffnSize),
		"bert.attention.head_count":         uint32(embedderWidth / embedderHead),
		"bert.attention.layer_norm_epsilon": float32(1e-12),
		"bert.attention.causal":             false,
		// The mean. Keys are sorted, and get their prefix when they are written:
		// Ollama's list of models wants this one after the architecture.
		"pooling_type":                      uint32(1),
		"tokenizer.ggml.model":              "bert",
		"tokenizer.ggml.pre":                "default",
		"tokenizer.ggml.tokens":             words,
		"tokenizer.ggml.token_type":         kinds,
		"tokenizer.ggml.token_type_count":   uint32(2),
		"tokenizer.ggml.padding_token_id":   uint32(0),
		"tokenizer.ggml.unknown_token_id":   uint32(1),
		"tokenizer.ggml.bos_token_id":       uint32(2),
		"tokenizer.ggml.cls_token_id":       uint32(2),
		"tokenizer.ggml.eos_token_id":       uint32(3),
		"tokenizer.ggml.seperator_token_id": uint32(3), // llama.cpp spells it so
	}}
	f.tensor("token_embd.weight", vectors, embedderWidth, len(words))
	f.tensor("token_types.weight", zeros(2*embedderWidth), embedderWidth, 2)
	f.tensor("position_embd.weight", zeros(context*embedderWidth), embedderWidth, context)
	for _, name := range []string{"token_embd_norm", "blk.0.attn_output_norm", "blk.0.layer_output_norm"} {
		f.tensor(name+".weight", ones(embedderWidth), embedderWidth)
		f.tensor(name+".bias", zeros(embedderWidth), embedderWidth)
	}
	linear := func(name string, in, out int) {
		f.tensor("blk.0."+name+".weight", zeros(in*out), in, out)
		f.tensor("blk.0."+name+".bias", zeros(out), out)
	}
	for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
		linear(name, embedderWidth, embedderWidth)
	}
	linear("ffn_up", embedderWidth, ffnSize)
	linear("ffn_down", ffnSize, embedderWidth)
	return f.write(out)
}

// Template returns "": embedding models have none.
func (m *Embedder) Template() string { return "" }
