package main_test

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// release is what scripts/release has made: the files by the end of their names,
// such as "linux_amd64.tar.gz".
type release struct {
	dir   string
	names []string
}

func madeRelease(t *testing.T) release {
	t.Helper()
	dir := os.Getenv("MYLM_RELEASE")
	if dir == "" {
		t.Skip("scripts/release --snapshot takes minutes: MYLM_RELEASE=dist tests what it has made")
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join("../..", dir)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := release{dir: dir}
	for _, e := range entries {
		if !e.IsDir() {
			r.names = append(r.names, e.Name())
		}
	}
	return r
}

func (r release) file(t *testing.T, end string) string {
	t.Helper()
	i := slices.IndexFunc(r.names, func(name string) bool { return strings.HasSuffix(name, end) })
	if i < 0 {
		t.Fatalf("%s has no *%s: %q", r.dir, end, r.names)
	}
	return filepath.Join(r.dir, r.names[i])
}

// unpack unpacks an archive and returns the names in it.
func unpack(t *testing.T, archive, dir string) (names []string) {
	t.Helper()
	write := func(name string, mode os.FileMode, r io.Reader) {
		p := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(p), 0o700)
		if err == nil {
			var f *os.File
			if f, err = os.OpenFile(p, os.O_CREATE|os.O_WRONLY, mode); err == nil {
				_, err = io.Copy(f, r)
				err = errors.Join(err, f.Close())
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if strings.HasSuffix(archive, ".zip") {
		z, err := zip.OpenReader(archive)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			write(f.Name, f.Mode(), r)
		}
		return names
	}
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		write(h.Name, h.FileInfo().Mode(), r)
	}
}

// answers runs a program with nothing in its HOME: it says its version, answers as
// the demo, and keeps a session.
func answers(t *testing.T, program ...string) {
	t.Helper()
	home, work := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "notes.txt"), []byte("Buy milk.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		want string
		args []string
	}{
		{"(commit ", []string{"version"}},
		{"There is 1 entry here: notes.txt.", []string{"ask", "-m", "demo", "what files are here?"}},
		{"what files are here?", []string{"sessions", "list"}},
		{"", []string{"memory", "add", "the staging host is called heron"}},
		{"the staging host is called heron", []string{"memory", "search", "heron"}},
	} {
		cmd := exec.Command(program[0], append(program[1:], test.args...)...)
		cmd.Dir = work
		cmd.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin", "CI=1"}
		for _, name := range []string{"WINEPREFIX", "WINEDEBUG"} {
			if v := os.Getenv(name); v != "" {
				cmd.Env = append(cmd.Env, name+"="+v)
			}
		}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), test.want) {
			t.Errorf("%s %q: %v\n%s", program, test.args, err, out)
		}
	}
}

// TestRelease holds for what scripts/release --snapshot makes.
func TestRelease(t *testing.T) {
	r := madeRelease(t)
	var platforms []string
	for _, system := range []string{"linux", "darwin", "windows"} {
		for _, arch := range []string{"amd64", "arm64"} {
			platforms = append(platforms, system+"_"+arch)
		}
	}

	t.Run("checksums", func(t *testing.T) {
		text, err := os.ReadFile(r.file(t, "checksums.txt"))
		if err != nil {
			t.Fatal(err)
		}
		listed := 0
		for line := range strings.Lines(string(text)) {
			sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
			content, err := os.ReadFile(filepath.Join(r.dir, name))
			if got := fmt.Sprintf("%x", sha256.Sum256(content)); err != nil || got != sum {
				t.Errorf("%s has %s, not %s (%v)", name, got, sum, err)
			}
			listed++
		}
		if listed != 6+6+2+2 { // archives, SBOMs, .deb, .rpm
			t.Errorf("%d files are listed:\n%s", listed, text)
		}
	})

	for _, platform := range platforms {
		t.Run(platform, func(t *testing.T) {
			end, program := ".tar.gz", "mylm"
			if strings.HasPrefix(platform, "windows") {
				end, program = ".zip", "mylm.exe"
			}
			dir := t.TempDir()
			names := unpack(t, r.file(t, platform+end), dir)
			slices.Sort(names)
			want := []string{"CHANGELOG.md", "LICENSE", "README.md", program, "share/_mylm", "share/mylm.1.gz", "share/mylm.bash", "share/mylm.fish", "share/mylm.ps1"}
			if slices.Sort(want); !slices.Equal(names, want) {
				t.Errorf("the archive holds %q", names)
			}
			info, err := buildinfo.ReadFile(filepath.Join(dir, program))
			if err != nil {
				t.Fatal(err)
			}
			settings := map[string]string{}
			for _, s := range info.Settings {
				settings[s.Key] = s.Value
			}
			if got := settings["GOOS"] + "_" + settings["GOARCH"]; got != platform || settings["CGO_ENABLED"] != "0" || settings["-trimpath"] != "true" {
				t.Errorf("the program is built with %v", settings)
			}
			if platform == runtime.GOOS+"_"+runtime.GOARCH {
				answers(t, filepath.Join(dir, program))
			} else if qemu, err := exec.LookPath("qemu-aarch64-static"); err == nil && platform == "linux_arm64" {
				answers(t, qemu, filepath.Join(dir, program))
			}
			var bom struct {
				BomFormat string
				Metadata  struct {
					Component struct{ Name, Version string }
				}
				Components []struct{ Name, Version string }
			}
			text, err := os.ReadFile(r.file(t, platform+".cdx.json"))
			if err == nil {
				err = json.Unmarshal(text, &bom)
			}
			if err != nil || bom.BomFormat != "CycloneDX" || bom.Metadata.Component.Name != "mylm" {
				t.Errorf("SBOM: %v %q %v", err, bom.BomFormat, bom.Metadata)
			}
			inBOM := map[string]string{}
			for _, c := range bom.Components {
				inBOM[c.Name] = c.Version
			}
			for _, dep := range info.Deps {
				if dep.Replace != nil { // by a directory of mylm itself
					continue
				}
				if inBOM[dep.Path] != dep.Version {
					t.Errorf("the SBOM has %s %q, the program %q", dep.Path, inBOM[dep.Path], dep.Version)
				}
			}
		})
	}

	t.Run("install.sh", func(t *testing.T) {
		prefix := t.TempDir()
		said, files, err := install(t, os.Getenv("PATH"), prefix, "--from", r.dir)
		if err != nil || !slices.Equal(files, installed) {
			t.Fatalf("%v\n%s%q", err, said, files)
		}
		answers(t, filepath.Join(prefix, "bin/mylm"))
		script, err := os.ReadFile(r.file(t, "install.sh"))
		if err != nil || strings.Contains(string(script), "\npublished=\n") {
			t.Errorf("the released install.sh has no address (%v)", err)
		}
	})

	t.Run("deb", func(t *testing.T) {
		root, deb := t.TempDir(), r.file(t, "_"+runtime.GOARCH+".deb")
		dpkg := func(args ...string) {
			t.Helper()
			if out, err := exec.Command("dpkg", append([]string{"--root=" + root, "--force-not-root", "--log=/dev/null"}, args...)...).CombinedOutput(); err != nil {
				t.Fatalf("dpkg %q: %v\n%s", args, err, out)
			}
		}
		for _, dir := range []string{"info", "updates", "triggers"} {
			if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		dpkg("--install", deb)
		dpkg("--verify", "mylm")
		program := filepath.Join(root, "usr/bin/mylm")
		answers(t, program)
		for _, name := range []string{"man/man1/mylm.1.gz", "bash-completion/completions/mylm", "zsh/vendor-completions/_mylm", "fish/vendor_completions.d/mylm.fish", "doc/mylm/copyright"} {
			if _, err := os.Stat(filepath.Join(root, "usr/share", name)); err != nil {
				t.Error(err)
			}
		}
		dpkg("--purge", "mylm")
		for _, dir := range []string{"usr/bin", "usr/share"} {
			if _, err := os.Stat(filepath.Join(root, dir)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is left behind (%v)", dir, err)
			}
		}
	})

	t.Run("rpm", func(t *testing.T) {
		if _, err := exec.LookPath("rpm"); err != nil {
			t.Skip("rpm is not installed")
		}
		arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
		root, file := t.TempDir(), r.file(t, arch+".rpm")
		rpm := func(args ...string) {
			t.Helper()
			if out, err := exec.Command("rpm", append([]string{"--root=" + root, "--dbpath=/db"}, args...)...).CombinedOutput(); err != nil {
				t.Fatalf("rpm %q: %v\n%s", args, err, out)
			}
		}
		rpm("--install", "--ignorearch", "--nosignature", "--nodeps", file)
		answers(t, filepath.Join(root, "usr/bin/mylm"))
		rpm("--verify", "--nodeps", "mylm")
		rpm("--erase", "mylm")
		if _, err := os.Stat(filepath.Join(root, "usr/bin/mylm")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the program is left behind (%v)", err)
		}
	})

	t.Run("formula and manifest", func(t *testing.T) {
		formula, err := os.ReadFile(filepath.Join(r.dir, "homebrew/mylm.rb"))
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := os.ReadFile(filepath.Join(r.dir, "scoop/mylm.json"))
		if err != nil || !json.Valid(manifest) {
			t.Fatalf("%v\n%s", err, manifest)
		}
		for _, platform := range platforms {
			in, end := formula, ".tar.gz"
			if strings.HasPrefix(platform, "windows") {
				in, end = manifest, ".zip"
			}
			archive := r.file(t, platform+end)
			content, err := os.ReadFile(archive)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range []string{"/" + filepath.Base(archive) + `"`, fmt.Sprintf("%x", sha256.Sum256(content))} {
				if strings.Count(string(in), part) != 1 {
					t.Errorf("%s: %s is not there once", platform, part)
				}
			}
		}
	})
}

// Debian's Wine lacks a library that programs of Go draw random numbers from;
// everything else of Windows is Wine's.
const random = `#include <windows.h>
#include <ntsecapi.h>
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE p, SIZE_T n) { return RtlGenRandom(p, (ULONG)n); }
`

func TestReleaseInWine(t *testing.T) {
	r := madeRelease(t)
	const compiler = "x86_64-w64-mingw32-gcc"
	for _, name := range []string{"wine", compiler} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("Wine runs programs of this processor only")
	}
	dir, prefix := t.TempDir(), t.TempDir()
	t.Setenv("WINEPREFIX", prefix)
	t.Setenv("WINEDEBUG", "-all")
	unpack(t, r.file(t, "windows_amd64.zip"), dir)
	t.Cleanup(func() { _ = exec.Command("wineserver", "--kill", "--wait").Run() })
	run := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
	}
	run("wine", "wineboot", "--init")
	source := filepath.Join(dir, "random.c")
	if err := os.WriteFile(source, []byte(random), 0o600); err != nil {
		t.Fatal(err)
	}
	run(compiler, "-shared", "-o", filepath.Join(prefix, "drive_c/windows/system32/bcryptprimitives.dll"), source, "-ladvapi32")
	answers(t, "wine", filepath.Join(dir, "mylm.exe"))
}
