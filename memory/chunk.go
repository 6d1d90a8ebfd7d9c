package memory

import (
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"slices"

	"mylm/memory/lexical"
)

// chunkSize is how many bytes of terms and postings are stored together, if no
// term has more. SQLite keeps up to 1,002 bytes of an entry on its page of
// 4,096, and puts what is longer elsewhere.
const chunkSize = 900

// errChunk is found in a chunk that does not hold what was written.
var errChunk = fmt.Errorf("%w: a part of its index cannot be read", ErrDamaged)

// postings are what documents of a segment hold a term, as they are stored:
// for each the distance from the one before, doubled, plus one if a count
// follows; without it the count is one.
type postings struct {
	last uint32
	data []byte
}

func (p *postings) add(doc uint32, count uint16) {
	distance := uint64(doc-p.last) << 1
	p.last = doc
	if count == 1 {
		p.data = binary.AppendUvarint(p.data, distance)
		return
	}
	p.data = binary.AppendUvarint(binary.AppendUvarint(p.data, distance|1), uint64(count))
}

// decode adds stored postings to list. The first distance is from base.
func decode(list []lexical.Posting, data []byte, base uint32) ([]lexical.Posting, error) {
	list = slices.Grow(list, len(data)/2)
	doc := base
	for len(data) > 0 {
		distance, n := binary.Uvarint(data)
		count, more := uint64(1), 0
		if n > 0 && distance&1 != 0 {
			if count, more = binary.Uvarint(data[n:]); more <= 0 {
				n = 0
			}
		}
		if n <= 0 {
			return list, errChunk
		}
		data = data[n+more:]
		doc += uint32(distance >> 1)
		list = append(list, lexical.Posting{Doc: doc, Count: uint16(count)})
	}
	return list, nil
}

// chunk is a run of terms with their postings.
type chunk struct {
	first string
	data  []byte
}

// chunks cuts an index into chunks, in the order of terms. A term is stored as
// the length of what it shares with the one before, and the rest.
func chunks(index map[string]*postings) []chunk {
	var all []chunk
	var c chunk
	before := ""
	for _, t := range slices.Sorted(maps.Keys(index)) {
		data := index[t].data
		if len(c.data) > 0 && len(c.data)+len(t)+len(data) > chunkSize {
			all = append(all, c)
			c, before = chunk{}, ""
		}
		if len(c.data) == 0 {
			c.first = t
		}
		shared := 0
		for shared < min(len(before), len(t)) && before[shared] == t[shared] {
			shared++
		}
		c.data = binary.AppendUvarint(c.data, uint64(shared))
		c.data = binary.AppendUvarint(c.data, uint64(len(t)-shared))
		c.data = append(c.data, t[shared:]...)
		c.data = binary.AppendUvarint(c.data, uint64(len(data)))
		c.data = append(c.data, data...)
		before = t
	}
	if len(c.data) > 0 {
		all = append(all, c)
	}
	return all
}

// entries gives the terms of a chunk, in order, with their stored postings.
// Both are valid until the next one. A chunk that is broken ends it early, and
// err is called.
func entries(data []byte, err *error) iter.Seq2[[]byte, []byte] {
	return func(yield func(term, postings []byte) bool) {
		var term []byte
		field := func() []byte {
			size, n := binary.Uvarint(data)
			if n <= 0 || size > uint64(len(data)-n) {
				*err = errChunk
				return nil
			}
			f := data[n : n+int(size)]
			data = data[n+int(size):]
			return f
		}
		for len(data) > 0 {
			shared, n := binary.Uvarint(data)
			if n <= 0 || shared > uint64(len(term)) {
				*err = errChunk
				return
			}
			data = data[n:]
			term = append(term[:shared], field()...)
			stored := field()
			if *err != nil || !yield(term, stored) {
				return
			}
		}
	}
}

// find looks for a term in a chunk.
func find(data []byte, term string) (stored []byte, err error) {
	for t, p := range entries(data, &err) {
		if string(t) == term {
			return p, nil
		}
		if string(t) > term {
			break
		}
	}
	return nil, err
}
