package web

import (
	"io"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// invisible are elements that a reader sees nothing of, or that hold no text to read.
var invisible = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Template: true, atom.Svg: true, atom.Canvas: true, atom.Audio: true, atom.Video: true,
	atom.Object: true, atom.Embed: true, atom.Iframe: true, atom.Select: true, atom.Datalist: true, atom.Textarea: true, atom.Input: true,
	atom.Noembed: true, atom.Noframes: true,
}

// visible reports whether a reader would see an element, as far as the element
// itself determines that. The filter turns a style that hides something into
// the attribute.
func visible(n *html.Node) bool {
	if invisible[n.DataAtom] {
		return false
	}
	open := n.DataAtom != atom.Dialog
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return false
		case "open":
			open = true
		}
	}
	return open
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

// textOf is the text in an element, in which br is a line end.
func textOf(n *html.Node) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		switch {
		case n.Type == html.TextNode:
			b.WriteString(n.Data)
		case n.DataAtom == atom.Br:
			b.WriteByte('\n')
		case n.Type == html.ElementNode && !visible(n):
			return
		}
		for child := n.FirstChild; child != nil; child = child.NextSibling {
			walk(child)
		}
	}
	walk(n)
	return b.String()
}

func (c *converter) pre(n *html.Node) {
	text := strings.Trim(textOf(n), "\r\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	fence := strings.Repeat("`", max(3, longestRun(text)+1))
	marks, flat := c.w.marks, c.w.flat
	c.w.marks, c.w.flat = nil, 0 // a fence begins its line, and has lines
	c.w.block()
	c.w.word(fence + language(n))
	c.w.verbatim(text + "\n" + fence)
	c.w.block()
	c.w.marks, c.w.flat = marks, flat
}

// language is the one of a block of code: highlighters keep it in a class, as
// language-go or highlight-source-go, of the block or of the code in it.
func language(n *html.Node) string {
	for _, n := range []*html.Node{n, n.FirstChild} {
		if n == nil {
			continue
		}
		for class := range strings.FieldsSeq(attr(n, "class")) {
			for _, prefix := range []string{"language-", "lang-", "highlight-source-"} {
				if name, ok := strings.CutPrefix(class, prefix); ok && len(name) < 20 && !strings.Contains(name, "`") {
					return name
				}
			}
		}
	}
	return ""
}

// longestRun is the length of the longest run of backticks.
func longestRun(s string) (longest int) {
	run := 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

func (c *converter) code(n *html.Node) {
	text := strings.Join(strings.Fields(textOf(n)), " ")
	if text == "" {
		return
	}
	fence := strings.Repeat("`", longestRun(text)+1)
	if len(fence) > 1 {
		text = " " + text + " "
	}
	c.w.word(fence + text + fence)
}

// longestLink is how long an address in a link is shown; what is longer is
// tracking or data.
const longestLink = 500

// address is where a link or an image leads, "" if that is nowhere to go to.
func (c *converter) address(href string) string {
	href = strings.TrimSpace(href)
	if href == "" || len(href) > longestLink {
		return ""
	}
	u, err := c.base.Parse(href)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" {
		return ""
	}
	u.User = nil
	text := strings.NewReplacer("(", "%28", ")", "%29", " ", "%20").Replace(u.String())
	if len(text) > longestLink {
		return ""
	}
	return text
}

func (c *converter) link(n *html.Node) {
	href := attr(n, "href")
	if strings.HasPrefix(href, "#") {
		if !isAnchor(n) {
			c.children(n)
		}
		return
	}
	address := c.address(href)
	if address == "" {
		c.children(n)
		return
	}
	c.marked(n, "[", "]("+address+")")
}

// isAnchor reports whether a link is only the mark beside a heading.
func isAnchor(n *html.Node) bool {
	only := n.FirstChild
	if only == nil || only.NextSibling != nil || only.Type != html.TextNode || len(only.Data) > 20 {
		return false
	}
	text := strings.TrimSpace(only.Data)
	return text == "#" || text == "¶" || text == "§"
}

func (c *converter) image(n *html.Node) {
	alt := strings.Join(strings.Fields(attr(n, "alt")), " ")
	if alt == "" {
		return
	}
	text := "![" + alt + "]"
	if address := c.address(attr(n, "src")); address != "" {
		text += "(" + address + ")"
	}
	c.w.word(text)
}

// table writes rows of text as a table, and any other as what its cells hold.
func (c *converter) table(n *html.Node) {
	c.w.block()
	if c.layout[n] || c.w.flat > 0 {
		c.children(n)
	} else {
		c.rows(n, new(int))
	}
	c.w.block()
}

// rows writes the rows in n, and counts them in before.
func (c *converter) rows(n *html.Node, before *int) {
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		switch {
		case child.Type == html.ElementNode && !visible(child) || c.over():
		case child.DataAtom == atom.Tr:
			if cells := c.row(child); cells > 0 {
				if *before++; *before == 1 {
					c.w.line()
					c.w.word("|" + strings.Repeat(" --- |", cells))
				}
			}
		case child.DataAtom == atom.Thead || child.DataAtom == atom.Tbody || child.DataAtom == atom.Tfoot:
			c.rows(child, before)
		default:
			c.node(child)
		}
	}
}

func (c *converter) row(n *html.Node) (cells int) {
	c.w.line()
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		if child.DataAtom != atom.Td && child.DataAtom != atom.Th || !visible(child) {
			continue
		}
		if cells++; cells == 1 {
			c.w.word("|")
		}
		c.w.flat++
		c.w.cell = true
		c.node(child)
		c.w.cell = false
		c.w.flat--
		c.w.space = true
		c.w.word("|")
	}
	return cells
}

// tokens writes the text of a page whose structure is too deep to be followed. What
// is hidden ends with the end tag, since nothing else shows where it does.
func (c *converter) tokens(r io.Reader) {
	z := html.NewTokenizer(r)
	hidden, depth := "", 0 // the hidden element, and how deeply it is nested in itself
	for !c.over() {
		kind := z.Next()
		if kind == html.ErrorToken {
			return
		}
		t := z.Token()
		a := t.DataAtom
		switch {
		case kind == html.TextToken && depth == 0:
			c.w.text(t.Data)
		case kind == html.EndTagToken && depth > 0 && t.Data == hidden:
			depth--
		case kind != html.StartTagToken:
		case depth > 0 && t.Data == hidden:
			depth++
		case depth > 0:
		case paragraphs[a] || lines[a] || nested[a] || a == atom.Br:
			c.w.line()
			fallthrough
		default:
			if a != atom.Br && a != atom.Hr && a != atom.Img && a != atom.Wbr && !visible(&html.Node{DataAtom: a, Attr: t.Attr}) {
				hidden, depth = t.Data, 1
			}
		}
	}
}
