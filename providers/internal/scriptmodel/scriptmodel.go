package scriptmodel

import (
	"cmp"
	"os"

	"github.com/ollama/ollama/fs/ggml"
)

// Script is one prepared reply.
type Script struct {
	// When lists conditions that must all hold. The first script whose
	// conditions hold speaks.
	When []Cond

	// Say is the text to generate, byte for byte. It must be valid UTF-8.
	Say string

	// Loop repeats Say without end: only a limit or the client's leaving ends it.
	Loop bool
}

// Model is a scripted chat model.
type Model struct {
	Scripts []Script

	// Default is the reply when no script's conditions hold.
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

	// Corpus holds words that cost one token each, as most do with a real
	// model. Of any other text each byte costs one.
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
func (m *Model) WriteGGUF(out *os.File) error {
	if err := m.check(); err != nil {
		return err
	}
	v, err := m.vocabulary()
	if err != nil {
		return err
	}
	f := &file{KV: ggml.KV{
		"general.architecture":                   "llama",
		"general.name":                           "scripted test model",
		"general.file_type":                      uint32(0),
		"llama.block_count":                      uint32(1),
		"llama.context_length":                   uint32(cmp.Or(m.ContextLength, 32768)),
		"llama.embedding_length":                 uint32(width),
		"llama.feed_forward_length":              uint32(ffnSize),
		"llama.attention.head_count":             uint32(1),
		"llama.attention.head_count_kv":          uint32(1),
		"llama.attention.key_length":             uint32(headDim),
		"llama.attention.value_length":           uint32(headDim),
		"llama.attention.layer_norm_rms_epsilon": float32(1e-6),
		"llama.rope.dimension_count":             uint32(headDim),
		"llama.rope.freq_base":                   float32(10000),
		"llama.vocab_size":                       uint32(len(v.text)),
		"tokenizer.ggml.model":                   "gpt2",
		"tokenizer.ggml.pre":                     "llama-bpe",
		"tokenizer.ggml.tokens":                  v.text,
		"tokenizer.ggml.token_type":              v.kind,
		"tokenizer.ggml.merges":                  v.merges,
		"tokenizer.ggml.bos_token_id":            uint32(v.ids[bosText]),
		"tokenizer.ggml.eos_token_id":            uint32(v.ids[endText]),
		"tokenizer.ggml.add_bos_token":           true,
	}}
	if m.Jinja {
		f.KV["tokenizer.chat_template"] = m.jinja()
	}
	v.weights(f)
	layer(f)
	return f.write(out)
}

// weights writes the chain: each token's embedding is its direction, and each
// direction's successor has the highest logit there.
func (v *vocabulary) weights(f *file) {
	n, vectors := len(v.text), directions(len(v.successor))
	embedding, output := zeros(n*width), zeros(n*width)
	for id, d := range v.direction {
		copy(embedding[id*width:], vectors[d])
	}
	for d, id := range v.successor {
		for i, sign := range vectors[d] {
			output[id*width+i] = sign * logitTop / width
		}
	}
	f.tensor("token_embd.weight", embedding, width, n)
	f.tensor("output_norm.weight", ones(width), width)
	f.tensor("output.weight", output, width, n)
}

// layer writes the one layer that changes nothing.
func layer(f *file) {
	add := func(name string, in, out int) { f.tensor("blk.0."+name+".weight", zeros(in*out), in, out) }
	f.tensor("blk.0.attn_norm.weight", ones(width), width)
	add("attn_q", width, headDim)
	add("attn_k", width, headDim)
	add("attn_v", width, headDim)
	add("attn_output", headDim, width)
	f.tensor("blk.0.ffn_norm.weight", ones(width), width)
	add("ffn_gate", width, ffnSize)
	add("ffn_up", width, ffnSize)
	add("ffn_down", ffnSize, width)
}
