package pages

import (
	"encoding/binary"
	"math"
)

// cell reads the row at an offset of a page.
func (f *File) cell(p []byte, kind byte, at, columns int) (row Row, ok bool) {
	if at >= len(p) {
		return row, false
	}
	b := p[at:]
	if kind == indexInner {
		if len(b) < 4 {
			return row, false
		}
		b = b[4:]
	}
	size, n := varint(b)
	if n == 0 || size == 0 || size > min(maxPayload, f.holds()) {
		return row, false
	}
	b = b[n:]
	if kind == tableLeaf {
		num, n := varint(b)
		if n == 0 {
			return row, false
		}
		row.Num, b = int64(num), b[n:]
	}
	local := f.local(int(size), kind)
	if local > len(b) {
		return row, false
	}
	payload := b[:local:local]
	if local < int(size) {
		if len(b) < local+4 {
			return row, false
		}
		payload = f.overflow(payload, binary.BigEndian.Uint32(b[local:]), int(size))
	}
	return row, row.read(payload, int(size), columns)
}

// local is how much of a payload is on the page itself.
func (f *File) local(size int, kind byte) int {
	most := f.size - 35
	if kind != tableLeaf {
		most = (f.size-12)*64/255 - 23
	}
	if size <= most {
		return size
	}
	least := (f.size-12)*32/255 - 23
	if n := least + (size-least)%(f.size-4); n <= most {
		return n
	}
	return least
}

func (f *File) has(page uint32) bool {
	_, logged := f.newer[page]
	return logged || page > 0 && page <= f.pages
}

// overflow adds what is on other pages, as far as they are there.
func (f *File) overflow(payload []byte, next uint32, size int) []byte {
	for len(payload) < size && f.has(next) {
		if f.spare < uint64(f.size) {
			break // rows share pages: they are no rows
		}
		f.spare -= uint64(f.size)
		p := f.page(next)
		payload = append(payload, p[4:min(len(p), 4+size-len(payload))]...)
		next = binary.BigEndian.Uint32(p)
	}
	return payload
}

// read takes a record apart. It tells whether it has the shape of one.
func (row *Row) read(payload []byte, size, columns int) bool {
	header, n := varint(payload)
	if n == 0 || header > uint64(len(payload)) || header < uint64(n) {
		return false
	}
	types, values := payload[n:header], payload[header:]
	total := int(header)
	for len(types) > 0 {
		t, n := varint(types)
		if n == 0 || len(row.Values) == columns || t > 2*maxPayload {
			return false
		}
		types = types[n:]
		width := width(t)
		total += width
		if total > size {
			return false
		}
		value := values[:min(width, len(values))]
		values = values[len(value):]
		if len(value) < width && t < 12 {
			return false
		}
		row.Values = append(row.Values, decode(t, value))
	}
	return len(row.Values) == columns && total == size
}

// widths are the bytes of values by their type, those of texts and blobs left out.
var widths = [12]int{1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 7: 8}

func width(t uint64) int {
	if t < uint64(len(widths)) {
		return widths[t]
	}
	return int(t-12) / 2
}

func decode(t uint64, value []byte) any {
	switch {
	case t == 0 || t == 10 || t == 11:
		return nil
	case t == 7:
		return math.Float64frombits(binary.BigEndian.Uint64(value))
	case t == 8 || t == 9:
		return int64(t - 8)
	case t < 8:
		n := int64(int8(value[0]))
		for _, c := range value[1:] {
			n = n<<8 | int64(c)
		}
		return n
	case t%2 == 0:
		return value
	}
	return string(value)
}

// varint reads an integer of up to nine bytes, and says how many it took; none
// if they are not there.
func varint(b []byte) (n uint64, size int) {
	for i, c := range b {
		if i == 8 {
			return n<<8 | uint64(c), 9
		}
		n = n<<7 | uint64(c&0x7f)
		if c < 0x80 {
			return n, i + 1
		}
	}
	return 0, 0
}
