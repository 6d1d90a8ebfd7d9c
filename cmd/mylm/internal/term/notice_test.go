//go:build unix

package term_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"mylm/cmd/mylm/internal/term"
)

// TestNoticesSplitNothing has lines for stderr come while an answer streams to the
// same terminal.
func TestNoticesSplitNothing(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(s *term.Screen)
		want string
	}{
		"in mid-word": {func(s *term.Screen) {
			s.Piece("An ans")
			s.Say("notice one")
			s.Dim("notice two\nof two lines")
			s.Piece("wer.\nAnother li")
			s.Piece("ne.")
			s.Say("notice three")
			s.EndAnswer()
		}, "An answer.\nnotice one\nnotice two\nof two lines\nAnother line.\nnotice three"},
		"between lines": {func(s *term.Screen) {
			s.Piece("An answer.\n")
			s.Say("notice")
			s.Piece("More.\n")
		}, "An answer.\nnotice\nMore."},
		"an open block": {func(s *term.Screen) {
			s.Rows("", "An ans\n", true)
			s.Say("notice")
			s.Rows("", "An answer of\ntwo rows\n", true)
			s.Say("another")
			s.Rows("An answer of\ntwo rows.\n\n", "", false)
			s.Rows("The end.\n", "", false)
		}, "An answer of\ntwo rows.\n\nnotice\nanother\nThe end."},
		"in a block of final rows": {func(s *term.Screen) {
			s.Rows("line 1\n", "", true)
			s.Say("notice")
			s.Rows("line 2\n", "", true)
			s.Rows("line 3\n", "li\n", true)
			s.Rows("line 4\n", "", false)
			s.Say("last")
		}, "line 1\nline 2\nline 3\nline 4\nnotice\nlast"},
		"interrupted": {func(s *term.Screen) {
			s.Rows("", "An ans\n", true)
			s.Say("notice")
			s.EndAnswer()
			s.Say("last")
		}, "An ans\nnotice\nlast"},
		"more than the screen holds": {func(s *term.Screen) {
			s.Rows("", strings.Repeat("open\n", 8), true)
			s.Say("notice\n" + strings.Repeat("more\n", 6))
			s.Rows(strings.Repeat("line\n", 8), "", false)
		}, strings.TrimSpace("line\nline\nline\nline\nline\nline\nline\nline\nnotice\n" + strings.Repeat("more\n", 6))},
	} {
		t.Run(name, func(t *testing.T) {
			if got := shown(t, test.do); !strings.HasSuffix(got, test.want) {
				t.Errorf("shown is\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// shown is what a terminal of 10 rows shows in the end, and above them.
func shown(t *testing.T, do func(*term.Screen)) string {
	t.Helper()
	t.Setenv("TERM", "xterm")
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	if err := pty.Setsize(slave, &pty.Winsize{Rows: 10, Cols: 40}); err != nil {
		t.Fatal(err)
	}
	emu := vt.NewEmulator(40, 10)
	read := make(chan struct{})
	go func() {
		defer close(read)
		b := make([]byte, 4096)
		for {
			n, err := master.Read(b)
			_, _ = emu.Write(b[:n])
			if err != nil {
				return
			}
		}
	}()
	do(term.NewScreen(term.Streams{In: slave, Out: slave, Err: slave}))
	slave.Close()
	<-read
	var rows []string
	for i := range emu.Scrollback().Len() {
		rows = append(rows, strings.TrimRight(emu.Scrollback().Line(i).String(), " "))
	}
	for row := range strings.SplitSeq(emu.String(), "\n") {
		rows = append(rows, strings.TrimRight(row, " \r"))
	}
	return strings.TrimSpace(strings.Join(rows, "\n"))
}
