package memory

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"sync"
)

// held are the vectors of an embedder that a process keeps to search again, in the
// order of documents, a byte for each number. A document without one has zeros,
// which are near to nothing.
type held struct {
	mu      sync.RWMutex
	data    []byte // nil: not kept
	changes int64  // of the state that they are of; what is only added does not change it
	last    int64  // vector in the file, of whatever embedder
	read    int    // from the file, while none were kept
}

// A process keeps vectors once it has read a part of them one by one, so that one
// that searches once or twice need not read them all; and only if they fit into a
// bound.
const (
	heldAfter = 64
	maxHeld   = 300 << 20
)

// follow reads what is to be kept and is not yet.
func (h *held) follow(ctx context.Context, n *nearest) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	size := n.docs * len(n.vector)
	switch {
	case h.data != nil && h.changes > n.changes: // an older state; it reads the file
		return nil
	case size > maxHeld, h.data == nil && h.read < n.docs/heldAfter:
		h.data = nil
		return nil
	case h.data == nil || h.changes < n.changes:
		h.data, h.changes, h.last = make([]byte, 0, size+size/8), n.changes, 0
	}
	if h.last >= n.last && len(h.data) >= size {
		return nil
	}
	if grown := size - len(h.data); grown > 0 {
		h.data = append(h.data, make([]byte, grown)...)
	}
	var num int
	var data sql.RawBytes
	values := make([]float32, len(n.vector))
	err := each(ctx, n.tx, "SELECT num, data FROM vectors NOT INDEXED WHERE seq > ? AND embedder = ? ORDER BY seq", []any{h.last, n.embedder}, func(scan func(...any) error) error {
		if err := scan(&num, &data); err != nil || num >= n.docs {
			return err
		}
		if len(data) != len(values) {
			if err := unpack(values, data); err != nil {
				return err
			}
			data = pack(values)
		}
		copy(h.data[num*len(values):], data)
		return nil
	})
	if h.last = max(h.last, n.last); err != nil {
		h.data = nil
	}
	return err
}

// vectors calls f with what is held, or is in the file, of some documents in order,
// or of all if some is nil.
func (n *nearest) vectors(ctx context.Context, some []uint32, f func(doc uint32, data []byte) error) error {
	h, dimension := n.held, len(n.vector)
	h.mu.RLock()
	if h.data == nil || h.changes != n.changes {
		h.mu.RUnlock()
		return n.stored(ctx, some, f)
	}
	defer h.mu.RUnlock()
	if some != nil {
		for _, doc := range some {
			if err := f(doc, h.data[int(doc)*dimension:][:dimension]); err != nil {
				return err
			}
		}
		return nil
	}
	for doc := range n.docs {
		if err := cmp.Or(ctx.Err(), f(uint32(doc), h.data[doc*dimension:][:dimension])); err != nil {
			return err
		}
	}
	return nil
}

// stored is vectors of the file.
func (n *nearest) stored(ctx context.Context, some []uint32, f func(doc uint32, data []byte) error) error {
	query, args := "SELECT num, data FROM vectors NOT INDEXED WHERE embedder = ?", []any{n.embedder}
	if some != nil {
		list, _ := json.Marshal(some) // numbers never fail
		query, args = "SELECT v.num, v.data FROM json_each(?2) AS wanted CROSS JOIN vectors v ON v.embedder = ?1 AND v.num = wanted.value", append(args, string(list))
	}
	read := 0
	err := each(ctx, n.tx, query, args, func(scan func(...any) error) error {
		var num int
		var data sql.RawBytes
		if err := scan(&num, &data); err != nil || num >= n.docs {
			return err
		}
		read++
		return f(uint32(num), data)
	})
	n.held.mu.Lock()
	n.held.read += read
	n.held.mu.Unlock()
	return err
}
