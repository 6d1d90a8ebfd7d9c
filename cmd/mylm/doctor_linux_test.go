package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What only root can break, broken where only mylm doctor sees it.
func TestDoctorOfTheSystem(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ mount, want, says string }{
		"full disk":        {"mount -t tmpfs -o size=1m none $XDG_DATA_HOME", "warning data", "are left on the disk"},
		"read-only":        {"mount -t tmpfs -o ro none $XDG_DATA_HOME", "error data", "read-only file system"},
		"no looking":       {"mount --bind $HOME/scope /proc/sys/kernel/yama/ptrace_scope", "warning unasked", "kernel.yama.ptrace_scope is 3"},
		"no /proc":         {"mount -t tmpfs none /proc", "error sandbox", "/proc is not mounted"},
		"cannot be marked": {"mount -t tmpfs none $HOME/x && cp -r $XDG_DATA_HOME/mylm $HOME/x && mount -o remount,ro $HOME/x && mount --bind $HOME/x $XDG_DATA_HOME", "error memory", "read-only"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t)
			p.env = []string{"MYLM_UNASKED=sandbox"}
			p.write("scope", "3\n")
			p.write("x/.keep", "")
			p.remembers()
			if name == "cannot be marked" {
				p.damages("UPDATE documents SET text = 'something else'")
			}
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

// Kernels that cannot do all that the sandbox is made of.
func TestDoctorOfOldKernels(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ status, says string }{
		"none":   {"error", "no Landlock"},
		"banned": {"error", "allow landlock_create_ruleset"},
		"off":    {"error", "lsm="},
		"gap":    {"warning", "signals to your other processes"},
	} {
		p := newPatient(t)
		p.env = []string{"MYLM_UNASKED=readers"}
		cmd := p.command("doctor", "--json")
		cmd.Args = slices.Concat([]string{"old-kernel", name, cmd.Path}, cmd.Args[1:])
		out, err := cmd.Output()
		if _, ended := err.(*exec.ExitError); err != nil && !ended {
			t.Fatal(err)
		}
		var found []struct{ Check, Status, Text string }
		if err := json.Unmarshal(out, &found); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		i := slices.IndexFunc(found, func(f struct{ Check, Status, Text string }) bool { return f.Check == "sandbox" })
		if i < 0 || found[i].Status != test.status || !strings.Contains(found[i].Text, test.says) {
			t.Errorf("%s: no %s with %q in %s", name, test.status, test.says, out)
		}
	}
}

// A copy of this program named old-kernel runs mylm as on a kernel that lacks something.
func init() {
	if os.Args[0] != "old-kernel" {
		return
	}
	const version, errata = 1, 2 // flags of landlock_create_ruleset (linux/landlock.h)
	fault := map[string]struct {
		err  unix.Errno
		flag uint32
	}{"none": {unix.ENOSYS, version}, "banned": {unix.EPERM, version}, "off": {unix.EOPNOTSUPP, version}, "gap": {unix.EINVAL, errata}}[os.Args[1]]
	const nr, flags = 0, 16 + 2*8 // in struct seccomp_data (linux/seccomp.h), the low half of an argument first
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: nr},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_LANDLOCK_CREATE_RULESET, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: flags},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: fault.flag, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(fault.err)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	}
	if err == nil {
		err = unix.Exec(os.Args[2], append([]string{"mylm"}, os.Args[3:]...), os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(2)
}
