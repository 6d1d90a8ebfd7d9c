package web

import (
	"context"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// markdown turns HTML into Markdown, in time proportional to its length. whole
// is false if it gave up before the end.
//
// Nothing is escaped: a model reads * and < as what they are, and a page that
// wants to look like something else could write Markdown anyway.
func markdown(ctx context.Context, text string, base *url.URL) (out string, whole bool, err error) {
	c := &converter{ctx: ctx, base: base, layout: map[*html.Node]bool{}}
	text = filtered(ctx, text)
	doc, err := html.Parse(&until{ctx, strings.NewReader(text)})
	switch {
	case ctx.Err() != nil:
	case err != nil: // the parser gives up below 512 levels
		c.tokens(&until{ctx, strings.NewReader(text)})
	default:
		c.survey(doc, nil, false)
		c.page(doc)
	}
	return c.w.b.String(), !c.w.full(), ctx.Err()
}

// until is a reader that ends with its context.
type until struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (u *until) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(b)
}

// converter walks through a parsed page. The parser's limit of levels bounds
// its recursion.
type converter struct {
	ctx  context.Context
	base *url.URL
	w    writer

	// what survey finds
	title  string
	main   *html.Node
	mains  int
	headed bool // there is a heading of the first level
	target *html.Node
	inMain bool                // the target is in main
	layout map[*html.Node]bool // tables that hold more than rows of text

	seen int
}

// over reports whether to stop. The context is asked now and then.
func (c *converter) over() bool {
	c.seen++
	return c.w.full() || c.seen%1024 == 0 && c.ctx.Err() != nil
}

// survey looks for what has to be known beforehand. table is the innermost one
// around n.
func (c *converter) survey(n, table *html.Node, inMain bool) {
	if c.over() || n.Type == html.ElementNode && !visible(n) {
		return
	}
	switch {
	case n.DataAtom == atom.Title && c.title == "" && n.Namespace == "":
		c.title = strings.Join(strings.Fields(textOf(n)), " ")
	case n.DataAtom == atom.Main || attr(n, "role") == "main":
		c.main, inMain = n, true
		c.mains++
	case n.DataAtom == atom.H1:
		c.headed = true
	}
	if table != nil && nested[n.DataAtom] {
		c.layout[table] = true
	}
	if n.DataAtom == atom.Table {
		table = n
		c.layout[n] = c.layout[n] || attr(n, "role") == "presentation"
	}
	if c.target == nil && c.base.Fragment != "" && (attr(n, "id") == c.base.Fragment || n.DataAtom == atom.A && attr(n, "name") == c.base.Fragment) {
		c.target, c.inMain = n, inMain
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		c.survey(child, table, inMain)
	}
}

// nested are elements that no cell of a Markdown table can hold.
var nested = map[atom.Atom]bool{
	atom.Table: true, atom.Ul: true, atom.Ol: true, atom.Dl: true, atom.Pre: true, atom.Blockquote: true,
	atom.H1: true, atom.H2: true, atom.H3: true, atom.H4: true, atom.H5: true, atom.H6: true,
}

func (c *converter) page(doc *html.Node) {
	if c.title != "" && !c.headed {
		c.w.openMark("# ")
		c.w.text(c.title)
		c.w.block()
	}
	root := doc
	if c.mains == 1 && (c.target == nil || c.inMain) {
		root = c.main
	}
	c.node(root)
}

func (c *converter) children(n *html.Node) {
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		c.node(child)
	}
}

func (c *converter) node(n *html.Node) {
	if c.over() {
		return
	}
	switch n.Type {
	case html.TextNode:
		c.w.text(n.Data)
	case html.DocumentNode:
		c.children(n)
	case html.ElementNode:
		if !visible(n) {
			return
		}
		if n == c.target {
			c.w.reset()
		}
		c.element(n)
	}
}

func (c *converter) element(n *html.Node) {
	switch a := n.DataAtom; a {
	case atom.Head: // its title was written first
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		c.heading(n, int(n.Data[1]-'0'))
	case atom.Ul, atom.Ol, atom.Menu:
		c.list(n)
	case atom.Blockquote:
		c.w.block()
		c.w.push("> ", "> ")
		c.children(n)
		c.w.pop()
		c.w.block()
	case atom.Pre:
		c.pre(n)
	case atom.Code, atom.Kbd, atom.Samp:
		c.code(n)
	case atom.Strong, atom.B:
		c.marked(n, "**", "**")
	case atom.Em, atom.I:
		c.marked(n, "*", "*")
	case atom.Del, atom.S:
		c.marked(n, "~~", "~~")
	case atom.A:
		c.link(n)
	case atom.Img:
		c.image(n)
	case atom.Br:
		c.w.line()
	case atom.Hr:
		c.w.block()
		c.w.word("---")
		c.w.block()
	case atom.Table:
		c.table(n)
	case atom.Td, atom.Th:
		c.w.space = true
		c.children(n)
		c.w.space = true
	default:
		c.plain(n, a)
	}
}

// plain writes an element that has no counterpart in Markdown.
func (c *converter) plain(n *html.Node, a atom.Atom) {
	end := func() {}
	switch {
	case paragraphs[a]:
		end = c.w.block
	case lines[a]:
		end = c.w.line
	}
	end()
	c.children(n)
	end()
}

// paragraphs are separated by blank lines, lines begin a line.
var (
	paragraphs = map[atom.Atom]bool{
		atom.P: true, atom.Article: true, atom.Section: true, atom.Header: true, atom.Footer: true, atom.Main: true, atom.Nav: true, atom.Aside: true,
		atom.Figure: true, atom.Details: true, atom.Form: true, atom.Fieldset: true, atom.Address: true, atom.Dl: true, atom.Caption: true, atom.Dialog: true,
	}
	lines = map[atom.Atom]bool{
		atom.Div: true, atom.Tr: true, atom.Li: true, atom.Dt: true, atom.Dd: true, atom.Figcaption: true, atom.Summary: true, atom.Legend: true,
		atom.Label: true, atom.Button: true, atom.Body: true, atom.Center: true, atom.Hgroup: true,
	}
)

func (c *converter) heading(n *html.Node, level int) {
	c.w.block()
	c.w.flat++
	c.w.marks = slices.Insert(c.w.marks, 0, strings.Repeat("#", level)+" ") // in front of the link around it
	c.children(n)
	if len(c.w.marks) > 0 {
		c.w.marks = c.w.marks[1:] // it is empty
	}
	c.w.flat--
	c.w.block()
}

func (c *converter) marked(n *html.Node, open, shut string) {
	c.w.openMark(open)
	c.children(n)
	c.w.closeMark(shut)
}

func (c *converter) list(n *html.Node) {
	within := n.Parent != nil && n.Parent.DataAtom == atom.Li
	end := c.w.block
	if within {
		end = c.w.line
	}
	end()
	number, err := strconv.Atoi(attr(n, "start"))
	if err != nil || number < 0 || number > 1e6 {
		number = 1
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		if child.DataAtom != atom.Li {
			c.node(child)
			continue
		}
		marker := "- "
		if n.DataAtom == atom.Ol {
			marker = strconv.Itoa(number) + ". "
			number++
		}
		c.w.line()
		c.w.push(marker, strings.Repeat(" ", len(marker)))
		c.node(child)
		c.w.pop()
		c.w.line()
	}
	end()
}
