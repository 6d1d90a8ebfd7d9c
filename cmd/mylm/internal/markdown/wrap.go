package markdown

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// styled is text whose parts have styles.
type styled struct {
	text strings.Builder
	runs []run
}

// run is a part of a text, up to an offset.
type run struct {
	end   int
	style style
}

func (t *styled) add(text string, s style) {
	if text == "" {
		return
	}
	t.text.WriteString(text)
	if n := len(t.runs); n > 0 && t.runs[n-1].style == s {
		t.runs[n-1].end = t.text.Len()
		return
	}
	t.runs = append(t.runs, run{t.text.Len(), s})
}

// segment is a part of a text that makes a row.
type segment struct{ start, end, width int }

// wrap breaks text into rows of at most so many columns: at newlines, else
// between words or beside wide characters, else in a word; code not beside wide
// characters, nor in its indentation. Rows do not end with spaces.
func wrap(text string, columns int, code bool) (rows []segment) {
	start, width, soft := 0, 0, false // the current row; soft: the one before was too long
	at, next, before := -1, 0, 0      // where it can be broken: its end, the start of the next one, the width up to that
	push := func(end int) {
		for end > start && text[end-1] == ' ' {
			end--
		}
		rows = append(rows, segment{start, end, displaywidth.String(text[start:end])})
	}
	for pos := 0; pos < len(text); {
		if text[pos] == '\n' {
			push(pos)
			pos++
			start, width, at, soft = pos, 0, -1, false
			continue
		}
		size, w := character(text[pos:])
		space := text[pos] == ' '
		switch {
		case space && soft && width == 0 && !code: // of the row before
			start = pos + 1
		case space && width+w > columns:
			push(pos)
			start, width, at, soft = pos+1, 0, -1, true
		case space && (!code || strings.TrimLeft(text[start:pos], " ") != ""):
			width += w
			at, next, before = pos, pos+1, width
		default:
			if w > 1 && pos > start && !code {
				at, next, before = pos, pos, width
			}
			if width+w > columns && at > start {
				push(at)
				start, width, at, soft = next, width-before, -1, true
			}
			if width+w > columns && pos > start {
				push(pos)
				start, width, at, soft = pos, 0, -1, true
			}
			width += w
			if w > 1 && !code {
				at, next, before = pos+size, pos+size, width
			}
		}
		pos += size
	}
	push(len(text))
	return rows
}

// character is the bytes and the columns of the first character that a reader
// sees in text.
func character(text string) (size, columns int) {
	if c := text[0]; c >= 0x20 && c < 0x7f && (len(text) == 1 || text[1] < 0x80) {
		return 1, 1
	}
	g := displaywidth.StringGraphemes(text)
	g.Next()
	return len(g.Value()), g.Width()
}
