// Picture draws what commands print on a terminal, as an SVG.
//
//	go run ./scripts/picture -o docs/run.svg 'mylm ask -m demo "what files are here?"' ...
//
// Each command runs in a pseudo-terminal of its own, made by script(1) of
// util-linux, with mylm built from this checkout in PATH and a HOME in which mylm
// has run once, so that its notice at the first run is not shown. The picture
// shows the screen as it is at the end, with faint and bold text and without what
// was erased again.
package main

import (
	"context"
	"flag"
	"fmt"
	"html"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	log.SetFlags(0)
	out := flag.String("o", "", "the `FILE` to write")
	dir := flag.String("dir", ".", "the directory that the commands run in")
	columns := flag.Int("columns", 92, "width of the terminal")
	flag.Parse()
	if *out == "" || flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := draw(ctx, *out, *dir, *columns, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

func draw(ctx context.Context, out, dir string, columns int, commands []string) error {
	tmp, err := os.MkdirTemp("", "picture")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if b, err := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(tmp, "mylm"), "./cmd/mylm").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, b)
	}
	run := func(command string) ([]row, error) {
		line := fmt.Sprintf("stty cols %d rows 40; %s", columns, command)
		cmd := exec.CommandContext(ctx, "script", "-qec", line, "/dev/null")
		cmd.Dir = dir
		cmd.Env = []string{"HOME=" + tmp, "PATH=" + tmp + ":" + os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8", "SHELL=/bin/sh"}
		text, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", command, err, text)
		}
		return screen(string(text), columns), nil
	}
	if _, err := run("mylm ask -m demo hello"); err != nil {
		return err
	}
	var rows []row
	for i, command := range commands {
		shown, err := run(command)
		if err != nil {
			return err
		}
		if i > 0 {
			rows = append(rows, row{})
		}
		rows = append(append(rows, row{{text: "$ ", style: "p"}, {text: command, style: "b"}}), shown...)
	}
	return os.WriteFile(out, []byte(svg(rows, columns)), 0o666)
}

// row is a line of the screen, in pieces of one style.
type row []piece

type piece struct{ text, style string }

var control = regexp.MustCompile(`\x1b\[([0-9;]*)([A-Za-z])|\r\n|\r|\n|[^\x1b\r\n]+`)

// screen is what a terminal shows after the text: line ends, carriage returns,
// erased lines and the styles faint and bold are all that mylm uses.
func screen(text string, columns int) []row {
	rows, style := []row{nil}, ""
	for _, m := range control.FindAllStringSubmatch(text, -1) {
		last := len(rows) - 1
		switch {
		case m[2] == "m":
			style = map[string]string{"2": "d", "1": "b"}[m[1]]
		case m[2] == "K" || m[0] == "\r":
			rows[last] = nil
		case m[2] != "":
		case m[0] == "\n" || m[0] == "\r\n":
			rows = append(rows, nil)
		default:
			for _, r := range m[0] {
				if last = len(rows) - 1; width(rows[last]) == columns {
					rows, last = append(rows, nil), last+1
				}
				if n := len(rows[last]); n > 0 && rows[last][n-1].style == style {
					rows[last][n-1].text += string(r)
				} else {
					rows[last] = append(rows[last], piece{string(r), style})
				}
			}
		}
	}
	for len(rows) > 0 && len(rows[len(rows)-1]) == 0 {
		rows = rows[:len(rows)-1]
	}
	return rows
}

func width(r row) (n int) {
	for _, p := range r {
		n += len([]rune(p.text))
	}
	return n
}

func svg(rows []row, columns int) string {
	const size, advance, line, margin = 14, 8.43, 20, 20
	w, h := float64(columns)*advance+2*margin, float64(len(rows)*line+2*margin)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img">
<style>text{font:%dpx ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d4d4d4;white-space:pre}.d{fill:#8a8a8a}.b{font-weight:bold}.p{fill:#6a9955}</style>
<rect width="100%%" height="100%%" rx="8" fill="#1e1e1e"/>
`, w, h, w, h, size)
	for i, r := range rows {
		if len(r) == 0 {
			continue
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" xml:space="preserve">`, margin, margin+(i+1)*line-6)
		for _, p := range r {
			if p.style == "" {
				b.WriteString(html.EscapeString(p.text))
			} else {
				fmt.Fprintf(&b, `<tspan class="%s">%s</tspan>`, p.style, html.EscapeString(p.text))
			}
		}
		b.WriteString("</text>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}
