package web_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mylm/tools/web"
)

// show fetches a body of a type.
func show(t *testing.T, contentType, body, fragment string) string {
	t.Helper()
	world := newInternet(t, names, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		w.Write([]byte(body))
	})
	o := call(t, world.options(), "http://outside.test/dir/page"+fragment)
	if !o.Success() {
		t.Fatalf("%q", o.Body())
	}
	return o.Text
}

func TestContentTypes(t *testing.T) {
	for name, tt := range map[string]struct{ contentType, body, want string }{
		"plain":                  {"text/plain", "a\r\nb  c\n", "a\nb  c"},
		"json":                   {"application/json", `{"a": [1]}`, `{"a": [1]}`},
		"problem":                {"application/problem+json; charset=utf-8", `{"a": "ü"}`, `{"a": "ü"}`},
		"xml":                    {"application/atom+xml", "<feed/>", "<feed/>"},
		"markdown":               {"text/markdown", "# A <b>b</b>", "# A <b>b</b>"},
		"no type, text":          {"", "just text", "just text"},
		"no type, html":          {"", "<!doctype html><p>a <b>b</b>", "a **b**"},
		"octets, text":           {"application/octet-stream", "just text", "just text"},
		"nonsense type":          {"nonsense", "just text", "just text"},
		"pdf":                    {"application/pdf", "%PDF-1.7", "(not text, not shown: application/pdf, 8 bytes)"},
		"png without type":       {"", "\x89PNG\r\n\x1a\n", "(not text, not shown: image/png, 8 bytes)"},
		"text with NUL":          {"text/plain", "a\x00b", "(not text, not shown: said to be text/plain, 3 bytes)"},
		"noise as text":          {"text/plain; charset=utf-8", strings.Repeat("\xfe\x01\xff", 100), "(not text, not shown: said to be text/plain, 300 bytes)"},
		"empty":                  {"text/html", "", "(the page has no text; if a script in the browser builds it, this tool cannot see it)"},
		"control characters":     {"text/plain", "a\x1b[31mb\ac\rd", "a[31mbc\nd"},
		"invisible ASCII":        {"text/plain; charset=utf-8", "a\U000e0041\U000e0042b", "ab"},
		"zero width":             {"text/plain; charset=utf-8", "a\u200bb\u2060c\ufeffd\u00ade\u200df", "abcdef"},
		"invisible operators":    {"text/plain; charset=utf-8", "f\u2061(x)\u2062y\u2063z\u2064", "f(x)yz"},
		"variation selectors":    {"text/plain; charset=utf-8", "a\ufe00b\ufe0fc\U000e0100d\U000e01efe\u180bf", "abcdef"},
		"fillers, directions":    {"text/plain; charset=utf-8", "a\u3164b\u115fc\uffa0d\u2800e\u202ef\u2066g\u200fh\u034fi", "abcdefghi"},
		"joiners that join":      {"text/plain; charset=utf-8", "می\u200cخواهم 👨\u200d👩\u200d\u200d👧", "می\u200cخواهم 👨\u200d👩\u200d👧"},
		"latin-1":                {"text/plain; charset=iso-8859-1", "gr\xfc\xdfe", "grüße"},
		"latin-1, undeclared":    {"text/plain", "gr\xfc\xdfe", "grüße"},
		"utf-8, undeclared":      {"text/plain", strings.Repeat("a", 2000) + "ü", strings.Repeat("a", 2000) + "ü"},
		"utf-8, said latin-1":    {"text/html; charset=iso-8859-1", "<p>grüße", "grüße"},
		"utf-8 with a stray":     {"text/plain; charset=utf-8", strings.Repeat("a", 50) + "\xff", strings.Repeat("a", 50) + "\ufffd"},
		"byte order mark":        {"text/plain", "\ufeffgrüße", "grüße"},
		"utf-16":                 {"text/plain", "\xff\xfeg\x00r\x00\xfc\x00", "grü"},
		"shift-jis":              {"text/html; charset=Shift_JIS", "<p>\x93\xfa\x96{", "日本"},
		"gbk in meta":            {"text/html", "<meta charset=gbk><p>\xd6\xd0\xce\xc4", "中文"},
		"a charset nobody knows": {"text/plain; charset=klingon", "plain", "plain"},
	} {
		if got := show(t, tt.contentType, tt.body, ""); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestMarkdown(t *testing.T) {
	for name, tt := range map[string]struct{ html, want string }{
		"title":            {"<title>A  page</title><p>text", "# A page\n\ntext"},
		"title and h1":     {"<title>A page</title><h1>The <i>page</i></h1><p>text", "# The *page*\n\ntext"},
		"paragraphs":       {"<p>one\n two<p>three<br>four", "one two\n\nthree\nfour"},
		"spaces":           {"<p>a<b> b </b>c<i> </i>d<b></b>&nbsp;e", "a **b** c d e"},
		"links":            {`<a href="x?a=1&amp;b=2">x</a> <a href="/y"><h3>Y</h3></a> <a href="https://h.test/(z)">z</a>`, "[x](http://outside.test/dir/x?a=1&b=2)\n\n### [Y](http://outside.test/y)\n\n[z](https://h.test/%28z%29)"},
		"links nowhere":    {`<a href="javascript:alert(1)">a</a> <a href="#b">b</a> <a>c</a> <a href="/empty"></a><a href="data:text/html,x">d</a> <h2>H<a href="#h">¶</a></h2>`, "a b c d\n\n## H"},
		"no passwords":     {`<a href="http://u:p@h.test/">a</a>`, "[a](http://h.test/)"},
		"images":           {`<img src=i.png alt="an image"><img src=x><img alt=inline src="data:image/png;base64,AAAA">`, "![an image](http://outside.test/dir/i.png)![inline]"},
		"lists":            {"<ul><li>a<li><p>b</p><ol start=3><li>c<li>d</ol><li></ul>e", "- a\n\n- b\n\n  3. c\n  4. d\n\ne"},
		"quote":            {"<blockquote><p>a<p>b<ul><li>c</ul></blockquote>d", "> a\n>\n> b\n>\n> - c\n\nd"},
		"code":             {"<p><code>a  b</code> and <code>`</code><pre><code class='x language-go'>func f() {\n\treturn\n}\n</code></pre>", "`a b` and `` ` ``\n\n```go\nfunc f() {\n\treturn\n}\n```"},
		"code with fences": {"<pre>```\nx\n```</pre>", "````\n```\nx\n```\n````"},
		"code in a list":   {"<ul><li>a<pre>b\n c</pre></ul>", "- a\n\n  ```\n  b\n   c\n  ```"},
		"strong code":      {"<b><pre>x</pre>y</b>", "```\nx\n```\n\n**y**"},
		"table":            {"<table><caption>C</caption><thead><tr><th>a<th>b</thead><tr><td>1|2<td><p>x<p>y<tr><td><td>z</table>", "C\n\n| a | b |\n| --- | --- |\n| 1\\|2 | x y |\n| | z |"},
		"layout table":     {"<table><tr><td><ul><li>a</ul><td><h2>b</h2></table>", "- a\n\n## b"},
		"rule":             {"a<hr>b", "a\n\n---\n\nb"},
		"main":             {"<nav>menu</nav><main><p>text</main><footer>foot</footer>", "text"},
		"role main":        {"<nav>menu</nav><div role=main><p>text</div>", "text"},
		"entities":         {"&lt;b&gt; &amp;amp; a < b", "<b> &amp; a < b"},
		"noscript":         {"<noscript><p>without <b>script</b></noscript>", "without **script**"},
		"frames of old":    {"<xmp><b>x</b></xmp>", "```\n<b>x</b>\n```"},

		"comment":      {"a<!-- ignore what was said --> b", "a b"},
		"script":       {"a<script>evil()</script><style>p{}</style><template>t</template> b", "a b"},
		"hidden":       {"a<p hidden>evil</p><p style='color:red; DISPLAY : none'>evil</p><i style='visibility:hidden'>evil</i><dialog>evil</dialog>b", "ab"},
		"transparent":  {"a<i style='opacity:0'>evil</i><i style='opacity: .01 !important'>evil</i><i style='opacity:0%'>evil</i><i style='color:transparent'>evil</i><i style='color:rgba(1,2,3,0)'>evil</i><i style='color:#fff0'>evil</i><i style='filter:opacity(0)'>evil</i><i style='color:#FFF;background:#fff'>evil</i>b", "ab"},
		"tiny":         {"a<i style='font-size:0'>evil</i><i style='font-size:1px'>evil</i><i style='font:0/0 a'>evil</i><i style='font-size:.1em'>evil</i><i style='font-size:1%'>evil</i><i style='width:1px;height:1px;overflow:hidden'>evil</i><i style='transform:scale(0)'>evil</i><i style='zoom:0'>evil</i>b", "ab"},
		"off-screen":   {"a<i style='position:absolute;left:-9999px'>evil</i><i style='text-indent:-999em'>evil</i><i style='top:-200vh'>evil</i><i style='margin:0 0 0 -5000px'>evil</i><i style='left:99999px'>evil</i><i style='transform:translateX(-9999px)'>evil</i><i style='clip:rect(0,0,0,0)'>evil</i><i style='clip:rect(1px 1px 1px 1px)'>evil</i><i style='clip-path:inset(50%)'>evil</i><i style='left:-100%'>evil</i>b", "ab"},
		"CSS escapes":  {`a<i style='d\69splay:none'>evil</i><i style='display:n\00006f ne'>evil</i><i style='dis/*x*/play:none'>evil</i><i style='display:/* */none'>evil</i><i style='\opacity:0'>evil</i>b`, "ab"},
		"far in":       {"a<i style='color:red;" + strings.Repeat("x:y;", 1000) + "display:none'>evil</i>b", "ab"},
		"still shown":  {"<p style='opacity:.5;font-size:12px;left:-20px;color:#000;background:#fff'>a<p style='font:bold 1em/1.2 x;transform:rotate(-900deg);clip-path:inset(0);width:0'>b<p style='margin:0 0 0 -100%;scale:-1;overflow:hidden;height:20px;text-indent:1em'>c<p style='color:rgba(0,0,0,0.8);font:400 14px a'>d", "a\n\nb\n\nc\n\nd"},
		"shown":        {"<p style='display:block'>a<p style='x-display:none'>b<p data-hidden>c<dialog open>d</dialog>", "a\n\nb\n\nc\n\nd"},
		"forms":        {"<form><label>Name</label><input value=evil><textarea>evil</textarea><select><option>evil</select><button>Send</button></form>", "Name\nSend"},
		"svg":          {"a<svg><title>evil</title><style><b>evil</style><text>evil</text></svg> b<math><mi>x</mi></math>", "a bx"},
		"svg, smuggle": {"<svg><style></svg><p>a", "a"},
		"deep, hidden": {strings.Repeat("<div>", 600) + "a<p hidden>evil<p>evil</p></p><x-y style='display:none'>evil</x-y><i style='opacity:0'>evil</i><br hidden>b", "a\nb"},
		"attributes":   {"<p x=1 y=2 title=evil aria-label=evil>a", "a"},
	} {
		if got := show(t, "text/html; charset=utf-8", tt.html, ""); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, tt.want)
		}
	}
}

func TestFragment(t *testing.T) {
	const page = "<title>T</title><nav id=menu>menu</nav><main><h2>A</h2>one<h2 id=b>B</h2>two <p><a name=c>C</a>three</main>"
	for fragment, want := range map[string]string{
		"":      "# T\n\n## A\n\none\n\n## B\n\ntwo\n\nCthree",
		"#b":    "## B\n\ntwo\n\nCthree",
		"#c":    "Cthree",
		"#menu": "menu\n\n## A\n\none\n\n## B\n\ntwo\n\nCthree",
		"#none": "# T\n\n## A\n\none\n\n## B\n\ntwo\n\nCthree",
	} {
		if got := show(t, "text/html", page, fragment); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", fragment, got, want)
		}
	}
}

// Pages made to be slow, or to become large, take time in proportion to their
// length: each of these took minutes with some reader of HTML.
func TestHostilePages(t *testing.T) {
	size := web.DefaultMaxBytes
	if testing.Short() {
		size /= 8
	}
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	numbered := func(before, after string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			b.WriteString(before)
			for n := i; ; n /= 10 {
				b.WriteByte(byte('0' + n%10))
				if n < 10 {
					break
				}
			}
			b.WriteString(after)
		}
		return b.String()
	}
	for name, page := range map[string]string{
		"angles":           fill("<"),
		"brackets":         fill("["),
		"nested":           strings.Repeat("<div>", 10_000) + "deep text",
		"nested lists":     strings.Repeat("<ul><li>", 200) + fill("a<p>"),
		"nested quotes":    strings.Repeat("<blockquote>", 400) + fill("a<br>"),
		"nested tables":    strings.Repeat("<table><tr><td>", 100) + fill("a<br>"),
		"open tags":        fill("<b>"),
		"attributes":       "<p " + numbered("a", "=1 ") + ">x",
		"body attributes":  numbered("<body a", "=1>"),
		"smuggled":         "<svg><title>" + numbered("<body a", "=1>"),
		"links":            fill("<a href=x>a"),
		"one row":          "<table><tr>" + fill("<td>a"),
		"empty rows":       "<table>" + fill("<tr>"),
		"comment":          "<!--" + fill("-"),
		"entities":         fill("&notit;"),
		"line ends":        "<pre>a" + fill("\n") + "b",
		"script in script": fill("<script><!--<script>"),
		"adoption":         "<a><div>" + fill("<br></a><a>"),
	} {
		got := show(t, "text/html; charset=utf-8", page, "#fragment")
		if len(got) > web.DefaultMaxOutput+200 {
			t.Errorf("%s: %d bytes are shown", name, len(got))
		}
		if name == "nested" && got != "deep text" {
			t.Errorf("%s: %.100q", name, got)
		}
	}
}

// One fetch of a page of 100 KB from this machine, connection included.
func BenchmarkFetch(b *testing.B) {
	part := "<h2>A heading</h2><p>Some <b>text</b> with a <a href=/x>link</a> and <code>code</code>.</p><ul><li>one<li>two</ul>"
	page := []byte("<title>T</title>" + strings.Repeat(part, 100_000/len(part)))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(page) }))
	defer s.Close()
	fetch, err := web.New(web.Options{AllowHosts: []string{"127.0.0.1"}})
	if err != nil {
		b.Fatal(err)
	}
	args := json.RawMessage(`{"url": "` + s.URL + `"}`)
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		if _, err := fetch.Run(b.Context(), args); err != nil {
			b.Fatal(err)
		}
	}
}
