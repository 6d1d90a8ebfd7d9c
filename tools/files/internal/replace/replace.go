package replace

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	prefix = ".mylm-"
	suffix = ".tmp"
)

// TempName is a name beside name that nothing else has.
func TempName(name string) string {
	return filepath.Join(filepath.Dir(name), prefix+strings.ToLower(rand.Text()[:12])+suffix)
}

// Like is what the new file takes over from the old one.
type Like struct {
	Mode  *fs.FileMode // permissions; nil: the usual ones of a file that is made
	Owner fs.FileInfo  // whose owner and group it gets, as far as the system allows; nil: the process's
}

// Permissions are the bits of a mode that belong to a file and can be set.
const Permissions = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// File puts content at name within root. It is on the disk when File returns.
// On an error name is as it was, and temp is gone.
func File(root *os.Root, name, temp string, content io.Reader, like Like) (err error) {
	mode := fs.FileMode(0o666)
	if like.Mode != nil {
		mode = 0o600 // nobody sees a private text before its mode is set
	}
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			root.Remove(temp)
		}
	}()
	_, err = io.Copy(f, content)
	if err == nil && like.Owner != nil {
		own(f, like.Owner)
	}
	if err == nil && like.Mode != nil {
		err = f.Chmod(*like.Mode & Permissions) // after own, which takes setuid away
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = root.Rename(temp, name); err != nil {
		return err
	}
	return syncDir(root, filepath.Dir(name))
}

// Bytes is File for what is in memory.
func Bytes(root *os.Root, name, temp string, content []byte, like Like) error {
	return File(root, name, temp, bytes.NewReader(content), like)
}

// Remove removes the file at name, and is on the disk when it returns.
func Remove(root *os.Root, name string) error {
	if err := root.Remove(name); err != nil {
		return err
	}
	return syncDir(root, filepath.Dir(name))
}

// Sweep removes a temporary file that was left behind. A name that TempName did
// not make is ignored.
func Sweep(root *os.Root, temp string) error {
	base := filepath.Base(temp)
	if !strings.HasPrefix(base, prefix) || !strings.HasSuffix(base, suffix) {
		return fmt.Errorf("%s is no temporary file", temp)
	}
	if err := root.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
