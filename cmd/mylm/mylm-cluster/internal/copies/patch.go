package copies

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"mylm/tools"
)

// version is a file before or after a run. Its mode is git's, "" if there is no file.
type version struct {
	mode string
	text []byte
}

// maxDiffed is the longest file whose lines are compared; a longer one is in the patch as a
// binary file is.
const maxDiffed = 1 << 20

// writePatch writes the change of a file as git diff --binary does:
// https://git-scm.com/docs/diff-format
func writePatch(b *strings.Builder, name string, old, now version) {
	kind := func(v version) string { return v.mode[:min(len(v.mode), 3)] }
	if old.mode != "" && now.mode != "" && kind(old) != kind(now) { // a file became a link, or the other way round
		writePatch(b, name, old, version{})
		writePatch(b, name, version{}, now)
		return
	}
	from, to := quoted("a/"+name), quoted("b/"+name)
	fmt.Fprintf(b, "diff --git %s %s\n", from, to)
	mode := ""
	switch {
	case old.mode == "":
		fmt.Fprintf(b, "new file mode %s\n", now.mode)
	case now.mode == "":
		fmt.Fprintf(b, "deleted file mode %s\n", old.mode)
	case old.mode != now.mode:
		fmt.Fprintf(b, "old mode %s\nnew mode %s\n", old.mode, now.mode)
	default:
		mode = " " + old.mode
	}
	if bytes.Equal(old.text, now.text) && old.mode != "" && now.mode != "" {
		return // the mode is another, and no more
	}
	fmt.Fprintf(b, "index %s..%s%s\n", hash(old), hash(now), mode)
	if isBinary(old.text) || isBinary(now.text) {
		fmt.Fprintf(b, "GIT binary patch\n%s\n%s\n", literal(now.text), literal(old.text))
		return
	}
	if strings.Contains(name, " ") { // or patch takes the name to end there
		from, to = from+"\t", to+"\t"
	}
	if old.mode == "" {
		from = "/dev/null"
	}
	if now.mode == "" {
		to = "/dev/null"
	}
	b.WriteString(udiff.Unified(from, to, string(old.text), string(now.text)))
}

func isBinary(text []byte) bool {
	return len(text) > maxDiffed || bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text) || tools.Binary(text)
}

// hash is the name of a file in git's store, which says what a binary patch is applied to.
func hash(v version) string {
	if v.mode == "" {
		return strings.Repeat("0", 2*sha1.Size)
	}
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(v.text))
	_, _ = h.Write(v.text)
	return fmt.Sprintf("%x", h.Sum(nil))
}

// digits are those of git's base85.
const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

// literal is a content in a binary patch: compressed, and in lines of up to 52 bytes, each
// after a letter for how many they are.
func literal(text []byte) string {
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	_, _ = w.Write(text) // to memory
	_ = w.Close()
	var b strings.Builder
	fmt.Fprintf(&b, "literal %d\n", len(text))
	for packed.Len() > 0 {
		line := packed.Next(52)
		if n := byte(len(line)); n <= 26 {
			b.WriteByte('A' + n - 1)
		} else {
			b.WriteByte('a' + n - 27)
		}
		for ; len(line) > 0; line = line[min(4, len(line)):] {
			var word [4]byte
			copy(word[:], line)
			n := uint32(word[0])<<24 | uint32(word[1])<<16 | uint32(word[2])<<8 | uint32(word[3])
			var out [5]byte
			for i := 4; i >= 0; i-- {
				out[i], n = digits[n%85], n/85
			}
			b.Write(out[:])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// quoted is a name as git writes it: in quotes, like a string of C, if it has characters that
// a line cannot have.
func quoted(name string) string {
	if utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '"' || r == '\\' }) {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(name) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
