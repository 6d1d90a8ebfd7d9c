package protocol

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// guarded lists the tags that mean something to a decoder, folded: letters and
// digits only, in lower case.
var guarded = map[string]bool{
	"toolcode": true, "toolcall": true, "toolcalls": true, "functioncall": true, "functioncalls": true,
	"function": true, "invoke": true, "observation": true, "finalanswer": true,
	"think": true, "thinking": true, "reasoning": true, "tooldefinitions": true,
}

// maxGuarded is more than the longest guarded name, with room for a disguise
// of invisible characters.
const maxGuarded = 64

// Neutralise makes text safe to show to a model as data: every tag in it that
// a decoder would act on gets a backslash behind its <, and with it every
// control token of the form <|name|>. Case, spacing, character references for
// < and invisible characters make no difference. The text stays readable, and
// what holds no such tag comes back unchanged.
func Neutralise(s string) string {
	if !strings.ContainsAny(s, "<&＜") {
		return s
	}
	var b strings.Builder
	last := 0
	for i := 0; i < len(s); {
		n := opener(s[i:])
		if n == 0 {
			i++
			continue
		}
		i += n
		if isGuarded(s[i:]) {
			b.WriteString(s[last:i])
			b.WriteByte('\\')
			last = i
		}
	}
	if last == 0 {
		return s
	}
	b.WriteString(s[last:])
	return b.String()
}

// opener returns the length of the < that s starts with, in any spelling.
func opener(s string) int {
	switch {
	case s[0] == '<':
		return 1
	case s[0] == '&':
		end := strings.IndexByte(s[:min(len(s), 12)], ';')
		if end < 0 {
			return 0
		}
		ref := strings.ToLower(s[1:end])
		if ref == "lt" {
			return end + 1
		}
		if num, ok := strings.CutPrefix(ref, "#"); ok {
			num, hex := strings.CutPrefix(num, "x")
			num = strings.TrimLeft(num, "0")
			if hex && num == "3c" || !hex && num == "60" {
				return end + 1
			}
		}
	case strings.HasPrefix(s, "＜"):
		return len("＜")
	}
	return 0
}

// isGuarded reports whether a guarded tag's name follows its <.
func isGuarded(s string) bool {
	if controlToken(s) {
		return true
	}
	var name [maxGuarded]byte
	k := 0
	for i, r := range s {
		if i >= maxGuarded {
			return false
		}
		switch {
		case r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			name[k] = lower(byte(r))
			k++
		case k == 0 && (r == '/' || unicode.IsSpace(r)):
		case r == '_' || r == '-' || invisible(r):
		default:
			return guarded[string(name[:k])]
		}
	}
	return guarded[string(name[:k])]
}

// invisible reports whether r shows nothing: format characters, soft hyphens,
// variation selectors and the like (Unicode's Cf and Mn).
func invisible(r rune) bool { return unicode.In(r, unicode.Cf, unicode.Mn) }

// controlToken reports whether s goes on like a control token of a chat
// template, "|im_start|>", also with the full-width bars that some use.
func controlToken(s string) bool {
	for _, bar := range []string{"|", "｜"} {
		rest, ok := strings.CutPrefix(s, bar)
		if !ok {
			continue
		}
		name, _, ok := strings.Cut(rest[:min(len(rest), maxGuarded)], bar+">")
		return ok && !strings.ContainsFunc(name, unicode.IsSpace)
	}
	return false
}
