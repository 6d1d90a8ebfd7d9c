package term

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// ShellQuote quotes a word for a shell.
func ShellQuote(s string) string {
	plain := "/:._-+,@%"
	quote, inside := "'", `'\''`
	if runtime.GOOS == "windows" {
		plain += `\`
		quote, inside = `"`, ""
	}
	s = Printable(s)
	if s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(plain, r)
	}) < 0 {
		return s
	}
	return quote + strings.ReplaceAll(s, quote, inside) + quote
}

// Printable removes control characters other than newline and tab, and direction
// marks, which make text look different.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return -1
		}
		return r
	}, s)
}

// Visible shows invisible and ambiguous characters as escapes: \x1b, \u200b,
// \U000e0041. Backslashes in front of what would read as such an
// escape, or of one, are doubled: an odd number of them begins an escape, an
// even number is text.
func Visible(s string) string {
	var b strings.Builder
	slashes, based := 0, false // based: a combining mark has a base character
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		escape := ""
		switch {
		case r == utf8.RuneError && size == 1:
			escape = fmt.Sprintf(`\x%02x`, s[0])
		case hides(r) || unicode.IsMark(r) && !based:
			escape = escaped(r)
		}
		s = s[size:]
		if r == '\\' {
			slashes++
			based = true
			continue
		}
		if escape != "" || r == 'x' || r == 'u' || r == 'U' {
			slashes *= 2
		}
		b.WriteString(strings.Repeat(`\`, slashes))
		slashes = 0
		if escape != "" {
			b.WriteString(escape)
		} else {
			b.WriteRune(r)
		}
		based = escape == "" && !unicode.IsSpace(r)
	}
	b.WriteString(strings.Repeat(`\`, slashes))
	return b.String()
}

// hides reports whether r is invisible, or a blank other than a space. The tables are those of the Unicode Character Database; U+2800 is the
// Braille pattern without dots.
func hides(r rune) bool {
	if r == '\n' || r == '\t' {
		return false
	}
	return !unicode.IsPrint(r) || r == 0x2800 || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

func escaped(r rune) string {
	switch {
	case r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// OneLine is the beginning of s without line breaks, at most n runes.
func OneLine(s string, n int) string {
	// Four bytes a rune, and as much again for the white space that is folded:
	// what is behind that does not show, however long it is.
	if len(s) > 8*n {
		s = strings.ToValidUTF8(s[:8*n], "") + "…"
	}
	runes := []rune(strings.Join(strings.Fields(s), " "))
	if len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return string(runes)
}

// Echoed is what the user typed as an error message repeats it: at most 100
// characters of it, the beginning and the end.
func Echoed(s string) string { return Shorten(s, 100) }

// Quoted is a value that the user typed as an error message repeats it: a number
// or a duration as it is, anything else in quotes.
func Quoted(s string) string {
	_, noNumber := strconv.ParseFloat(s, 64)
	if _, noDuration := time.ParseDuration(s); noNumber != nil && noDuration != nil {
		return strconv.Quote(Echoed(s))
	}
	return Echoed(s)
}

// Alternatives lists words: "a, b or c".
func Alternatives(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// EchoedIn is the message of err with what was typed in it shortened.
func EchoedIn(err error, typed string) string {
	return strings.ReplaceAll(err.Error(), typed, Echoed(typed))
}

// Shorten keeps n runes of s, two thirds of them from its beginning.
func Shorten(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	head := n * 2 / 3
	return string(runes[:head]) + "…" + string(runes[len(runes)-(n-head):])
}

// Cut is the beginning of s that fits into so many columns of a terminal.
func Cut(s string, columns int) string {
	for i, r := range s {
		if columns -= runeWidth(r); columns < 0 {
			return s[:i]
		}
	}
	return s
}

// Fold breaks a line between words, or where one is longer than a row, into at
// most so many rows.
func Fold(line string, columns, most int) string {
	var out []string
	for ; line != "" && len(out) < most; line = strings.TrimLeft(line, " ") {
		piece := Cut(line, columns)
		if space := strings.LastIndexByte(piece, ' '); space > 0 && len(piece) < len(line) && line[len(piece)] != ' ' && len(out) < most-1 {
			piece = piece[:space]
		}
		if piece == "" {
			break
		}
		out, line = append(out, piece), line[len(piece):]
	}
	return strings.Join(out, "\n")
}

// runeWidth is how many columns a rune takes at most: from the Hangul Jamo
// (U+1100) on, characters may be two wide.
func runeWidth(r rune) int {
	if r >= 0x1100 {
		return 2
	}
	return 1
}

// Plural counts things: 1 reply, 2 replies.
func Plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if stem, ok := strings.CutSuffix(thing, "y"); ok {
		thing = stem + "ie"
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Bytes is a size in a unit that fits; "" for 0.
func Bytes(n int64) string {
	switch {
	case n == 0:
		return ""
	case n < 1e6:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	case n < 1e9:
		return fmt.Sprintf("%.0f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

// Seconds is a duration for a person.
func Seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// Flat is a text in one line, so that no part of it looks like a line of mylm.
func Flat(text string) string { return strings.Join(strings.Fields(text), " ") }
