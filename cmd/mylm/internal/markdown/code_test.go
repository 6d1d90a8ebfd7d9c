package markdown_test

import (
	"strings"
	"testing"

	"mylm/cmd/mylm/internal/markdown"
)

// marked is a coloured text with [role: text] instead of escape sequences.
func marked(s string) string {
	return strings.NewReplacer("\x1b[95m", "[key ", "\x1b[92m", "[str ", "\x1b[96m", "[num ", "\x1b[90m", "[com ", "\x1b[91m", "[del ", "\x1b[0m", "]").Replace(s)
}

func TestCodeIsColoured(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ language, code, want string }{
		"go":           {"go", "func f() { return \"a\\\"b\" } // c", "[key func] f() { [key return] [str \"a\\\"b\"] } [com // c]"},
		"comment":      {"js", "let a /* one\ntwo */ = 12", "[key let] a [com /* one]\n  [com two */] = [num 12]"},
		"long string":  {"python", "x = \"\"\"one\nif two\"\"\"\nif x: pass # no", "x = [str \"\"\"one]\n  [str if two\"\"\"]\n  [key if] x: [key pass] [com # no]"},
		"raw string":   {"go", "`a\nb` + c", "[str `a]\n  [str b`] + c"},
		"apostrophe":   {"bash", "echo it's", "[key echo] it's"},
		"sql":          {"SQL", "SELECT 'x' -- all", "[key SELECT] [str 'x'] [com -- all]"},
		"diff":         {"diff", "@@ -1 +1 @@\n-old\n+new\n same", "[num @@ -1 +1 @@]\n  [del -old]\n  [str +new]\n   same"},
		"unknown":      {"brainfuck", "if \"x\" 12", "if \"x\" 12"},
		"no language":  {"", "if \"x\" 12", "if \"x\" 12"},
		"wide letters": {"go", "größe := \"漢字\"", "größe := [str \"漢字\"]"},
	} {
		t.Run(name, func(t *testing.T) {
			got := marked(markdown.Render("```"+test.language+"\n"+test.code+"\n```\n", markdown.Options{Width: 60, Color: true, Background: markdown.Dark}))
			if want := "  " + test.want + "\n"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// A long line of code is broken between words, and keeps its indentation.
func TestCodeIsWrappedByWords(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"01234567 89":               "01234567\n89",
		"go test ./cmd/mylm -run X": "go test\n./cmd/mylm\n-run X",
		"    return x":              "    return\nx",
		"      0123456789abcdef":    "      0123\n456789abcd\nef",
		"aa bb      c":              "aa bb\nc",
		"0123456789 1":              "0123456789\n1",
		"変数 = 漢字漢字漢字漢字":             "変数 =\n漢字漢字漢\n字漢字",
	} {
		want = "  " + strings.ReplaceAll(want, "\n", "\n  ") + "\n"
		if got := markdown.Render("```\n"+code+"\n```\n", markdown.Options{Width: 12}); got != want {
			t.Errorf("%q: %q, want %q", code, got, want)
		}
	}
}

func TestBackgroundOf(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]markdown.Background{
		"": markdown.Unknown, "default;default": markdown.Unknown, "15;0": markdown.Dark, "0;15": markdown.Light, "12;8": markdown.Dark, "0;default;7": markdown.Light, "0;99": markdown.Unknown,
	} {
		if got := markdown.BackgroundOf(value); got != want {
			t.Errorf("%q is %v, want %v", value, got, want)
		}
	}
	seen := map[string]bool{}
	for _, b := range []markdown.Background{markdown.Unknown, markdown.Dark, markdown.Light} {
		seen[markdown.Render("`x` ```y```\n\n```go\nif 1\n```\n", markdown.Options{Color: true, Background: b})] = true
	}
	if len(seen) != 3 {
		t.Errorf("%d different renderings", len(seen))
	}
}

func TestShapes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		width     int
		doc, want string
	}{
		"nested lists":     {40, "- a\n  1. b\n  2. c\n     - d\n- e\n", "• a\n  1. b\n  2. c\n     • d\n• e\n"},
		"numbers":          {40, "9. a\n9. b\n", "9. a\n10. b\n"},
		"tasks":            {40, "- [ ] a\n- [X] b\n- [y] c\n", "[ ] a\n[x] b\n• [y] c\n"},
		"box alone":        {40, "- [x] \nb\n", "• [x]\n  b\n"},
		"empty item":       {40, "-\n- b\n", "•\n• b\n"},
		"quote":            {20, "> some words that are long\n>\n> - x\n", "│ some words that\n│ are long\n│\n│ • x\n"},
		"rule":             {10, "a\n\n---\n", "a\n\n──────────\n"},
		"alignment":        {40, "|left|right|mid|\n|:--|--:|:-:|\n|a|b|c|\n", "left │ right │ mid\n─────┼───────┼────\na    │     b │  c\n"},
		"ragged table":     {40, "|a|b|\n|-|-|\n|1|\n|1|2|3|\n", "a   │ b\n────┼────\n1   │\n1   │ 2\n"},
		"table as list":    {20, "|a|b|c|d|e|\n|-|-|-|-|-|\n|one|two|three|four|five|\n|1|2|3|4|5|\n", "a: one\nb: two\nc: three\nd: four\ne: five\n────────────────────\na: 1\nb: 2\nc: 3\nd: 4\ne: 5\n"},
		"table below text": {40, "text\n|a|b|\n|-|-|\n|1|2|\n---\n", "text\na   │ b\n────┼────\n1   │ 2\n────────────────────────────────────────\n"},
		"wide characters":  {11, "漢字漢字漢字 word\n", "漢字漢字漢\n字 word\n"},
		"emoji":            {10, "👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧\n", "👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧\n👩‍👩‍👧\n"},
		"link":             {60, "[t](http://x.org) <http://y.org> [http://z.org](http://z.org) ![alt](u.png)\n", "t (http://x.org) http://y.org http://z.org alt (u.png)\n"},
		"breaks":           {40, "a\nb<br>c  \nd\n", "a\nb\nc\nd\n"},
		"escapes":          {40, "\\*a\\* &copy; &#27;[2J &notit; &x;\n", "*a* © [2J &notit; &x;\n"},
		"empty":            {40, "\n\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := markdown.Render(test.doc, markdown.Options{Width: test.width}); got != test.want {
				t.Errorf("got\n%s%q\nwant\n%s", got, got, test.want)
			}
		})
	}
}
