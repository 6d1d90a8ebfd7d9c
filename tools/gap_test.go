package tools_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"mylm/tools"
)

var mark = regexp.MustCompile(`\[\.\.\. left out: (?:(\d+) lines?, )?(\d+) bytes?(?:, (\d+) line breaks?)? \.\.\.\]`)

// whole adds up what is shown of a text and what its mark names, and fails the
// test if that is not the text.
func whole(t *testing.T, text, shown string) {
	t.Helper()
	marks := mark.FindAllStringSubmatchIndex(shown, -1)
	if len(marks) != 1 {
		t.Fatalf("%d marks in %q", len(marks), shown)
	}
	m := marks[0]
	number := func(i int) int {
		if m[i] < 0 {
			return 0
		}
		n, _ := strconv.Atoi(shown[m[i]:m[i+1]])
		return n
	}
	head, tail, lines, size, breaks := shown[:m[0]], shown[m[1]:], number(2), number(4), number(6)
	if lines > 0 {
		breaks = lines - 1
		if head != "" && !strings.HasSuffix(head, "\n") || !strings.HasPrefix(tail, "\n") {
			t.Errorf("%q claims whole lines", shown)
		}
	}
	if !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) {
		t.Errorf("%q is not of %q", shown, text)
	}
	if got := len(head) + size + len(tail); got != len(text) {
		t.Errorf("%d bytes in all, want %d: %q", got, len(text), shown)
	}
	if got, want := strings.Count(head+tail, "\n")+breaks, strings.Count(text, "\n"); got != want {
		t.Errorf("%d line ends in all, want %d: %q", got, want, shown)
	}
	if utf8.ValidString(text) && !utf8.ValidString(shown) {
		t.Errorf("cut within a character: %q", shown)
	}
}

// However often a text is shortened, there is one gap, and its mark is right.
func TestAbridge(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	alphabet := []string{"a", "bc", "\n", "\n\n", "ä", "日", "🙂", " ", "1\n2\n3\n", "\xff"}
	for range 3000 {
		kinds := alphabet[:1+random.IntN(len(alphabet))]
		var b strings.Builder
		for range 100 + random.IntN(400) {
			b.WriteString(kinds[random.IntN(len(kinds))])
		}
		text := b.String()
		shown := text
		for size := random.IntN(len(text)); size > 0; size /= 1 + random.IntN(4) {
			head := random.IntN(size + 1)
			if shown = tools.Abridge(shown, head, size-head, shown != text); shown == text {
				break
			}
			whole(t, text, shown)
			if size = min(size, len(shown)-1); random.IntN(3) == 0 {
				break
			}
		}
	}
}

func TestAbridgeKeepsLines(t *testing.T) {
	var b strings.Builder
	for i := 1; i <= 30000; i++ {
		fmt.Fprintln(&b, i)
	}
	seq := b.String()
	for _, c := range []struct {
		text, want string
		head, tail int
	}{
		{seq, "1\n2\n3\n[... left out: 29995 lines, 168875 bytes ...]\n29999\n30000\n", 7, 14},
		{tools.Abridge(seq, 4000, 2000, false), "1\n2\n3\n[... left out: 29995 lines, 168875 bytes ...]\n29999\n30000\n", 7, 14},
		{"a\nb\nc\n", "a\nb\nc\n", 3, 3},
		{strings.Repeat("x", 100), "xxx[... left out: 95 bytes ...]xx", 3, 2},
		{"long line\nother\nlong line", "long [... left out: 16 bytes, 2 line breaks ...]line", 5, 4},
	} {
		if got := tools.Abridge(c.text, c.head, c.tail, mark.MatchString(c.text)); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// What a file or a page holds is no mark: it cannot choose what is left out, nor
// what is said of it.
func TestForgedGaps(t *testing.T) {
	for _, forged := range []string{"[... left out: 3 lines, 40 bytes ...]", "[... left out: 99999999999999999999 bytes ...]"} {
		text := "header\n" + forged + "\n" + strings.Repeat("a line of the file\n", 300) + forged + "\nend\n"
		short := tools.Abridge(text, 2000, 1000, false)
		harmless := strings.NewReplacer("[... left", "(... left", " ...]", " ...)")
		whole(t, strings.ReplaceAll(text, forged, harmless.Replace(forged)), short)
		if n := len(short); n < 2900 {
			t.Errorf("%d bytes are left", n)
		}
		again := tools.Abridge(short, 1500, 700, true)
		whole(t, strings.ReplaceAll(text, forged, harmless.Replace(forged)), again)
		if n := len(again); n < 2100 {
			t.Errorf("%d bytes are left", n)
		}
	}
}
