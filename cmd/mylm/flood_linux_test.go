package main

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"
)

// mebibyte in the unit of ru_maxrss, which is KiB (getrusage(2)).
const mebibyte = 1 << 10

// A command that prints without end costs mylm no memory, and ends at the limit of
// time or output.
func TestFlood(t *testing.T) {
	slow(t)
	const line = "a line of output, as long as many"
	const few, many = "20000000", "10000000000"
	asUsers(t, func(t *testing.T, c *cage) {
		if c.root {
			t.Skip("as an ordinary user only: it takes long")
		}
		peak := map[string]int64{}
		for _, size := range []string{few, many} {
			replies := "=== reply\n<tool_code><name>execute_command</name><parameters>" +
				`{"command":"yes '` + line + `' | head -c ` + size + `; echo the end","timeout_s":600}` +
				"</parameters></tool_code>\n=== reply\nDone.\n"
			check(t, os.WriteFile(c.ws+"/replies", []byte(replies), 0o644))
			cmd := c.command(c.mylm, "ask", "--yes", "--verbose", "--no-save", "--no-memory", "-m", "scripted/replies", "q")
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Run(); err != nil || out.String() != "Done.\n" || !strings.Contains(errs.String(), "the end") {
				t.Fatalf("%v, %q\n%.2000s", err, out.String(), errs.String())
			}
			if errs.Len() > 64<<10 {
				t.Errorf("%d bytes are shown of %s", errs.Len(), size)
			}
			peak[size] = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
			t.Logf("%s bytes: %v of processor time, %d MiB at most", size, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), peak[size]/mebibyte)
		}
		if more := peak[many] - peak[few]; more > 32*mebibyte {
			t.Errorf("%s bytes took %d MiB more than %s", many, more/mebibyte, few)
		}
	})
}
