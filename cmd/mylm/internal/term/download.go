package term

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Download shows how far a download has come: by a bar in place, or by a line for
// each tenth on a still screen. It may be used by several goroutines at once.
type Download struct {
	screen  *Screen
	title   string
	spinner *Spinner

	mu          sync.Mutex
	status      string // what happens, where it is not the download itself
	done, total int64
	began       time.Time // of the download here, which may continue another one
	before      int64     // bytes of that one
	tenth       int64     // the last one that was printed
}

// NewDownload begins to show a download, until End.
func (s *Screen) NewDownload(title string) *Download {
	d := &Download{screen: s, title: Printable(title), spinner: NewSpinner(s)}
	d.spinner.Draw(func(wheel string, _ time.Duration) []string { return []string{wheel + " " + d.text(time.Now())} })
	return d
}

// See takes how many bytes of how many have come, and what is happening.
func (d *Download) See(status string, done, total int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.status, d.done, d.total = OneLine(Printable(status), 60), done, total
	if d.began.IsZero() && total > 0 {
		d.began, d.before = time.Now(), done
	}
	if !d.screen.Still || total <= 0 {
		return
	}
	if tenth := 10 * done / total; tenth > d.tenth {
		d.tenth = tenth
		d.screen.Dim(fmt.Sprintf("%s: %d%% of %s", d.title, 10*tenth, Bytes(total)))
	}
}

// End removes the bar.
func (d *Download) End() { d.spinner.Hide() }

func (d *Download) text(now time.Time) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.total <= 0 && d.status == "":
		return d.title
	case d.total <= 0, d.done >= d.total:
		return d.title + ": " + d.status
	}
	columns, _ := d.screen.Size()
	columns -= 4 // the wheel, a space, and the last one, which stays free
	text := fmt.Sprintf("%s of %s", Bytes(max(d.done, 1)), Bytes(d.total))
	if bar := Bar(d.done, d.total) + " " + text; len(d.title)+1+len(bar) <= columns {
		text = bar
	} else {
		text = fmt.Sprintf("%d%%, ", 100*d.done/d.total) + text
	}
	if room := columns - 1 - len(text); columnsOf(d.title) > room {
		text = Shorten(d.title, max(8, room-3)) + " " + text
	} else {
		text = d.title + " " + text
	}
	if since := now.Sub(d.began); since >= time.Second && d.done > d.before {
		rate := float64(d.done-d.before) / since.Seconds()
		left := time.Duration(float64(d.total-d.done) / rate * float64(time.Second))
		if rest := fmt.Sprintf(", %s/s, %v left", Bytes(int64(rate)), left.Round(time.Second)); columnsOf(text+rest) <= columns {
			text += rest
		}
	}
	return text
}

// barWidth is how many characters a bar takes.
const barWidth = 24

// Bar is a bar that is full when done is all.
func Bar(done, all int64) string {
	full := int(barWidth * done / all)
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", barWidth-full) + "]"
}
