package journal

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"
)

// From version 2 of the format on, each line of a journal ends with a checksum
// of what comes before it in the line, so that a bit that flips on the disk is
// noticed. An export has none: a person may edit it.

const (
	sumVersion = 2
	sumField   = `,"sum":"`
	sumEnd     = "\"}\n"
	sumLength  = len(sumField) + 8 + len(sumEnd)
)

// castagnoli is made on first use, since that takes a while.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// addSum puts the checksum into a line that is an object, from the byte at start.
func addSum(text *bytes.Buffer, start int) {
	text.Truncate(text.Len() - len("}\n"))
	sum := crc32.Checksum(text.Bytes()[start:], castagnoli())
	fmt.Fprintf(text, sumField+"%08x"+sumEnd, sum)
}

// checkSum compares a line with its checksum, which it must have if required.
func checkSum(line []byte, required bool) error {
	at := len(line) - sumLength
	if at < 0 || !bytes.HasPrefix(line[at:], []byte(sumField)) || !bytes.HasSuffix(line, []byte(sumEnd)) {
		if required {
			return errors.New("it has no checksum")
		}
		return nil
	}
	want := fmt.Sprintf("%08x", crc32.Checksum(line[:at], castagnoli()))
	if got := string(line[at+len(sumField) : at+len(sumField)+8]); got != want {
		return fmt.Errorf("its checksum is %s, not %s", want, got)
	}
	return nil
}
