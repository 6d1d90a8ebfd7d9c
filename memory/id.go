package memory

import (
	"crypto/rand"
	"encoding/binary"
	"strings"
	"time"
)

// An ID is short, because models copy it: nine characters for the milliseconds
// since 1970, which last until the year 2527, and four at random. The alphabet
// is Crockford's, without letters that are mistaken for digits, and in
// ascending order, so that IDs sort as they were made.
const (
	alphabet   = "0123456789abcdefghjkmnpqrstvwxyz"
	timeChars  = 9
	randChars  = 4
	randomBits = 5 * randChars
)

// astray is how far ahead of the clock an ID may be and still be followed: no
// clock is wrong by more, and so it is none of ours.
const astray = 10 * 365 * 24 * time.Hour

// nextID makes an ID that sorts after last, also where the clock went back. A
// last that is none of ours, or is far in the future, is not looked at.
func nextID(now time.Time, last string) string {
	var random [4]byte
	rand.Read(random[:]) // never fails
	n := uint64(max(0, now.UnixMilli()))<<randomBits | uint64(binary.LittleEndian.Uint32(random[:])>>(32-randomBits))
	if before, ok := parseID(last); ok && before >= n && before>>randomBits < uint64(now.Add(astray).UnixMilli()) {
		n = before + 1
	}
	var id [timeChars + randChars]byte
	for i := len(id) - 1; i >= 0; i-- {
		id[i] = alphabet[n&31]
		n >>= 5
	}
	return string(id[:])
}

// derivedID makes an ID of a hash. It begins with a letter that is not in the
// alphabet, so that nobody takes it for a time, and has 75 bits: among a million
// documents the odds that two have the same are one in 10¹⁰.
func derivedID(hash [32]byte) string {
	id := make([]byte, 16)
	id[0] = 'i'
	n := binary.LittleEndian.Uint64(hash[:])
	for i := 1; i < len(id); i++ {
		if i == 8 {
			n = binary.LittleEndian.Uint64(hash[8:])
		}
		id[i] = alphabet[n&31]
		n >>= 5
	}
	return string(id)
}

func parseID(id string) (n uint64, ok bool) {
	if len(id) != timeChars+randChars {
		return 0, false
	}
	for i := range len(id) {
		digit := strings.IndexByte(alphabet, id[i])
		if digit < 0 || i == 0 && digit > 15 { // 13 characters could hold 65 bits
			return 0, false
		}
		n = n<<5 | uint64(digit)
	}
	return n, true
}
