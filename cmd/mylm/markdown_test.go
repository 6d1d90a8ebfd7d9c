//go:build unix

package main

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// controls are the sequences that mylm draws with.
var controls = regexp.MustCompile("\x1b\\[([0-9;]*)([A-Za-z])")

// screenOf is what a terminal shows after it was written to, row by row, with what
// has scrolled away. rows is its height.
func screenOf(t *testing.T, out string, rows int) string {
	t.Helper()
	lines, x, y := [][]rune{nil}, 0, 0
	for out != "" {
		if at := controls.FindStringSubmatchIndex(out); at != nil && at[0] == 0 {
			n, _ := strconv.Atoi(out[at[2]:at[3]])
			switch out[at[4]:at[5]] {
			case "m":
			case "A":
				if y -= n; y < len(lines)-rows {
					t.Fatalf("the cursor leaves the screen by %d rows", len(lines)-rows-y)
				}
			case "K":
				lines[y] = lines[y][:min(x, len(lines[y]))]
			case "J":
				lines[y] = lines[y][:min(x, len(lines[y]))]
				lines = lines[:y+1]
			default:
				t.Fatalf("unexpected %q", out[:at[1]])
			}
			out = out[at[1]:]
			continue
		}
		c := []rune(out)[0]
		out = out[len(string(c)):]
		switch c {
		case '\r':
			x = 0
		case '\n':
			if y++; y == len(lines) {
				lines = append(lines, nil)
			}
		default:
			for len(lines[y]) <= x {
				lines[y] = append(lines[y], ' ')
			}
			lines[y][x] = c
			x++
		}
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.TrimRight(string(line), " ") + "\n")
	}
	return b.String()
}

const markdownReply = `=== reply chunk=3
# Title

Some **bold** words and a [link](https://example.com), too many for a row of forty columns.

- one
- two

| name | what it is for |
|---|---|
| a | a cell that has to be wrapped in forty columns |

` + "```go\nfunc main() {}\n```\n\nDone.\n"

func TestMarkdownOnTerminal(t *testing.T) {
	t.Parallel()
	for columns, want := range map[uint16]string{
		40: `# Title

Some **bold** words and a link
(https://example.com), too many for a
row of forty columns.

• one
• two

name │ what it is for
─────┼─────────────────────────────────
a    │ a cell that has to be wrapped in
     │ forty columns

  func main() {}

Done.

`,
		200: `# Title

Some **bold** words and a link (https://example.com), too many for a row of forty columns.

• one
• two

name │ what it is for
─────┼───────────────────────────────────────────────
a    │ a cell that has to be wrapped in forty columns

  func main() {}

Done.

`,
	} {
		for _, rows := range []uint16{4, 30} {
			c := converse(t, command(t, map[string]string{"replies.txt": markdownReply}, "ask", "q", "--color", "never"), "", &pty.Winsize{Rows: rows, Cols: columns})
			if code := c.exit(); code != "0" {
				t.Fatalf("exit %s: %s", code, c.text())
			}
			c.expect("Done.\r\n")
			if got := screenOf(t, c.text(), int(rows)); got != want {
				t.Errorf("%d columns, %d rows:\n%s\ninstead of\n%s\nof %q", columns, rows, got, want, c.text())
			}
		}
	}
}

// A question, a call and a notice do not get into a block.
func TestMarkdownAroundCalls(t *testing.T) {
	t.Parallel()
	out := onTerminal(t, "=== reply chunk=2\nI *look*\n\n- here\n<tool_code><name>list_dir</name><parameters>{}</parameters></tool_code>\n=== reply chunk=2\n**Found** it.\n", "q", "--color", "never")
	if got := screenOf(t, out, 24); got != "I *look*\n\n• here\n> list_dir {}\n**Found** it.\n\n" {
		t.Errorf("%s\n%q", got, out)
	}
}

func TestMarkdownColours(t *testing.T) {
	t.Parallel()
	reply := map[string]string{"replies.txt": "=== reply\nA **bold** word.\n"}
	for name, test := range map[string]struct {
		env, args []string
		want      string
	}{
		"auto":     {nil, nil, "A \x1b[1mbold\x1b[0m word.\r\n"},
		"NO_COLOR": {[]string{"NO_COLOR=1"}, nil, "A **bold** word.\r\n"},
		"dumb":     {[]string{"TERM=dumb"}, nil, "A **bold** word.\r\n"},
		"never":    {nil, []string{"--color", "never"}, "A **bold** word.\r\n"},
		"always":   {[]string{"NO_COLOR=1"}, []string{"--color", "always"}, "A \x1b[1mbold\x1b[0m word.\r\n"},
		"raw":      {nil, []string{"--raw"}, "A **bold** word.\r\n"},
		"variable": {[]string{"MYLM_COLOR=never"}, nil, "A **bold** word.\r\n"},
		"whole":    {nil, []string{"--no-stream"}, "A \x1b[1mbold\x1b[0m word.\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, reply, append([]string{"ask", "q", "--quiet"}, test.args...)...)
			cmd.Env = append(cmd.Env, test.env...)
			c := converse(t, cmd, "", &pty.Winsize{Rows: 24, Cols: 80})
			c.expect(" word.\r\n")
			if c.exit(); c.text() != test.want {
				t.Errorf("%q", c.text())
			}
		})
	}
}

// A pipe gets the answer as it was written, and so does a file.
func TestMarkdownInPipe(t *testing.T) {
	t.Parallel()
	out, err := command(t, map[string]string{"replies.txt": "=== reply\n# A **bold** word.\n"}, "ask", "q", "--color", "always").Output()
	if err != nil || string(out) != "# A **bold** word.\n" {
		t.Errorf("%q, %v", out, err)
	}
}
