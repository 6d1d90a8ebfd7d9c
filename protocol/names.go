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

// namespaces are what models put before a tool's name, with a dot (N3).
var namespaces = []string{"functions.", "function.", "tools.", "tool.", "default_api.", "tool_code."}

// declared finds the tool that a name stands for: the same name (N1), else one
// that is equal after folding case, separators and a known namespace, if there
// is only one (N2). A near miss is never taken (N5).
func (d *Decoder) declared(name string) (tool string, known bool) {
	if d.opts.Tools == nil {
		return name, true
	}
	if _, ok := d.opts.Tools.Schema(name); ok {
		return name, true
	}
	if d.folded == nil {
		d.folded = map[string][]string{}
		for _, tool := range d.opts.Tools.Names() {
			d.folded[fold(tool)] = append(d.folded[fold(tool)], tool)
		}
	}
	bare := name
	for _, space := range namespaces {
		if after, ok := strings.CutPrefix(name, space); ok {
			bare = after
		}
	}
	for _, want := range []string{fold(name), fold(bare)} {
		if hits := d.folded[want]; want != "" && len(hits) > 0 {
			if len(hits) == 1 {
				return hits[0], true
			}
			break
		}
	}
	return name, false
}

// tidyName takes from a name what models put around it (N4).
func tidyName(name string) string {
	name = strings.Trim(strings.TrimSpace(name), "`'\"*")
	name = strings.TrimSuffix(name, "()")
	return strings.ReplaceAll(name, `\_`, "_")
}
