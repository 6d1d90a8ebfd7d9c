package pages

import (
	"context"
	"encoding/binary"
	"io"
	"maps"
	"slices"
)

// maxPayload bounds what a broken length may ask for.
const maxPayload = 64 << 20

// Reader is a file, or what stands for one.
type Reader interface {
	io.ReaderAt
	io.Seeker
}

// File is a database, read page by page.
type File struct {
	db, log Reader
	size    int              // of a page in bytes
	pages   uint32           // of the database itself, the last may be cut
	newer   map[uint32]int64 // pages whose content is in the log, with its offset
	spare   uint64           // bytes that may still be read from overflow pages, each of which belongs to one row
}

// Open looks at a database and its write-ahead log, which may be nil.
func Open(db, log Reader) *File {
	f := &File{db: db, log: log, size: 4096, newer: map[uint32]int64{}}
	var header [100]byte
	_, _ = db.ReadAt(header[:], 0) // what is missing stays zero, and the usual size
	if n := int(binary.BigEndian.Uint16(header[16:])); n >= 512 && n&(n-1) == 0 {
		f.size = n
	} else if n == 1 {
		f.size = 1 << 16
	}
	length, _ := db.Seek(0, io.SeekEnd)
	f.pages = uint32((length + int64(f.size) - 1) / int64(f.size))
	if log != nil {
		f.readLog()
	}
	return f
}

// readLog finds the pages that the log holds newer versions of. A frame
// belongs to the log if it has the log's salt; older ones were left behind.
// Checksums are not looked at: they would end the log at its first bad byte.
func (f *File) readLog() {
	const headerSize, frameSize = 32, 24
	var header [headerSize]byte
	if n, _ := f.log.ReadAt(header[:], 0); n < headerSize {
		return
	}
	var salt [8]byte
	copy(salt[:], header[16:24])
	var open = map[uint32]int64{} // frames since the last commit
	var frame [frameSize]byte
	for at := int64(headerSize); ; at += frameSize + int64(f.size) {
		if n, _ := f.log.ReadAt(frame[:], at); n < frameSize {
			return
		}
		if at == headerSize && binary.BigEndian.Uint32(header[:])|1 != 0x377f0683 {
			copy(salt[:], frame[8:16]) // the header is broken
		}
		if [8]byte(frame[8:16]) != salt {
			continue
		}
		open[binary.BigEndian.Uint32(frame[:])] = at + frameSize
		if binary.BigEndian.Uint32(frame[4:]) > 0 { // a commit
			maps.Copy(f.newer, open)
			clear(open)
		}
	}
}

// holds is how many bytes all pages have, which nothing in them can exceed.
func (f *File) holds() uint64 {
	return (uint64(f.pages) + uint64(len(f.newer))) * uint64(f.size)
}

// page reads a page; what cannot be read is zero.
func (f *File) page(n uint32) []byte {
	p := make([]byte, f.size)
	if at, ok := f.newer[n]; ok {
		_, _ = f.log.ReadAt(p, at)
	} else if n > 0 {
		_, _ = f.db.ReadAt(p, int64(n-1)*int64(f.size))
	}
	return p
}

// Row is one row of a table, or one entry of an index.
type Row struct {
	// Num is the rowid, 0 in an index.
	Num int64
	// Values are nil, int64, float64, string or []byte; the last one is cut if the
	// end of the row could not be read.
	Values []any
}

// Types of pages.
const (
	indexInner = 0x02
	indexLeaf  = 0x0a
	tableLeaf  = 0x0d
)

// Rows gives the rows of tables that have so many columns, and the entries of
// indexes that have so many, the rowid counted as the last. The error is ctx's.
func (f *File) Rows(ctx context.Context, table, index int, each func(Row)) error {
	f.spare = 2 * f.holds()
	numbers := slices.Collect(maps.Keys(f.newer))
	for n := uint32(1); n <= f.pages; n++ {
		if _, logged := f.newer[n]; !logged {
			numbers = append(numbers, n)
		}
	}
	for _, n := range numbers {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := f.page(n)
		start := 0
		if n == 1 {
			start = 100 // the header of the file
		}
		cells, columns := start+8, index
		switch p[start] {
		case indexInner:
			cells += 4
		case indexLeaf:
		case tableLeaf:
			columns = table
		default:
			continue
		}
		count := int(binary.BigEndian.Uint16(p[start+3:]))
		for i := 0; i < count && cells+2*i+2 <= len(p); i++ {
			if row, ok := f.cell(p, p[start], int(binary.BigEndian.Uint16(p[cells+2*i:])), columns); ok {
				each(row)
			}
		}
	}
	return nil
}
