// Package scriptmodel computes tiny models, so that a real Ollama server,
// running them through its own tokenizer, cache, sampler and streaming, replies
// exactly what a test needs.
//
// # Smallest use
//
//	m := &scriptmodel.Model{
//		Scripts: []scriptmodel.Script{{
//			When: []scriptmodel.Cond{scriptmodel.LastContains("<observation>")},
//			Say:  "It worked.",
//		}},
//		Default: "Let me try.",
//	}
//	err := m.WriteGGUF(file) // and m.Template() for the Modelfile
//
// # How it works
//
// The network is one Llama layer whose attention and feed-forward weights are
// zero: the hidden state after any prompt is the embedding of its last token.
// Embeddings are random vectors of ±1, called directions, and the output
// matrix leads each direction to one successor: the model is a chain of tokens
// in which nothing depends on temperature or sampling.
//
// A script is such a chain of tokens that occur nowhere else. It is entered
// through a control token of its own, <|say:0|>, <|say:1|> and so on. The chat
// template, which the server evaluates over the conversation, ends the prompt
// with the token of the first script whose conditions hold.
//
// # Limits
//
// The model reacts to nothing but the conditions: it shows what a client does
// with replies, not whether a prompt is good. Where chunks begin and end
// changes with the set of scripts. It is for tests only.
package scriptmodel
