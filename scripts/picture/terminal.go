package main

import (
	"context"
	"errors"
	"fmt"
	"image/color"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// frame is what the screen shows from a moment on.
type frame struct {
	at   time.Duration
	rows []row
}

// row is a line of the screen, in pieces of one style.
type row []piece

type piece struct {
	column, width int
	text          string
	style
}

type style struct {
	fg, bg                color.Color // nil is the terminal's own
	bold, faint, reversed bool
}

// terminal is a program on an emulated terminal.
type terminal struct {
	cmd  *exec.Cmd
	tty  *os.File
	done chan struct{}

	mu            sync.Mutex // of what follows
	emu           *vt.Emulator
	columns, rows int
	began         time.Time
	frames        []frame
}

func start(cmd *exec.Cmd, columns, rows int) (*terminal, error) {
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: uint16(rows), Cols: uint16(columns)})
	if err != nil {
		return nil, err
	}
	t := &terminal{cmd: cmd, tty: tty, done: make(chan struct{}), emu: vt.NewEmulator(columns, rows), columns: columns, rows: rows, began: time.Now()}
	go func() { // what a terminal answers to questions about itself
		_, _ = io.Copy(tty, t.emu)
	}()
	go func() {
		defer close(t.done)
		for b := make([]byte, 4096); ; {
			n, err := tty.Read(b)
			t.mu.Lock()
			_, _ = t.emu.Write(b[:n])
			t.take()
			t.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return t, nil
}

func (t *terminal) close() {
	_ = t.cmd.Process.Kill()
	_ = t.cmd.Wait()
	_ = t.tty.Close()
	<-t.done
	_ = t.emu.InputPipe().(io.Closer).Close() // the emulator's own Close races with Read
}

// blink is how close two screens are that nobody can tell apart.
const blink = 40 * time.Millisecond

// take records the screen, with t.mu held.
func (t *terminal) take() {
	now, rows := time.Since(t.began), make([]row, t.rows)
	for y := range rows {
		rows[y] = t.row(y)
	}
	if n := len(t.frames); n > 0 && now-t.frames[n-1].at < blink {
		t.frames[n-1].rows = rows
		return
	}
	t.frames = append(t.frames, frame{now, rows})
}

// The bits of a cell's attributes.
const bold, faint, reversed = 1 << 0, 1 << 1, 1 << 5

func (t *terminal) row(y int) row {
	var r row
	cursor := t.emu.CursorPosition()
	for x := 0; x < t.columns; {
		c := t.emu.CellAt(x, y)
		if c == nil || c.Width == 0 {
			x++
			continue
		}
		s := style{c.Style.Fg, c.Style.Bg, c.Style.Attrs&bold != 0, c.Style.Attrs&faint != 0, c.Style.Attrs&reversed != 0}
		if cursor.X == x && cursor.Y == y && !t.emu.CursorHidden() {
			s.reversed = !s.reversed
		}
		text := c.Content
		if text == "" {
			text = " "
		}
		if n := len(r); n > 0 && r[n-1].style == s {
			r[n-1].text += text
			r[n-1].width += c.Width
		} else {
			r = append(r, piece{x, c.Width, text, s})
		}
		x += c.Width
	}
	return slices.DeleteFunc(r, func(p piece) bool { // what shows nothing
		return strings.TrimSpace(p.text) == "" && p.bg == nil && !p.reversed
	})
}

func (t *terminal) pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.done:
		return errors.New("the program has ended")
	case <-time.After(d):
		return nil
	}
}

// enter types a line as a person would, and ends it.
func (t *terminal) enter(ctx context.Context, line string) error {
	for _, r := range line + "\r" {
		if err := t.press(string(r)); err != nil {
			return err
		}
		if err := t.pause(ctx, keying); err != nil {
			return err
		}
	}
	return nil
}

func (t *terminal) press(key string) error {
	_, err := t.tty.WriteString(key)
	return err
}

// wait waits until the screen shows a text; line ends in it are blanks and a line
// end.
func (t *terminal) wait(ctx context.Context, text string) error {
	shown := func() string {
		t.mu.Lock()
		defer t.mu.Unlock()
		var b strings.Builder
		for line := range strings.Lines(t.emu.String()) {
			b.WriteString(strings.TrimRight(line, " \r\n") + "\n")
		}
		return b.String()
	}
	for deadline := time.Now().Add(time.Minute); !strings.Contains(shown(), text); {
		if time.Now().After(deadline) {
			return fmt.Errorf("%q does not appear on\n%s", text, shown())
		}
		if err := t.pause(ctx, blink); err != nil {
			return err
		}
	}
	return t.pause(ctx, 5*blink) // until it has been drawn
}

// recorded is what was on the screen, without the pauses of a slow machine.
func (t *terminal) recorded() []frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []frame
	var saved time.Duration
	for i, f := range t.frames {
		if i > 0 {
			saved += max(0, f.at-t.frames[i-1].at-reading)
		}
		f.at -= saved
		all = append(all, f)
	}
	return all
}
