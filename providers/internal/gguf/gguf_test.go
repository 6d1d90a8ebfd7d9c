package gguf_test

import (
	"io"
	"strings"
	"testing"

	"mylm/providers/internal/gguf"
)

// That files are right shows where models are read back: in scriptmodel.

func TestMistakes(t *testing.T) {
	tests := []struct {
		says string
		make func(*gguf.Writer)
	}{
		{"5 values", func(w *gguf.Writer) { w.Tensor("t", make([]float32, 5), 2, 3) }},
		{"int64", func(w *gguf.Writer) { w.Set("k", int64(1)) }},
	}
	for _, tt := range tests {
		var w gguf.Writer
		tt.make(&w)
		if _, err := w.WriteTo(io.Discard); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("error %v, want one that speaks of %s", err, tt.says)
		}
	}
}
