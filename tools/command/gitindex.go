package command

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
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
	b = b[12:]
	for range count {
		length, nests := indexEntry(b, version)
		if length <= 0 || length > len(b) {
			return false, errIndex
		}
		if nests {
			return true, nil
		}
		b = b[length:]
	}
	return false, indexExtensions(b)
}

// indexEntry returns the length of the first entry, 0 if it is broken, and
// whether it is a commit.
func indexEntry(b []byte, version uint32) (length int, nests bool) {
	const fixed = 62 // times, device, inode, mode, owner, size, hash and flags
	if len(b) < fixed {
		return 0, false
	}
	nests = binary.BigEndian.Uint32(b[24:])&0o170000 == 0o160000
	at := fixed
	if version > 2 && binary.BigEndian.Uint16(b[60:])&0x4000 != 0 {
		at += 2
	}
	if version == 4 { // how much of the name before is kept, as a number of a varying length
		for at < len(b) && b[at]&0x80 != 0 {
			at++
		}
		at++
	}
	if at > len(b) {
		return 0, false
	}
	end := bytes.IndexByte(b[at:], 0)
	if end < 0 {
		return 0, false
	}
	at += end
	if version == 4 {
		return at + 1, nests
	}
	return (at + 8) &^ 7, nests // padded with 1 to 8 NULs
}

// indexExtensions refuses an index whose entries are in another file.
func indexExtensions(b []byte) error {
	for len(b) > 20 {
		if len(b) < 28 {
			return errIndex
		}
		size := int64(binary.BigEndian.Uint32(b[4:]))
		if string(b[:4]) == "link" || string(b[:4]) == "sdir" || size > int64(len(b))-28 {
			return errIndex
		}
		b = b[8+size:]
	}
	return nil
}
