package protocol

import "strings"

// fold reduces a name to what two spellings of it have in common: letters and
// digits in lower case.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r > 0x7f:
			return r
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return -1
	}, name)
}

// declared finds the tool that a name stands for: the same name, else one that
// is equal after folding case, separators and namespace, if there is only one.
// A near miss is never taken.
func (d *Decoder) declared(name string) (tool string, known bool) {
	if d.opts.Tools == nil {
		return name, true
	}
	if _, ok := d.opts.Tools.Schema(name); ok {
		return name, true
	}
	for _, want := range []string{fold(name), fold(name[strings.LastIndexByte(name, '.')+1:])} {
		hit, n := "", 0
		for _, tool := range d.opts.Tools.Names() {
			if want != "" && fold(tool) == want {
				hit, n = tool, n+1
			}
		}
		if n == 1 {
			return hit, true
		} else if n > 1 {
			break
		}
	}
	return name, false
}

// tidyName takes from a name what models put around it.
func tidyName(name string) string {
	name = strings.Trim(strings.TrimSpace(name), "`'\"")
	name = strings.TrimSuffix(name, "()")
	return strings.ReplaceAll(name, `\_`, "_")
}
