//go:build unix

package main_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var installed = []string{
	"bin/mylm", "share/bash-completion/completions/mylm", "share/fish/vendor_completions.d/mylm.fish",
	"share/man/man1/mylm.1.gz", "share/zsh/site-functions/_mylm",
}

// fakeRelease writes the files of a release whose program is a shell script.
func fakeRelease(t *testing.T, program string) (dir, archive string) {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range map[string]string{
		"mylm": program, "README.md": "", "share/mylm.1.gz": "man", "share/mylm.bash": "bash", "share/_mylm": "zsh",
		"share/mylm.fish": "fish", "share/mylm.ps1": "ps1",
	} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	archive = filepath.Join(dir, fmt.Sprintf("mylm_1.2.3_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH))
	sums := fmt.Sprintf("%064x  mylm_1.2.3_plan9_amd64.tar.gz\n%x  %s\n", 0, sha256.Sum256(b.Bytes()), filepath.Base(archive))
	for name, text := range map[string]string{archive: b.String(), filepath.Join(dir, "checksums.txt"): sums} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, archive
}

// install runs install.sh and returns what it says and what is below its prefix.
func install(t *testing.T, path, prefix string, args ...string) (said string, files []string, err error) {
	t.Helper()
	cmd := exec.Command("sh", append([]string{"../../install.sh"}, args...)...)
	cmd.Env = []string{"PATH=" + path, "HOME=" + t.TempDir(), "MYLM_PREFIX=" + prefix, "TMPDIR=" + t.TempDir()}
	out, err := cmd.CombinedOutput()
	_ = filepath.WalkDir(prefix, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(prefix, p) // p is below prefix
			files = append(files, rel)
		}
		return nil
	})
	slices.Sort(files)
	return string(out), files, err
}

const honest = "#!/bin/sh\necho mylm 1.2.3\n"

func TestInstallScript(t *testing.T) {
	t.Parallel()
	path := os.Getenv("PATH")
	dir, _ := fakeRelease(t, honest)
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	// The tools of other systems: one without curl, one without sha256sum, one with
	// openssl alone.
	without := func(names ...string) string {
		bin := t.TempDir()
		for _, part := range filepath.SplitList(path) {
			entries, _ := os.ReadDir(part)
			for _, e := range entries {
				if !slices.Contains(names, e.Name()) {
					_ = os.Symlink(filepath.Join(part, e.Name()), filepath.Join(bin, e.Name()))
				}
			}
		}
		return bin
	}
	tests := map[string]struct {
		path, from string
		needs      string
	}{
		"directory": {path, dir, "tar"},
		"file URL":  {path, "file://" + dir + "/", "tar"},
		"curl":      {path, server.URL, "curl"},
		"wget":      {without("curl"), server.URL, "wget"},
		"shasum":    {without("sha256sum"), dir, "shasum"},
		"openssl":   {without("sha256sum", "shasum"), dir, "openssl"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(test.needs); err != nil {
				t.Skipf("%s is not installed", test.needs)
			}
			prefix := filepath.Join(t.TempDir(), "with space")
			said, files, err := install(t, test.path, prefix, "--from", test.from)
			if err != nil || !slices.Equal(files, installed) || !strings.Contains(said, "mylm 1.2.3\nis installed in "+prefix+"/bin") {
				t.Fatalf("%v\n%s%q", err, said, files)
			}
			if said, files, err := install(t, test.path, prefix, "--from", test.from); err != nil || !slices.Equal(files, installed) {
				t.Errorf("once more: %v\n%s%q", err, said, files)
			}
			if said, files, err := install(t, test.path, prefix, "--uninstall"); err != nil || len(files) != 0 {
				t.Errorf("uninstall: %v\n%s%q", err, said, files)
			}
			if said, _, err := install(t, test.path, prefix, "--uninstall"); err == nil || !strings.Contains(said, "nothing of mylm is in "+prefix) {
				t.Errorf("uninstall, where nothing is: %v\n%s", err, said)
			}
		})
	}
}

// Nothing is installed that is not what was released.
func TestInstallScriptRefuses(t *testing.T) {
	t.Parallel()
	damage := func(change func(text []byte) []byte) func(t *testing.T) string {
		return func(t *testing.T) string {
			dir, archive := fakeRelease(t, honest)
			text, err := os.ReadFile(archive)
			if err == nil {
				err = os.WriteFile(archive, change(text), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			return dir
		}
	}
	tests := map[string]struct {
		from func(t *testing.T) string
		want string
	}{
		"changed": {damage(func(b []byte) []byte { b[len(b)/2] ^= 1; return b }), "is damaged or not the one that was released"},
		"cut":     {damage(func(b []byte) []byte { return b[:len(b)/2] }), "is damaged or not the one that was released"},
		"missing": {func(t *testing.T) string {
			dir, archive := fakeRelease(t, honest)
			if err := os.Remove(archive); err != nil {
				t.Fatal(err)
			}
			return dir
		}, "cannot read"},
		"not listed": {func(t *testing.T) string {
			dir, _ := fakeRelease(t, honest)
			if err := os.WriteFile(filepath.Join(dir, "checksums.txt"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return dir
		}, "lists no archive for"},
		"does not run": {func(t *testing.T) string { dir, _ := fakeRelease(t, "#!/bin/sh\nexit 1\n"); return dir }, "does not run"},
		"no address":   {func(*testing.T) string { return "" }, "no address is set"},
		"unencrypted":  {func(*testing.T) string { return "http://example.org/mylm" }, "use https"},
		"looks local":  {func(*testing.T) string { return "http://127.0.0.1.example.org/mylm" }, "use https"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prefix := t.TempDir()
			said, files, err := install(t, os.Getenv("PATH"), prefix, "--from", test.from(t))
			if err == nil || !strings.Contains(said, test.want) || len(files) != 0 {
				t.Errorf("%v\n%s%q", err, said, files)
			}
		})
	}
}

// A script that is cut while it is piped into a shell does nothing.
func TestInstallScriptCut(t *testing.T) {
	t.Parallel()
	dir, _ := fakeRelease(t, honest)
	script, err := os.ReadFile("../../install.sh")
	if err != nil {
		t.Fatal(err)
	}
	prefix := t.TempDir()
	for n := len(script) / 10; n < len(script)-len("main \"$@\"\n"); n += len(script) / 10 {
		cmd := exec.Command("sh", "-s", "--", "--from", dir)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "MYLM_PREFIX=" + prefix}
		cmd.Stdin = bytes.NewReader(script[:n])
		out, _ := cmd.CombinedOutput() // a syntax error, or nothing at all
		if entries, err := os.ReadDir(prefix); err != nil || len(entries) != 0 {
			t.Fatalf("cut at %d: %v %v\n%s", n, err, entries, out)
		}
	}
}
