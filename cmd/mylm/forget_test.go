//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/creack/pty"
)

// Forgetting asks on the terminal, lists the memories, and needs a yes.
func TestForgetAsks(t *testing.T) {
	t.Parallel()
	first := command(t, nil, "memory", "add", "the staging host is called heron")
	if out, err := first.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	size := &pty.Winsize{Rows: 24, Cols: 80}
	for _, tt := range []struct {
		answer string
		code   string
		says   string
	}{
		{"\n", "4", "nothing was forgotten"},
		{"n\n", "4", "nothing was forgotten"},
		{"y\n", "0", "forgot 1 document"},
	} {
		c := converse(t, again(first, "memory", "forget", "--all"), "y\n", size)
		c.expect("Forget 1 document? They cannot be brought back.")
		c.expect("the staging host is called heron")
		c.expect("[y]es, [n]o: ")
		if tt.code == "0" { // what comes in between was not shown, and stays
			if out, err := again(first, "memory", "add", "said meanwhile").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		c.types(tt.answer)
		c.expect(tt.says)
		if code := c.exit(); code != tt.code {
			t.Errorf("%q: exit code %s, want %s", tt.answer, code, tt.code)
		}
	}
	out, err := again(first, "memory", "list", "--global", "--json").Output()
	if err != nil || strings.Contains(string(out), "heron") || !strings.Contains(string(out), "said meanwhile") {
		t.Errorf("%v: %s", err, out)
	}
}
