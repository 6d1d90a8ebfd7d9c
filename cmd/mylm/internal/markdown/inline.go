package markdown

import (
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// inline adds the text of a block's or a mark's content.
func (r *renderer) inline(t *styled, n ast.Node, s style) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			text := string(c.Segment.Value(r.source))
			if !c.IsRaw() {
				text = unescape(text)
			}
			t.add(clean(text), s)
			if c.SoftLineBreak() || c.HardLineBreak() {
				t.add("\n", s)
			}
		case *ast.String:
			t.add(clean(string(c.Value)), s)
		case *ast.CodeSpan:
			r.codeSpan(t, c, s)
		case *ast.Emphasis:
			if c.Level == 1 {
				inner := s
				inner.italic = true
				r.marked(t, c, "*", s, inner)
			} else {
				inner := s
				inner.bold = true
				r.marked(t, c, "**", s, inner)
			}
		case *east.Strikethrough:
			inner := s
			inner.struck = true
			r.marked(t, c, "~~", s, inner)
		case *ast.Link:
			r.link(t, c, string(c.Destination), s)
		case *ast.Image:
			r.link(t, c, string(c.Destination), s)
		case *ast.AutoLink:
			inner := s
			inner.role, inner.underlined = link, true
			t.add(clean(string(c.URL(r.source))), inner)
		case *ast.RawHTML:
			r.rawHTML(t, c, s)
		default:
			r.inline(t, c, s)
		}
	}
}

// marked adds text whose style shows, or else the marks that make it.
func (r *renderer) marked(t *styled, n ast.Node, mark string, s, inner style) {
	if r.color {
		mark = ""
	}
	t.add(mark, s)
	r.inline(t, n, inner)
	t.add(mark, s)
}

func (r *renderer) codeSpan(t *styled, n *ast.CodeSpan, s style) {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if c, ok := c.(*ast.Text); ok {
			b.Write(c.Segment.Value(r.source))
		}
	}
	text := strings.ReplaceAll(b.String(), "\n", " ")
	if _, ok := n.Parent().(*east.TableCell); ok { // where a bar is escaped even in code
		text = strings.ReplaceAll(text, `\|`, "|")
	}
	text = clean(text)
	if !r.color {
		text = "`" + text + "`"
	}
	s.role = code
	t.add(text, s)
}

// link adds a text, and the address if that is another.
func (r *renderer) link(t *styled, n ast.Node, address string, s style) {
	inner := s
	inner.role, inner.underlined = link, true
	before := t.text.Len()
	r.inline(t, n, inner)
	address = clean(unescape(address))
	shown := t.text.String()[before:]
	if address == "" || address == shown || strings.TrimPrefix(address, "mailto:") == shown {
		return
	}
	if shown != "" {
		address = " (" + strings.ReplaceAll(address, "\n", "") + ")"
	}
	s.role = faint
	t.add(address, s)
}

// rawHTML adds a tag as it is written, but <br> as a line break.
func (r *renderer) rawHTML(t *styled, n *ast.RawHTML, s style) {
	var b strings.Builder
	for i := range n.Segments.Len() {
		part := n.Segments.At(i)
		b.Write(part.Value(r.source))
	}
	tag := b.String()
	if name, _, _ := strings.Cut(strings.Trim(tag, "</> "), " "); strings.EqualFold(name, "br") {
		t.add("\n", s)
		return
	}
	s.role = faint
	t.add(clean(tag), s)
}

// unescape resolves backslashes and character references.
func unescape(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && isPunctuation(s[i+1]):
			i++
			b.WriteByte(s[i])
		case c == '&':
			text, n := reference(s[i:])
			b.WriteString(text)
			i += n - 1
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// reference is what the character reference that s begins with stands for, and
// its length: the & itself if there is none. A number has up to 7 digits, or x and
// 6 hexadecimal ones.
func reference(s string) (text string, n int) {
	end := strings.IndexByte(s[:min(len(s), 40)], ';') // the longest name has 32 characters
	if end < 0 || strings.HasPrefix(s, "&#") && end > len("&#x")+6 || strings.EqualFold(s[:end], "&#x") {
		return s[:1], 1
	}
	text = html.UnescapeString(s[:end+1])
	if len(text) > 1 && strings.HasSuffix(text, ";") { // all or a part of it was left alone
		return s[:1], 1
	}
	return text, end + 1
}

func isPunctuation(c byte) bool {
	return c > ' ' && c < 0x7f && !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z')
}
