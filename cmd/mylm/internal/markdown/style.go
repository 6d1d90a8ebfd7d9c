package markdown

import (
	"strconv"
	"strings"
)

// Background is what is known of the colour behind the text.
type Background int

// Backgrounds. The colours of Unknown can be read on both of the others.
const (
	Unknown Background = iota
	Dark
	Light
)

// BackgroundOf reads what several terminals put into COLORFGBG: the numbers of the
// colours of text and background, of which 7 and 15 are light.
func BackgroundOf(colorfgbg string) Background {
	switch n, err := strconv.Atoi(colorfgbg[strings.LastIndexByte(colorfgbg, ';')+1:]); {
	case err != nil || n < 0 || n > 15:
		return Unknown
	case n == 7 || n == 15:
		return Light
	}
	return Dark
}

// role is what a text is, as far as it decides on a colour.
type role uint8

const (
	plain role = iota
	heading
	code
	link
	faint
	keyword
	literal // a string
	number
	comment
	added
	removed
	roles
)

// style is how a text is shown.
type style struct {
	role                             role
	bold, italic, underlined, struck bool
}

// colors are the parameters of SGR for each role, from the 16 colours that the
// user's own scheme sets.
type colors [roles]string

func colorsOn(b Background) colors {
	switch b {
	case Dark:
		return colors{heading: "96", code: "93", link: "94", faint: "2", keyword: "95", literal: "92", number: "96", comment: "90", added: "92", removed: "91"}
	case Light:
		return colors{heading: "34", code: "35", link: "34", faint: "2", keyword: "35", literal: "32", number: "34", comment: "2", added: "32", removed: "31"}
	}
	// Yellow and white cannot be read on light, blue not on dark backgrounds.
	return colors{code: "35", link: "36", faint: "2", keyword: "35", literal: "32", number: "36", comment: "2", added: "32", removed: "31"}
}

// sgr is the escape sequence that begins a style, "" if it looks like any text.
func (c *colors) sgr(s style) string {
	var params []string
	for _, p := range []struct {
		on    bool
		param string
	}{{s.bold, "1"}, {s.italic, "3"}, {s.underlined, "4"}, {s.struck, "9"}, {c[s.role] != "", c[s.role]}} {
		if p.on {
			params = append(params, p.param)
		}
	}
	if len(params) == 0 {
		return ""
	}
	return "\x1b[" + strings.Join(params, ";") + "m"
}

const reset = "\x1b[0m"
