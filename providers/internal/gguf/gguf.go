package gguf

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

const (
	magic     = "GGUF"
	version   = 3
	alignment = 32
)

// GGUF value type tags.
const (
	typeUint32  = 4
	typeInt32   = 5
	typeFloat32 = 6
	typeBool    = 7
	typeString  = 8
	typeArray   = 9
)

const tensorF32 = 0

// Writer collects metadata and tensors. The zero value is ready for use.
type Writer struct {
	kvs     []kv
	tensors []tensor
	err     error // the first mistake, returned by WriteTo
}

type kv struct {
	key   string
	value any
}

type tensor struct {
	name string
	dims []int
	data []float32
}

// Set adds one entry of metadata. A value of a type that the package does not
// know makes WriteTo fail.
func (w *Writer) Set(key string, value any) { w.kvs = append(w.kvs, kv{key, value}) }

// Tensor adds a tensor. Its dimensions are in ggml's order, the contiguous
// one first: a matrix of R rows of C values is Tensor(name, data, C, R). Data
// of another size makes WriteTo fail.
func (w *Writer) Tensor(name string, data []float32, dims ...int) {
	n := 1
	for _, d := range dims {
		n *= d
	}
	if n != len(data) && w.err == nil {
		w.err = fmt.Errorf("gguf: tensor %s: %d values for shape %v", name, len(data), dims)
	}
	w.tensors = append(w.tensors, tensor{name, dims, data})
}

// WriteTo writes the file and returns its size in bytes.
func (w *Writer) WriteTo(out io.Writer) (int64, error) {
	if w.err != nil {
		return 0, w.err
	}
	e := &encoder{w: bufio.NewWriterSize(out, 1<<20)}
	e.bytes([]byte(magic))
	e.u32(version)
	e.u64(uint64(len(w.tensors)))
	e.u64(uint64(len(w.kvs)))
	for _, kv := range w.kvs {
		e.str(kv.key)
		e.value(kv.value)
	}
	var offset uint64
	for _, t := range w.tensors {
		e.str(t.name)
		e.u32(uint32(len(t.dims)))
		for _, d := range t.dims {
			e.u64(uint64(d))
		}
		e.u32(tensorF32)
		e.u64(offset)
		offset = pad(offset + uint64(len(t.data))*4)
	}
	e.align()
	for _, t := range w.tensors {
		e.floats(t.data)
		e.align()
	}
	if e.err == nil {
		e.err = e.w.Flush()
	}
	return e.n, e.err
}

func pad(n uint64) uint64 { return (n + alignment - 1) / alignment * alignment }

type encoder struct {
	w   *bufio.Writer
	n   int64
	err error
	buf [8]byte
}

func (e *encoder) bytes(b []byte) {
	if e.err != nil {
		return
	}
	n, err := e.w.Write(b)
	e.n, e.err = e.n+int64(n), err
}

func (e *encoder) u32(v uint32) {
	binary.LittleEndian.PutUint32(e.buf[:], v)
	e.bytes(e.buf[:4])
}

func (e *encoder) u64(v uint64) {
	binary.LittleEndian.PutUint64(e.buf[:], v)
	e.bytes(e.buf[:8])
}

func (e *encoder) str(s string) {
	e.u64(uint64(len(s)))
	e.bytes([]byte(s))
}

func (e *encoder) align() {
	if rest := uint64(e.n) % alignment; rest != 0 {
		e.bytes(make([]byte, alignment-rest))
	}
}

func (e *encoder) floats(v []float32) {
	b := make([]byte, 4*len(v))
	for i, f := range v {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(f))
	}
	e.bytes(b)
}

func (e *encoder) arrayHeader(elem uint32, n int) {
	e.u32(typeArray)
	e.u32(elem)
	e.u64(uint64(n))
}

func (e *encoder) value(v any) {
	switch v := v.(type) {
	case uint32:
		e.u32(typeUint32)
		e.u32(v)
	case float32:
		e.u32(typeFloat32)
		e.u32(math.Float32bits(v))
	case bool:
		e.u32(typeBool)
		b := []byte{0}
		if v {
			b[0] = 1
		}
		e.bytes(b)
	case string:
		e.u32(typeString)
		e.str(v)
	case []string:
		e.arrayHeader(typeString, len(v))
		for _, s := range v {
			e.str(s)
		}
	case []int32:
		e.arrayHeader(typeInt32, len(v))
		for _, i := range v {
			e.u32(uint32(i))
		}
	default:
		if e.err == nil {
			e.err = fmt.Errorf("gguf: unsupported metadata type %T", v)
		}
	}
}
