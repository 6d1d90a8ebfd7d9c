package scriptmodel

import (
	"encoding/binary"
	"io"
	"os"

	"github.com/ollama/ollama/fs/ggml"
)

// file is a GGUF file in the making: metadata and tensors of 32-bit floats.
type file struct {
	ggml.KV
	tensors []*ggml.Tensor
}

// tensor adds a tensor. Its dimensions are in ggml's order, the contiguous one
// first: a matrix of R rows of C values has the dimensions C, R.
func (f *file) tensor(name string, data []float32, dims ...int) {
	t := &ggml.Tensor{Name: name, Kind: uint32(ggml.TensorTypeF32), WriterTo: floats(data)}
	for _, d := range dims {
		t.Shape = append(t.Shape, uint64(d))
	}
	f.tensors = append(f.tensors, t)
}

func (f *file) write(out *os.File) error { return ggml.WriteGGUF(out, f.KV, f.tensors) }

type floats []float32

func (v floats) WriteTo(out io.Writer) (int64, error) {
	return int64(4 * len(v)), binary.Write(out, binary.LittleEndian, []float32(v))
}

func zeros(n int) []float32 { return make([]float32, n) }

func ones(n int) []float32 {
	v := zeros(n)
	for i := range v {
		v[i] = 1
	}
	return v
}
