package term

import (
	"strings"
	"testing"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"ls -l\n\tpwd":               "ls -l\n\tpwd",
		"größe 漢字":                   "größe 漢字",
		"e\u0301":                    "e\u0301", // a mark on its letter
		"\u0301x":                    `\u0301x`, // and one on nothing
		" \u0301":                    ` \u0301`,
		"\x1b[2K\a\r":                `\x1b[2K\x07\x0d`,
		"a\u200bb\u200e\u200f":       `a\u200bb\u200e\u200f`,
		"\u061c\u2028\u2029\u202e":   `\u061c\u2028\u2029\u202e`,
		"a\u00a0b\u3000c":            `a\xa0b\u3000c`,
		"a\u3164b\u2800c\ufe0f":      `a\u3164b\u2800c\ufe0f`,
		"\U000e0041\ue000":           `\U000e0041\ue000`,
		"\xff":                       `\xff`,
		`printf 'a\nb'`:              `printf 'a\nb'`,
		`\u200b`:                     `\\u200b`,
		`\x1b`:                       `\\x1b`,
		"\\\u200b":                   `\\\u200b`,
		`\\u200b`:                    `\\\\u200b`,
		strings.Repeat(`\`, 3) + "z": strings.Repeat(`\`, 3) + "z",
	} {
		if got := Visible(in); got != want {
			t.Errorf("visible(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestPreview(t *testing.T) {
	numbered := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString("echo " + strings.Repeat("x", i%3) + "\n")
		}
		return b.String()
	}
	for name, test := range map[string]struct {
		text   string
		unseen string
		size   string
		shown  []string // each stands in a row
	}{
		"short":       {"ls", "", "", []string{"  | ls"}},
		"wrapped":     {strings.Repeat("a", 100), "", "", []string{"  : " + strings.Repeat("a", 25)}},
		"lines":       {"first\n" + numbered(3000) + "last", "2993 lines (20951 bytes)", "3002 lines, 21010 bytes", []string{"  | first", "  | last", "    [... 2993 lines (20951 bytes) not shown ...]"}},
		"blank lines": {"ls" + strings.Repeat("\n", 500) + "rm x", "", "501 lines, 506 bytes", []string{"  | ls", "    [499 blank lines]", "  | rm x"}},
		"a long line": {"ls " + strings.Repeat(" ", 5000) + "; rm x", "the rest of 1 long line", "1 line, 5009 bytes", []string{"    [... 4859 bytes more in this line ...]"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewPreview(test.text, 80, 10)
			if p.Unseen != test.unseen || p.Size != test.size || len(p.Shown) > 10 {
				t.Errorf("unseen %q, size %q, %d rows", p.Unseen, p.Size, len(p.Shown))
			}
			all := strings.Join(p.Shown, "\n") + "\n"
			for _, want := range test.shown {
				if !strings.Contains(all, want+"\n") {
					t.Errorf("%q is not in\n%s", want, all)
				}
			}
			for _, row := range p.Shown {
				if len(row) > 79 {
					t.Errorf("a row of %d: %s", len(row), row)
				}
			}
		})
	}
}
