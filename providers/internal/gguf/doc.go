// Package gguf writes GGUF version 3, the file format of llama.cpp's models:
// as much of it as a small computed model needs.
//
// # Smallest use
//
//	var w gguf.Writer
//	w.Set("general.architecture", "llama")
//	w.Tensor("output_norm.weight", ones, 256)
//	_, err := w.WriteTo(file)
//
// # Words
//
// A file is metadata (key and value) followed by tensors (named arrays). The
// format is described in docs/gguf.md of the ggml project.
//
// # Limits
//
// Tensors are F32. Values are uint32, float32, bool, string, []string and
// []int32. It is for tests only.
package gguf
