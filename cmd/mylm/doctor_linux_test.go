package main

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// What only root can break, broken where only mylm doctor sees it.
func TestDoctorOfTheSystem(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ mount, want, says string }{
		"full disk":  {"mount -t tmpfs -o size=1m none $XDG_DATA_HOME", "warning data", "are left on the disk"},
		"read-only":  {"mount -t tmpfs -o ro none $XDG_DATA_HOME", "error data", "read-only file system"},
		"no looking": {"mount --bind $HOME/scope /proc/sys/kernel/yama/ptrace_scope", "warning unasked", "kernel.yama.ptrace_scope is 3"},
		"no /proc":   {"mount -t tmpfs none /proc", "error sandbox", "/proc is not mounted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t)
			p.env = []string{"MYLM_UNASKED=sandbox"}
			p.write("scope", "3\n")
			p.write("data/.keep", "")
			mylm, err := exec.LookPath("mylm")
			if err != nil {
				t.Fatal(err)
			}
			cmd := p.command("doctor", "--json")
			try := exec.Command("unshare", "-rm", "sh", "-c", test.mount)
			try.Env = cmd.Env
			if out, err := try.CombinedOutput(); err != nil {
				t.Skipf("nothing can be mounted here: %v: %s", err, out)
			}
			cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", `exec unshare -rm sh -c "$1"`, "sh", test.mount + "\nexec " + mylm + " doctor --json"}
			out, err := cmd.Output()
			if _, ended := err.(*exec.ExitError); err != nil && !ended {
				t.Fatal(err)
			}
			var found []struct{ Check, Status, Text string }
			if err := json.Unmarshal(out, &found); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for _, f := range found {
				if strings.Contains(f.Text, "Landlock") {
					t.Skip("there is no sandbox here")
				}
				if f.Status+" "+f.Check == test.want && strings.Contains(f.Text, test.says) {
					return
				}
			}
			t.Errorf("no %s with %q in %s", test.want, test.says, out)
		})
	}
}
