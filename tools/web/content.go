package web

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"mylm/tools"
)

// read turns an answer into the text that the model sees, and reports whether
// that is less than there is.
func (f *fetcher) read(ctx context.Context, p *page) (text string, cut, gap bool, err error) {
	media := p.media()
	if !textual(media) {
		return p.describe(media), true, false, nil
	}
	decoded, ok := decode(p.body, p.mediaType)
	if !ok {
		return p.describe(media), true, false, nil
	}
	more := p.more
	if media == "text/html" || media == "application/xhtml+xml" {
		var whole bool
		text, whole, err = markdown(ctx, decoded, p.final.url)
		if err != nil {
			return "", false, false, err
		}
		if !whole {
			more = "the rest is only markup, or too long"
		}
	} else {
		text = decoded
	}
	seen := clean(text)
	text = tools.Abridge(seen, f.MaxOutput*2/3, f.MaxOutput-f.MaxOutput*2/3, false)
	gap = len(text) != len(seen)
	cut = gap
	if text == "" {
		text = "(the page has no text; if a script in the browser builds it, this tool cannot see it)"
	}
	if more != "" {
		text, cut = text+"\n[the page continues: "+more+"]", true
	}
	return text, cut, gap, nil
}

// media is the type of the body: the declared one, or where that says nothing
// what the body looks like.
func (p *page) media() string {
	declared, _, _ := mime.ParseMediaType(p.mediaType)
	if !strings.Contains(declared, "/") || declared == "application/octet-stream" {
		declared, _, _ = mime.ParseMediaType(http.DetectContentType(p.body))
	}
	return declared
}

// textTypes are types of text whose names do not say so.
var textTypes = []string{
	"application/json", "application/xml", "application/javascript", "application/ecmascript", "application/x-javascript",
	"application/yaml", "application/x-yaml", "application/toml", "application/sql", "application/graphql", "application/x-sh",
	"application/x-ndjson", "application/jsonlines", "application/rtf", "application/x-tex", "application/typescript", "image/svg+xml",
}

func textual(media string) bool {
	return strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "+xml") ||
		strings.HasSuffix(media, "+yaml") || slices.Contains(textTypes, media)
}

// describe replaces a body that is not text.
func (p *page) describe(media string) string {
	size := fmt.Sprintf("%d bytes", len(p.body))
	switch {
	case p.more != "" && p.length > int64(len(p.body)):
		size = fmt.Sprintf("%d bytes", p.length)
	case p.more != "":
		size = "more than " + size
	}
	if textual(media) {
		media = "said to be " + media
	}
	return fmt.Sprintf("(not text, not shown: %s, %s)", media, size)
}

// decode makes valid UTF-8 of a body, and reports whether that is text. The
// encoding is the one of a byte order mark, of the declaration, of a meta
// element; but what is UTF-8 all through is taken for that where nothing else
// or Windows-1252 is declared, as servers do by default: text in Windows-1252
// is hardly ever valid UTF-8.
func decode(body []byte, contentType string) (string, bool) {
	encoding, name, _ := charset.DetermineEncoding(body, contentType)
	utf := tools.Begin(body, len(body)) // whose end may cut a character
	if name == "utf-8" || name == "windows-1252" && utf8.Valid(utf) {
		text := strings.TrimPrefix(string(utf), "\uFEFF")
		return strings.ToValidUTF8(text, "\uFFFD"), !tools.Binary(text)
	}
	decoded, err := encoding.NewDecoder().Bytes(body)
	if err != nil {
		return "", false
	}
	text := strings.TrimPrefix(string(decoded), "\uFEFF")
	return strings.ToValidUTF8(text, "\uFFFD"), !tools.Binary(text)
}

// clean takes out what a reader would not see: characters that show nothing. A
// joiner stays between two letters or pictures that it joins.
func clean(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var b strings.Builder
	before := rune(0)
	for i, r := range text {
		const joiner, nonJoiner = 0x200d, 0x200c
		switch {
		case r == '\r':
			r = '\n'
		case r == joiner || r == nonJoiner:
			next, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
			if before <= unicode.MaxASCII || next <= unicode.MaxASCII || tools.Hidden(next) {
				continue
			}
		case tools.Hidden(r):
			continue
		}
		b.WriteRune(r)
		before = r
		if r == joiner || r == nonJoiner {
			before = 0
		}
	}
	return strings.TrimSpace(b.String())
}
