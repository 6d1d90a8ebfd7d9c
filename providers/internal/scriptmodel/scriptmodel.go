package scriptmodel

import (
	"io"

	"mylm/providers/internal/gguf"
)

// Script is one canned reply.
type Script struct {
	// When lists conditions that must all hold. The first script whose
	// conditions hold speaks.
	When []Cond

	// Say is the text to generate, byte for byte. It must be valid UTF-8.
	Say string

	// Loop repeats Say for ever: only a limit or the client's leaving ends it.
	Loop bool
}

// Model is a scripted chat model.
type Model struct {
	Scripts []Script

	// Default is said when no script's conditions hold.
	Default string

	// ContextLength is what the model claims to be trained for. 0 is 32768.
	ContextLength int

	// Thinking gives the model the capability to think: what a script wraps in
	// <think></think> comes back as thought.
	Thinking bool

	// Jinja puts the chat template into the model instead of the Modelfile, as
	// most published models have it. Ollama 0.30 and later then leaves prompts
	// and parsing to its runner; earlier ones cannot use such a model.
	Jinja bool

	// Corpus trains merges of bytes to tokens, so that text like it costs as
	// many tokens as with a real model. Without it each byte costs one.
	Corpus string
}

const (
	headDim  = 16  // one head; small, for attention costs most on a long prompt
	ffnSize  = 32  // the least that llama.cpp computes with
	logitTop = 100 // of the scripted successor; all others stay below half
)

// scripts returns the scripts with the default as the last one.
func (m *Model) scripts() []Script {
	return append(append([]Script(nil), m.Scripts...), Script{Say: m.Default})
}

// WriteGGUF writes the model file.
func (m *Model) WriteGGUF(out io.Writer) error {
	if err := m.check(); err != nil {
		return err
	}
	v, err := m.vocabulary()
	if err != nil {
		return err
	}
	vectors, width := directions(len(v.successor))
	w := &gguf.Writer{}
	m.architecture(w, width, len(v.text))
	v.tokenizer(w)
	if m.Jinja {
		w.Set("tokenizer.chat_template", m.jinja())
	}
	v.weights(w, vectors, width)
	layer(w, width)
	_, err = w.WriteTo(out)
	return err
}

func (m *Model) architecture(w *gguf.Writer, width, vocabulary int) {
	context := m.ContextLength
	if context == 0 {
		context = 32768
	}
	w.Set("general.architecture", "llama")
	w.Set("general.name", "scripted test model")
	w.Set("general.file_type", uint32(0))
	w.Set("llama.block_count", uint32(1))
	w.Set("llama.context_length", uint32(context))
	w.Set("llama.embedding_length", uint32(width))
	w.Set("llama.feed_forward_length", uint32(ffnSize))
	w.Set("llama.attention.head_count", uint32(1))
	w.Set("llama.attention.head_count_kv", uint32(1))
	w.Set("llama.attention.key_length", uint32(headDim))
	w.Set("llama.attention.value_length", uint32(headDim))
	w.Set("llama.attention.layer_norm_rms_epsilon", float32(1e-6))
	w.Set("llama.rope.dimension_count", uint32(headDim))
	w.Set("llama.rope.freq_base", float32(10000))
	w.Set("llama.vocab_size", uint32(vocabulary))
}

func (v *vocabulary) tokenizer(w *gguf.Writer) {
	w.Set("tokenizer.ggml.model", "gpt2")
	w.Set("tokenizer.ggml.pre", "llama-bpe")
	w.Set("tokenizer.ggml.tokens", v.text)
	w.Set("tokenizer.ggml.token_type", v.kind)
	w.Set("tokenizer.ggml.merges", v.merges)
	w.Set("tokenizer.ggml.bos_token_id", uint32(v.ids[bosText]))
	w.Set("tokenizer.ggml.eos_token_id", uint32(v.ids[endText]))
	w.Set("tokenizer.ggml.add_bos_token", true)
}

// weights writes the chain: each token's embedding is its direction, and each
// direction's successor has the highest logit there.
func (v *vocabulary) weights(w *gguf.Writer, vectors []signs, width int) {
	n := len(v.text)
	embedding, output := zeros(n*width), zeros(n*width)
	for id, d := range v.direction {
		vectors[d].fill(embedding[id*width:(id+1)*width], 1)
	}
	for d, id := range v.successor {
		vectors[d].fill(output[id*width:(id+1)*width], logitTop/float32(width))
	}
	w.Tensor("token_embd.weight", embedding, width, n)
	w.Tensor("output_norm.weight", ones(width), width)
	w.Tensor("output.weight", output, width, n)
}

// layer writes the one layer that changes nothing.
func layer(w *gguf.Writer, width int) {
	add := func(name string, in, out int) { w.Tensor("blk.0."+name+".weight", zeros(in*out), in, out) }
	w.Tensor("blk.0.attn_norm.weight", ones(width), width)
	add("attn_q", width, headDim)
	add("attn_k", width, headDim)
	add("attn_v", width, headDim)
	add("attn_output", headDim, width)
	w.Tensor("blk.0.ffn_norm.weight", ones(width), width)
	add("ffn_gate", width, ffnSize)
	add("ffn_up", width, ffnSize)
	add("ffn_down", ffnSize, width)
}

func zeros(n int) []float32 { return make([]float32, n) }

func ones(n int) []float32 {
	v := zeros(n)
	for i := range v {
		v[i] = 1
	}
	return v
}
