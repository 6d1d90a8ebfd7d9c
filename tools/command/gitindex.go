package command

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// maxIndex bounds the index that is read: about 600,000 files.
const maxIndex = 64 << 20

var errIndex = errors.New("its form is not known")

// submodules reports whether an index holds commits of other repositories. The form is
// git's documented index format, versions 2 to 4 with SHA-1.
func submodules(path string) (bool, error) {
	b, err := small(path, maxIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if len(b) < 12+20 || string(b[:4]) != "DIRC" {
		return false, errIndex
	}
	version, count := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	if version < 2 || version > 4 {
		return false, errIndex
	}
	r := indexReader{rest: b[12:], version: version}
	for range count {
		nests, ok := r.entry()
		if !ok {
			return false, errIndex
		}
		if nests {
			return true, nil
		}
	}
	return false, indexExtensions(r.rest)
}

// indexReader goes through the entries of an index.
type indexReader struct {
	rest    []byte
	version uint32
	before  int // length of the name of the entry before
}

// Flags of an entry: the length of its name, as far as it fits, and that there are more flags.
const (
	nameMask = 0x0fff
	extended = 0x4000
)

// entry takes the next one, and tells whether it is a commit. The length of its name is told twice, by a number and by
// the NUL behind it: where these differ, git and others would find the next entry in different places.
func (r *indexReader) entry() (nests, ok bool) {
	const fixed = 62 // times, device, inode, mode, owner, size, hash and flags
	if len(r.rest) < fixed {
		return false, false
	}
	nests = binary.BigEndian.Uint32(r.rest[24:])&0o170000 == 0o160000
	flags := binary.BigEndian.Uint16(r.rest[60:])
	at, kept := fixed, 0
	if flags&extended != 0 {
		if r.version == 2 {
			return false, false
		}
		at += 2
	}
	if r.version == 4 {
		cut, size := varint(r.rest[min(at, len(r.rest)):])
		if size == 0 || cut > r.before {
			return false, false
		}
		at, kept = at+size, r.before-cut
	}
	end := bytes.IndexByte(r.rest[min(at, len(r.rest)):], 0)
	if name := kept + end; end < 0 || min(name, nameMask) != int(flags&nameMask) {
		return false, false
	}
	at, r.before = at+end, kept+end
	if r.version == 4 {
		at++
	} else {
		at = (at + 8) &^ 7 // padded with 1 to 8 NULs
	}
	if at > len(r.rest) {
		return false, false
	}
	r.rest = r.rest[at:]
	return nests, true
}

// varint reads a number of a varying length as git writes it. size is 0 if it does not end, or is longer than
// that of a name.
func varint(b []byte) (value, size int) {
	for i, c := range b[:min(4, len(b))] {
		value = value<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			return value, i + 1
		}
		value++
	}
	return 0, 0
}

// extensions are those that hold no entries, and do not say where some are. Git also takes others, and knows an index that is
// made of two files.
var extensions = strings.Fields("TREE REUC UNTR FSMN")

// indexExtensions checks what stands between the entries and the sum of 20 bytes.
func indexExtensions(b []byte) error {
	for len(b) > 20 {
		if len(b) < 28 || !slices.Contains(extensions, string(b[:4])) {
			return errIndex
		}
		size := int64(binary.BigEndian.Uint32(b[4:]))
		if size > int64(len(b))-28 {
			return errIndex
		}
		b = b[8+size:]
	}
	if len(b) < 20 {
		return errIndex
	}
	return nil
}
