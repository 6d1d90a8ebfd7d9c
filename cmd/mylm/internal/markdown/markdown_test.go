package markdown_test

import (
	"encoding/json"
	"html"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"mylm/cmd/mylm/internal/markdown"

	"github.com/clipperhouse/displaywidth"
)

// stream renders a document that is cut at random.
func stream(r *rand.Rand, doc string, cuts int, o markdown.Options) string {
	var b strings.Builder
	s := markdown.New(o)
	for range cuts {
		n := r.IntN(len(doc) + 1)
		b.WriteString(s.Write(doc[:n]))
		s.Open()
		doc = doc[n:]
	}
	b.WriteString(s.Write(doc))
	b.WriteString(s.Close())
	return b.String()
}

var colours = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// check holds what is true of every rendering.
func check(t *testing.T, doc, shown string, width int) {
	t.Helper()
	for row := range strings.SplitSeq(strings.TrimSuffix(shown, "\n"), "\n") {
		bare := colours.ReplaceAllString(row, "")
		if w := displaywidth.String(bare); w > width {
			t.Errorf("%d columns of %d: %q\nin %q", w, width, bare, doc)
		}
		if i := strings.IndexFunc(bare, func(c rune) bool { return unicode.IsControl(c) || c == '\u202e' }); i >= 0 {
			t.Errorf("a control character: %q", bare)
		}
		if last := strings.LastIndex(row, "\x1b["); last >= 0 && !strings.HasPrefix(row[last:], "\x1b[0m") {
			t.Errorf("a row does not end its colour: %q", row)
		}
	}
}

var pieces = []string{
	"# Heading *one*\n", "Title\n=====\n", "Words of a paragraph, with **bold** and `code`", "and more _text_\n", "\n", "\n\n", "- item\n", "- [x] task\n", "  - nested **item**\n",
	"  continued\n", "    deep\n", "1. first\n", "2. second\n", "10) other\n", "* * *\n", "---\n", "```go\n", "func f() { return \"x\" } // c\n", "```\n", "~~~~\n", "\t tab\n",
	"> quoted\n", "> - list\n", ">\n", "| a | b |\n", "|---|:-:|\n", "| 1 | a \\| `b` |\n", "<div>\n", "</div>\n", "<!-- c", "-->\n", "[link](http://example.com/x \"t\")", "![image](u)",
	"[ref]: http://x.org\n", "[ref]\n", "漢字漢字漢字", "👩‍👩‍👧 é", "**", "*", "_", "~~", "`", "``", "\\", "&amp; &#27;[2J", "<br>", "<https://a.b/c>", "\r\n", " ", "a", "-", "+", "=", "#", "3.", "|", "\x1b[31m", "\u202e",
}

func document(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(40) {
		b.WriteString(pieces[r.IntN(len(pieces))])
		if r.IntN(3) == 0 {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func TestStreamEqualsWhole(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 17))
		doc := document(r)
		o := markdown.Options{Width: 10 + r.IntN(100), Color: seed%2 == 0, Background: markdown.Background(seed % 3)}
		want := markdown.Render(doc, o)
		check(t, doc, want, o.Width)
		for range 2 {
			if got := stream(r, doc, 20, o); got != want {
				t.Fatalf("document %d at width %d:\n%q\nis shown as\n%s\ninstead of\n%s", seed, o.Width, doc, got, want)
			}
		}
	}
}

// A long block is ended somewhere; where does not depend on the pieces.
func TestLongBlocks(t *testing.T) {
	t.Parallel()
	for name, doc := range map[string]string{
		"line":      strings.Repeat("word ", 50_000),
		"word":      strings.Repeat("é", 50_000),
		"bytes":     strings.Repeat("\x80", 50_000),
		"paragraph": strings.Repeat("some *words* in a line\n", 5000),
		"list":      "- a\n" + strings.Repeat("  - nested\n", 5000),
		"items":     strings.Repeat("3. an item\n", 5000),
		"quote":     strings.Repeat("> quoted\n", 5000),
		"nested":    strings.Repeat(">", 20_000) + " x\n",
		"code":      "```go\n" + strings.Repeat("x := 1\n", 5000) + "```\n",
		"table":     "a | b\n--|--\n" + strings.Repeat("1 | 2\n", 5000) + "\nend\n",
		"wide rows": "a | b\n--|--\n" + strings.Repeat("1 | "+strings.Repeat("x ", 3000)+"\n", 50),
		"brackets":  strings.Repeat("[", 20_000),
		"marks":     strings.Repeat("*a _b ", 10_000),
		"newlines":  strings.Repeat("\n", 50_000) + "x",
		"html":      "<div>\n" + strings.Repeat("text\n", 5000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := markdown.Options{Width: 60}
			var want string
			for seed := range uint64(2) {
				r := rand.New(rand.NewPCG(seed, 1))
				got := stream(r, doc, int(seed)*20, o)
				if seed == 0 {
					want = got
					check(t, name, want, o.Width)
				} else if got != want {
					t.Errorf("cuts change what is shown: %d bytes instead of %d", len(got), len(want))
				}
			}
			for _, doubled := range []string{"code", "items", "table"} {
				if name == doubled && want != markdown.Render(doc, o) {
					t.Error("a block that is final by lines is not as the whole")
				}
			}
		})
	}
}

// What is final is never taken back, and comes while the document does.
func TestFinalComesEarly(t *testing.T) {
	t.Parallel()
	s := markdown.New(markdown.Options{Width: 40})
	for _, step := range []struct{ text, final, open string }{
		{"# Ti", "", "# Ti\n"},
		{"tle\n", "# Title\n", ""},
		{"\nSome *te", "", "\nSome *te\n"},
		{"xt*", "", "\nSome *text*\n"},
		{"\n\n", "\nSome *text*\n", ""},
		{"- one\n- ", "", "\n• one\n"},
		{"two\n", "\n• one\n", "• two\n"},
		{"\n```go\nx := 1\ny", "• two\n\n  x := 1\n", "  y\n"},
		{"\n```\n", "  y\n", ""},
	} {
		final := s.Write(step.text)
		if open := s.Open(); final != step.final || open != step.open {
			t.Errorf("after %q: final %q, open %q", step.text, final, open)
		}
	}
	if rest := s.Close(); rest != "" {
		t.Errorf("%q remains", rest)
	}
}

// The marks of bold text and code do not show before it ends.
func TestOpenMarks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a **": "a", "a **b": "a [b", "a **b c*": "a [b c", "a **b** c": "a [b c", "a **b** **c": "a [b [c",
		"a `": "a", "a `b": "a <b", "a `b` c": "a <b c", "x * 3 ": "x * 3", "- ": "", "**": "", "x **2": "x [2", "a ```b": "a ```b", "a \\*": "a *",
	} {
		s := markdown.New(markdown.Options{Color: true})
		if final := s.Write(text); final != "" {
			t.Errorf("%q: final %q", text, final)
		}
		open := strings.NewReplacer("\x1b[1m", "[", "\x1b[35m", "<", "\x1b[0m", "", "\n", "").Replace(s.Open())
		if open != want {
			t.Errorf("%q is shown as %q, want %q", text, open, want)
		}
	}
}

// The examples of CommonMark, from the parser's module.
func TestCommonMark(t *testing.T) {
	t.Parallel()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/yuin/goldmark").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "_test", "spec.json"))
	if err != nil {
		t.Fatal(err)
	}
	var examples []struct {
		Example        int
		Markdown, HTML string
	}
	if err := json.Unmarshal(text, &examples); err != nil || len(examples) < 600 {
		t.Fatalf("%d examples, %v", len(examples), err)
	}
	tags := regexp.MustCompile(`(?s)<!--.*?-->|<!\[CDATA\[.*?\]\]>|<[?!]?/?[a-zA-Z][^<>]*>`)
	r := rand.New(rand.NewPCG(1, 1))
	for _, e := range examples {
		for _, width := range []int{40, 200} {
			o := markdown.Options{Width: width, Color: true}
			shown := markdown.Render(e.Markdown, o)
			check(t, e.Markdown, shown, width)
			if got := stream(r, e.Markdown, 20, o); got != shown {
				t.Errorf("example %d is streamed as\n%s\ninstead of\n%s", e.Example, got, shown)
			}
			if slices.Contains([]int{216, 534, 535, 564}, e.Example) { // marks of links by definition are text, and so others are marks
				continue
			}
			if missing := missing(html.UnescapeString(tags.ReplaceAllString(e.HTML, "")), colours.ReplaceAllString(shown, "")); missing != "" {
				t.Errorf("example %d: %q is missing in\n%s\n%s", e.Example, missing, shown, e.HTML)
			}
		}
	}
}

// missing is what is left of a text if its characters are looked for in another,
// in order, blanks aside.
func missing(text, in string) string {
	text = strings.Join(strings.Fields(text), "")
	for _, c := range in {
		if rest, ok := strings.CutPrefix(text, string(c)); ok {
			text = rest
		}
	}
	return text
}

func FuzzMarkdown(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(document(rand.New(rand.NewPCG(seed, 18))), seed)
	}
	f.Fuzz(func(t *testing.T, doc string, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 19))
		o := markdown.Options{Width: 10 + r.IntN(100), Color: seed%2 == 0}
		whole := stream(r, doc, 0, o)
		check(t, doc, whole, o.Width)
		if got := stream(r, doc, 5, o); got != whole {
			t.Fatalf("%q\nis shown as\n%s\ninstead of\n%s", doc, got, whole)
		}
		if len(doc) < 2000 && whole != markdown.Render(doc, o) {
			t.Fatalf("%q\nis streamed as\n%s\nand as a whole shown as\n%s", doc, whole, markdown.Render(doc, o))
		}
	})
}

// A redraw of the largest block that there can be.
func BenchmarkRedraw(b *testing.B) {
	for name, line := range map[string]string{
		"paragraph": "Some words with **bold** ones, `code` and a [link](https://example.com), 漢字 too.\n",
		"list":      "  - nested *item* with some words in it\n",
		"table":     "> | a cell | **another** one | `third` |\n",
	} {
		b.Run(name, func(b *testing.B) {
			doc := map[string]string{"list": "- outer\n", "table": "> | a | b | c |\n> |---|---|---|\n"}[name]
			for len(doc)+len(line) < 4096 {
				doc += line
			}
			s := markdown.New(markdown.Options{Width: 100, Color: true})
			s.Write(doc)
			for b.Loop() {
				s.Open()
			}
		})
	}
}
