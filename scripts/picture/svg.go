package main

import (
	"cmp"
	"fmt"
	"html"
	"image/color"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

const (
	size, advance, line, margin = 14, 8.43, 20, 20
	rest                        = 4 * time.Second // the last screen stays that long
)

// svg draws frames, each line of the screen once for all the time that it is shown.
func svg(frames []frame, columns, rows int) string {
	length := frames[len(frames)-1].at + rest
	type shown struct {
		y        int
		drawing  string
		from, to []time.Duration
	}
	var all []*shown
	for y := range rows {
		known := map[string]*shown{}
		var now *shown
		for _, f := range frames {
			drawing := draw(f.rows[y], y)
			if now != nil && now.drawing == drawing {
				continue
			}
			if now != nil {
				now.to = append(now.to, f.at)
			}
			if now = known[drawing]; now == nil {
				now = &shown{y: y, drawing: drawing}
				known[drawing] = now
				if drawing != "" {
					all = append(all, now)
				}
			}
			now.from = append(now.from, f.at)
		}
		now.to = append(now.to, length)
	}

	var b strings.Builder
	w, h := float64(columns)*advance+2*margin, rows*line+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" width="%.0f" height="%d" role="img">
<style>
text{font:%dpx ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d4d4d4;white-space:pre}
g{visibility:hidden;animation:%.2fs step-end infinite}
@media (prefers-reduced-motion:reduce){g{animation:none!important}.e{visibility:visible}}
`, w, h, w, h, size, length.Seconds())
	at := func(d time.Duration) string {
		return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.2f", 100*d.Seconds()/length.Seconds()), "0"), ".")
	}
	for i, s := range all {
		fmt.Fprintf(&b, "@keyframes k%d{", i)
		for j, from := range s.from {
			fmt.Fprintf(&b, "%s%%{visibility:visible}", at(from))
			if s.to[j] < length {
				fmt.Fprintf(&b, "%s%%{visibility:hidden}", at(s.to[j]))
			}
		}
		b.WriteString("}\n")
	}
	b.WriteString("</style>\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1e1e1e\"/>\n")
	for i, s := range all {
		last := ""
		if s.to[len(s.to)-1] == length {
			last = ` class="e"`
		}
		fmt.Fprintf(&b, "<g%s style=\"animation-name:k%d\">%s</g>\n", last, i, s.drawing)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// draw is a line of the screen. Each piece is told its width, since fonts differ.
func draw(r row, y int) string {
	var b strings.Builder
	top := margin + y*line
	for _, p := range r {
		x, w := margin+float64(p.column)*advance, float64(p.width)*advance
		fg, bg := hex(p.fg, "#d4d4d4"), hex(p.bg, "")
		if p.reversed {
			fg, bg = cmp.Or(bg, "#1e1e1e"), fg
		}
		if bg != "" {
			fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`, x, top, w, line, bg)
		}
		if strings.TrimSpace(p.text) == "" {
			continue
		}
		var look strings.Builder
		if fg != "#d4d4d4" {
			fmt.Fprintf(&look, ` style="fill:%s"`, fg)
		}
		if p.bold {
			look.WriteString(` font-weight="bold"`)
		}
		if p.faint {
			look.WriteString(` opacity=".6"`)
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" textLength="%.1f"%s>%s</text>`, x, top+line-6, w, look.String(), html.EscapeString(p.text))
	}
	return b.String()
}

// palette is the sixteen colours of a terminal with a dark background.
var palette = strings.Fields("#1e1e1e #f47067 #6bc46d #daaa3f #6cb6ff #dcbdfb #56d4dd #d4d4d4 " +
	"#8a8a8a #ff938a #8ddb8c #eac55f #96d0ff #eedcff #8ce6ee #ffffff")

func hex(c color.Color, none string) string {
	switch c := c.(type) {
	case nil:
		return none
	case ansi.BasicColor:
		return palette[c]
	}
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}
