//go:build linux

package memory_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"mylm/memory"
)

// disk mounts a small file system, if the system lets the test do so.
func disk(t *testing.T, bytes int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func remount(t *testing.T, dir string, flags uintptr, options string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|flags, options); err != nil {
		t.Fatal(err)
	}
}

func TestFullDisk(t *testing.T) {
	dir := disk(t, 1<<20)
	path := filepath.Join(dir, "memory.db")
	s := open(t, path)
	text, told := texts(3), []string{}
	var err error
	for range 5000 {
		var d []memory.Document
		if d, err = s.Add(t.Context(), memory.Document{Text: text()}); err != nil {
			break
		}
		told = append(told, d[0].ID)
	}
	if !errors.Is(err, memory.ErrFull) {
		t.Fatalf("after %d documents: %v, want ErrFull", len(told), err)
	}
	if _, err := s.Search(t.Context(), memory.Query{Text: question}); err != nil {
		t.Errorf("Search on a full disk: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close on a full disk: %v", err)
	}
	s = open(t, path)
	if got := contents(t, s); len(got) != len(told) || s.Salvaged() != nil {
		t.Errorf("%d documents are there, %v; %d were acknowledged", len(got), s.Salvaged(), len(told))
	}
	remount(t, dir, 0, "size=16m")
	if _, err := s.Add(t.Context(), memory.Document{Text: "there is space again"}); err != nil {
		t.Errorf("Add after space was made: %v", err)
	}
	healthy(t, s)
	s.Close()
}

func TestFullDiskFromTheStart(t *testing.T) {
	dir := disk(t, 32<<10)
	path := filepath.Join(dir, "memory.db")
	if s, err := memory.Open(t.Context(), path, memory.Options{}); !errors.Is(err, memory.ErrFull) {
		if err == nil {
			s.Close()
		}
		t.Fatalf("Open: %v, want ErrFull", err)
	}
	remount(t, dir, 0, "size=4m")
	s := open(t, path)
	healthy(t, s)
	s.Close()
}

// atWork fills a disk and then does what needs space. It fails for want of
// space, nothing is lost, and works when there is space again.
func atWork(t *testing.T, work func(*memory.Store) error) {
	t.Helper()
	dir := disk(t, 16<<20)
	path := filepath.Join(dir, "memory.db")
	want := sample(t, path, rounds(600, 2000))
	s := open(t, path)
	defer func() { s.Close() }()
	filler := filepath.Join(dir, "filler")
	if err := fillUp(filler); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	if err := work(s); !errors.Is(err, memory.ErrFull) {
		t.Fatalf("on a full disk: %v, want ErrFull", err)
	}
	if got := contents(t, s); len(got) != len(want) {
		t.Errorf("%d documents are there, want %d", len(got), len(want))
	}
	if _, err := s.Search(t.Context(), memory.Query{Text: question}); err != nil {
		t.Errorf("Search on a full disk: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close on a full disk: %v", err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	if got := contents(t, s); len(got) != len(want) || s.Salvaged() != nil {
		t.Errorf("after that %d documents are there, %v, want %d", len(got), s.Salvaged(), len(want))
	}
	if err := work(s); err != nil {
		t.Errorf("with space again: %v", err)
	}
	healthy(t, s)
}

// fillUp writes until there is no space.
func fillUp(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for size := 1 << 16; size > 0; size /= 2 { // to the last byte
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
	return err
}

func TestFullDiskEmbedding(t *testing.T) {
	long(t)
	atWork(t, func(s *memory.Store) error { return s.Embed(t.Context(), noise{}, nil) })
}

func TestFullDiskForgetting(t *testing.T) {
	long(t)
	atWork(t, func(s *memory.Store) error {
		n, err := s.Forget(t.Context(), memory.All)
		if want := rounds(600, 2000); err == nil && n != want {
			t.Errorf("Forget(All) = %d, want %d", n, want)
		}
		return err
	})
}

// TestFullDiskRepairing repairs a memory for which there is no space twice.
func TestFullDiskRepairing(t *testing.T) {
	long(t)
	dir := disk(t, 16<<20)
	path := filepath.Join(dir, "memory.db")
	want := sample(t, path, rounds(600, 2000))
	write(t, path, append(make([]byte, 100), read(t, path)[100:]...))
	for name, leave := range map[string]int64{"no space at all": 0, "some space": 128 << 10} {
		filler := filepath.Join(dir, "filler")
		if err := fillUp(filler); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("the disk is not full: %v", err)
		}
		if info, err := os.Stat(filler); err != nil || os.Truncate(filler, info.Size()-leave) != nil {
			t.Fatal(err)
		}
		if s, err := memory.Open(t.Context(), path, memory.Options{}); !errors.Is(err, memory.ErrFull) {
			if err == nil {
				s.Close()
			}
			t.Errorf("%s: Open: %v, want ErrFull", name, err)
		}
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, path)
	defer s.Close()
	if got := s.Salvaged(); got == nil || got.Saved != len(want) || got.Lost != 0 {
		t.Errorf("Salvaged = %+v, want %d saved", got, len(want))
	}
	healthy(t, s)
	left, err := filepath.Glob(path + "*.new*")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// TestFullDiskSearching opens a memory where there is no space for the files that
// SQLite puts beside one, after it was closed and after its program was killed.
func TestFullDiskSearching(t *testing.T) {
	for name, leave := range map[string]func(*testing.T, string){
		"closed": func(t *testing.T, path string) { sample(t, path, 10) },
		"killed": leaveLog,
	} {
		t.Run(name, func(t *testing.T) {
			dir := disk(t, 4<<20)
			path := filepath.Join(dir, "memory.db")
			leave(t, path)
			filler := filepath.Join(dir, "filler")
			if err := fillUp(filler); !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("the disk is not full: %v", err)
			}
			searchedOnly(t, path, memory.ErrFull)
			if err := os.Remove(filler); err != nil {
				t.Fatal(err)
			}
			s := open(t, path)
			defer s.Close()
			if _, err := s.Add(t.Context(), memory.Document{Text: "there is space again"}); err != nil || s.Salvaged() != nil {
				t.Errorf("with space again: %v, %v", err, s.Salvaged())
			}
			healthy(t, s)
		})
	}
}

// TestReadOnlyLog searches a memory on a read-only disk whose program was killed,
// so that a part of it is only in the log.
func TestReadOnlyLog(t *testing.T) {
	dir := disk(t, 4<<20)
	path := filepath.Join(dir, "memory.db")
	leaveLog(t, path)
	remount(t, dir, syscall.MS_RDONLY, "")
	searchedOnly(t, path, memory.ErrReadOnly)
	remount(t, dir, 0, "")
}

// leaveLog makes a memory of ten documents as a killed program leaves it: the log
// holds what came last.
func leaveLog(t *testing.T, path string) {
	t.Helper()
	elsewhere := filepath.Join(t.TempDir(), "memory.db")
	s := open(t, elsewhere)
	fill(t, s, 10)
	for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
		write(t, path+suffix, read(t, elsewhere+suffix))
	}
	s.Close()
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		t.Fatalf("there is no log: %v", err)
	}
}

func TestReadOnly(t *testing.T) {
	dir := disk(t, 4<<20)
	path := filepath.Join(dir, "memory.db")
	sample(t, path, 10)
	old := filepath.Join(dir, "old.db") // with an index that would have to be built again
	s := open(t, old)
	fill(t, s, 700)
	s.Close()
	db, err := sql.Open("sqlite", old)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"UPDATE state SET analyser = 1", "PRAGMA wal_checkpoint(TRUNCATE)"} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	db.Close()
	remount(t, dir, syscall.MS_RDONLY, "")
	searchedOnly(t, path, memory.ErrReadOnly)
	if s, err := memory.Open(t.Context(), old, memory.Options{}); err != nil {
		t.Error(err)
	} else {
		if hits := search(t, s, memory.Query{Text: question}); len(hits) == 0 {
			t.Error("nothing is found with an index of another version")
		}
		s.Close()
	}
	refused(t, filepath.Join(dir, "folder", "memory.db"))
	remount(t, dir, 0, "")
	s = open(t, path)
	defer s.Close()
	if got := contents(t, s); len(got) != 10 || s.Salvaged() != nil {
		t.Errorf("%d documents are there, %v", len(got), s.Salvaged())
	}
}

func TestReadOnlyFolder(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("to root no folder is closed; see TestReadOnly")
	}
	path := filepath.Join(t.TempDir(), "memory", "memory.db")
	sample(t, path, 10)
	if err := os.Chmod(filepath.Dir(path), 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Dir(path), 0o700)
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	searchedOnly(t, path, memory.ErrReadOnly)
}

// searchedOnly opens a memory of ten documents that cannot be written to.
func searchedOnly(t *testing.T, path string, why error) {
	t.Helper()
	s, err := memory.Open(t.Context(), path, memory.Options{})
	if err != nil {
		t.Errorf("Open of %s: %v", path, err)
		return
	}
	defer s.Close()
	all := contents(t, s)
	if len(all) != 10 {
		t.Errorf("%d documents are there, want 10", len(all))
	}
	if hits, err := s.Search(t.Context(), memory.Query{Text: question}); err != nil {
		t.Errorf("Search finds %v, %v", hits, err)
	}
	if _, err := s.Add(t.Context(), memory.Document{Text: "one more"}); !errors.Is(err, why) {
		t.Errorf("Add: %v, want %v", err, why)
	}
}

func refused(t *testing.T, path string) {
	t.Helper()
	s, err := memory.Open(t.Context(), path, memory.Options{})
	if err == nil {
		s.Close()
	}
	if !errors.Is(err, memory.ErrReadOnly) {
		t.Errorf("Open of %s: %v, want ErrReadOnly", path, err)
	}
}

func TestPermissions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "memory.db")
	s := open(t, path)
	defer s.Close()
	if _, err := s.Add(t.Context(), memory.Document{Text: "private"}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{filepath.Dir(path): 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600, path + ".lock": 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %o", name, info.Mode(), err, want)
		}
	}
	loose := filepath.Join(t.TempDir(), "memory.db")
	sample(t, loose, 1)
	if err := os.Chmod(loose, 0o644); err != nil {
		t.Fatal(err)
	}
	tight := open(t, loose)
	defer tight.Close()
	if info, err := os.Stat(loose); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a file that all may read stays %v, %v", info.Mode(), err)
	}
}

// TestEraseOnAFullDisk: everything can be forgotten where nothing can be written.
func TestEraseOnAFullDisk(t *testing.T) {
	dir := disk(t, 4<<20)
	path := filepath.Join(dir, "memory.db")
	sample(t, path, 1000)
	write(t, path+".damaged-20260101T000000Z", []byte("what was damaged once"))
	s := open(t, path)
	if err := memory.Erase(t.Context(), path, time.Millisecond); !errors.Is(err, memory.ErrBusy) {
		t.Errorf("while it is in use: %v, want ErrBusy", err)
	}
	s.Close()
	if err := fillUp(filepath.Join(dir, "filler")); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := memory.Erase(t.Context(), path, time.Second); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(path + "*")
	if err != nil || len(left) != 1 || left[0] != path+".lock" {
		t.Errorf("left are %q, %v", left, err)
	}
	s = open(t, path)
	if got := contents(t, s); len(got) != 0 || s.Salvaged() != nil {
		t.Errorf("%d documents are there, %v", len(got), s.Salvaged())
	}
	s.Close()
}
