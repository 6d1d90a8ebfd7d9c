package web

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// hides reports whether an element's own style keeps its text from a reader:
// takes it away, or makes it transparent, tiny, or moves it off the screen. A
// declaration that does so counts wherever it is.
func hides(style string) bool {
	var color, background string
	tiny, clipped := false, false
	for declaration := range strings.SplitSeq(plainCSS(style), ";") {
		name, value, _ := strings.Cut(declaration, ":")
		name = strings.TrimSpace(name)
		value, _, _ = strings.Cut(strings.TrimSpace(value), "!")
		value = strings.TrimSpace(value)
		switch first := number(value); name {
		case "display", "visibility", "content-visibility":
			if value == "none" || value == "hidden" || value == "collapse" {
				return true
			}
		case "opacity", "scale", "zoom":
			if n := first.in("%", 0.01, 1); first.is && n < 0.1 && (n >= 0 || name == "opacity") { // less than 0 mirrors
				return true
			}
		case "font-size", "font":
			if slices.ContainsFunc(strings.Fields(value), func(v string) bool {
				size := number(v)
				return size.is && (size.unit != "" || size.n == 0) && size.pixels() < 4
			}) {
				return true
			}
		case "left", "top", "right", "bottom", "inset", "text-indent", "margin", "margin-left", "margin-top", "translate":
			if offScreen(value, !strings.HasPrefix(name, "margin")) { // a margin of -100% puts columns side by side
				return true
			}
		case "transform", "clip", "clip-path", "filter":
			if vanishing().MatchString(value) || offScreen(value, true) {
				return true
			}
		case "color", "-webkit-text-fill-color":
			if color = value; transparent().MatchString(value) {
				return true
			}
		case "background", "background-color":
			background = value
		case "width", "height", "max-width", "max-height":
			tiny = tiny || first.is && first.pixels() <= 1
		case "overflow", "overflow-x", "overflow-y":
			clipped = clipped || value != "visible"
		}
	}
	return tiny && clipped || color != "" && color == background
}

var (
	// vanishing are transformations, clips and filters that leave nothing to see.
	vanishing = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`scale(3d|x|y)?\(\s*0*\.?0*\s*[,)]|opacity\(\s*0*\.?0*%?\s*\)|inset\(\s*([5-9]\d|\d{3,})(\.\d+)?%|circle\(\s*0|rect\(\s*([01]?(px)?[\s,]*){4}\)`)
	})
	transparent = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^transparent$|^#(...0|......00)$|^(rgb|hsl)a?\(.*[,/]\s*0*\.?0*%?\s*\)$`)
	})
	lengths = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[-+]?\d*\.?\d+[a-z%]*`) })
)

// offScreen reports whether one of the lengths in a value leads off the screen, of the
// shares only with shares.
func offScreen(value string, shares bool) bool {
	const screens = 5000 // pixels: no screen is so large; to the left and above a tenth of it is enough
	for _, text := range lengths().FindAllString(value, -1) {
		if l := number(text); l.unit != "deg" && (l.pixels() > screens || l.pixels() <= -screens/10 || shares && l.unit == "%" && l.n <= -100) {
			return true
		}
	}
	return false
}

// quantity is a number of CSS with its unit.
type quantity struct {
	n    float64
	unit string
	is   bool
}

// number is the quantity that a value begins with.
func number(value string) (q quantity) {
	text := lengths().FindString(value)
	if !strings.HasPrefix(value, text) || text == "" {
		return q
	}
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz%")
	n, err := strconv.ParseFloat(digits, 64)
	return quantity{n, text[len(digits):], err == nil}
}

// in is the number, times factor if it has that unit, else times other.
func (q quantity) in(unit string, factor, other float64) float64 {
	if q.unit == unit {
		return q.n * factor
	}
	return q.n * other
}

// pixels is a length in pixels, with the usual size of letters and screens.
func (q quantity) pixels() float64 {
	perUnit := map[string]float64{"pt": 1.33, "pc": 16, "em": 16, "rem": 16, "ex": 8, "ch": 8, "in": 96, "cm": 38, "mm": 3.8, "vw": 15, "vh": 9, "vmin": 9, "vmax": 15, "%": 0.16}
	if factor, ok := perUnit[q.unit]; ok {
		return q.n * factor
	}
	return q.n
}

// plainCSS is a style in lower case, without comments and escapes (CSS Syntax,
// section 4.3.7).
func plainCSS(style string) string {
	var b strings.Builder
	for s := strings.ToLower(style); s != ""; {
		switch {
		case strings.HasPrefix(s, "/*"):
			_, s, _ = strings.Cut(s, "*/")
		case s[0] == '\\' && len(s) > 1:
			s = s[1:]
			digits := 0
			for digits < min(6, len(s)) && strings.IndexByte("0123456789abcdef", s[digits]) >= 0 {
				digits++
			}
			if digits == 0 {
				b.WriteByte(s[0])
				s = s[1:]
				continue
			}
			code, _ := strconv.ParseUint(s[:digits], 16, 32)
			b.WriteString(strings.ToLower(string(rune(code))))
			if s = s[digits:]; s != "" && strings.IndexByte(" \t\r\n\f", s[0]) >= 0 {
				s = s[1:]
			}
		default:
			b.WriteByte(s[0])
			s = s[1:]
		}
	}
	return b.String()
}
