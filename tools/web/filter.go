package web

import (
	"context"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// usedAttributes are the attributes that this package uses.
var usedAttributes = map[string]bool{
	"id": true, "name": true, "href": true, "src": true, "alt": true, "class": true, "style": true,
	"hidden": true, "open": true, "start": true, "role": true,
}

// longestValue is how much of an attribute is kept: more than a link that is
// shown has.
const longestValue = 2000

// filter leaves of a page what can become Markdown: no comments, none of the
// elements that hold no text to read, and of each tag the attributes that are
// looked at. The parser takes time in the square of the number of attributes
// that the tags of body bring together, and has its own rules for what is
// within svg and math; after this there is none of either.
type filter struct {
	ctx context.Context
	z   *html.Tokenizer
	b   strings.Builder

	skip  atom.Atom // the element that is left out
	depth int       // how deeply it is nested in itself
}

func filtered(ctx context.Context, text string) string {
	f := &filter{ctx: ctx, z: html.NewTokenizer(&until{ctx, strings.NewReader(text)})}
	for f.next() {
	}
	return f.b.String()
}

func (f *filter) next() bool {
	switch kind := f.z.Next(); kind {
	case html.ErrorToken:
		return false
	case html.TextToken:
		if f.skip == 0 {
			f.b.WriteString(strings.ReplaceAll(string(f.z.Raw()), "<", "&lt;"))
		}
	case html.StartTagToken, html.SelfClosingTagToken:
		f.start(kind)
	case html.EndTagToken:
		name, _ := f.z.TagName()
		f.end(atom.Lookup(name), string(name))
	}
	return true
}

// empty are left out by themselves: they have no end tag.
var empty = map[atom.Atom]bool{atom.Input: true, atom.Embed: true}

func (f *filter) start(kind html.TokenType) {
	name, more := f.z.TagName()
	a := atom.Lookup(name)
	if a == atom.Noscript || f.skip == atom.Svg || f.skip == atom.Math {
		f.z.NextIsNotRawText()
	}
	switch {
	case f.skip != 0:
		if a == f.skip && kind == html.StartTagToken {
			f.depth++
		}
		return
	case empty[a]:
		return
	case invisible[a]:
		if kind == html.StartTagToken || a != atom.Svg {
			f.skip, f.depth = a, 1
		}
		return
	case a == atom.Xmp || a == atom.Listing:
		name = []byte("pre")
	case a == atom.Plaintext || a == atom.Noscript || a == atom.Math:
		return
	}
	f.b.WriteByte('<')
	f.b.Write(name)
	if a != atom.Html && a != atom.Body {
		f.attributes(more)
	}
	f.b.WriteByte('>')
}

func (f *filter) attributes(more bool) {
	var seen [16]string // room for all that are kept
	n := 0
next:
	for more {
		var key, value []byte
		key, value, more = f.z.TagAttr()
		if !usedAttributes[string(key)] {
			continue
		}
		for _, s := range seen[:n] {
			if s == string(key) {
				continue next
			}
		}
		seen[n] = string(key)
		n++
		if seen[n-1] == "style" {
			if hides(string(value)) {
				f.b.WriteString(" hidden")
			}
			continue
		}
		f.b.WriteString(" " + seen[n-1] + `="` + html.EscapeString(string(value[:min(longestValue, len(value))])) + `"`)
	}
}

func (f *filter) end(a atom.Atom, name string) {
	switch {
	case f.skip != 0:
		if a == f.skip {
			if f.depth--; f.depth == 0 {
				f.skip = 0
			}
		}
		return
	case a == atom.Xmp || a == atom.Listing:
		name = "pre"
	case a == atom.Plaintext || a == atom.Noscript || a == atom.Math:
		return
	}
	f.b.WriteString("</" + name + ">")
}
