package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"github.com/philippgille/chromem-go"
)

// vectors compares a collection of chromem-go's with a loop over stored bytes, as
// the memory stores them: what a process pays before its first answer, and what
// each answer takes.
func vectors(ctx context.Context) error {
	fmt.Print("\n| vectors in memory, processor time | chromem-go: filling | its heap | a query | a loop over bytes: a query |\n|---|---|---|---|---|\n")
	for _, n := range []int{10_000, hundred} {
		for _, dimension := range []int{384, 768} {
			if err := vectorsOf(ctx, n, dimension); err != nil {
				return err
			}
		}
	}
	return nil
}

func vectorsOf(ctx context.Context, n, dimension int) error {
	stored := make([][]byte, n)
	for i := range stored {
		stored[i] = make([]byte, dimension)
		for j, x := range noise(dimension).vector(strconv.Itoa(i)) {
			stored[i][j] = byte(int8(254 * x))
		}
	}
	before, start := heap(), processor()
	all, err := chromem.NewDB().CreateCollection("documents", nil, embedded)
	if err != nil {
		return err
	}
	for i, data := range stored {
		values := make([]float32, dimension)
		for j, x := range data {
			values[j] = float32(int8(x))
		}
		if err := all.AddDocument(ctx, chromem.Document{ID: strconv.Itoa(i), Embedding: values}); err != nil {
			return err
		}
	}
	filling, size := processor()-start, heap()-before
	var queries, loops time.Duration
	const times = 20
	for i := range times {
		q := noise(dimension).vector(fmt.Sprint("question ", i))
		start = processor()
		if _, err := all.QueryEmbedding(ctx, q, 200, nil, nil); err != nil {
			return err
		}
		queries, start = queries+processor()-start, processor()
		best := float32(0)
		for _, data := range stored {
			best = max(best, similarity(q, data))
		}
		loops += processor() - start
	}
	runtime.KeepAlive(all)
	fmt.Printf("| %d of %d | %s | %d MB | %s | %s |\n", n, dimension, ms(filling), size>>20, ms(queries/times), ms(loops/times))
	return nil
}

// similarity is that of the memory: the cosine, but for the length of q.
func similarity(q []float32, data []byte) float32 {
	var dot, square, dot2, square2 float32
	for i := 0; i+2 <= len(data); i += 2 {
		x, y := float32(int8(data[i])), float32(int8(data[i+1]))
		dot, dot2 = dot+x*q[i], dot2+y*q[i+1]
		square, square2 = square+x*x, square2+y*y
	}
	return (dot + dot2) / (square + square2 + 1)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
