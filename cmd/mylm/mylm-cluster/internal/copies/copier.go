package copies

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// block is what a file or a directory counts at least, in bytes: as much as most file systems
// take for it.
const block = 4 << 10

var (
	errTooLong = errors.New("more than may be copied")
	errNoRoot  = errors.New("there is nothing to copy")
)

// copier copies trees.
type copier struct {
	ctx  context.Context
	left int64 // bytes that may be copied yet
}

// tree copies a directory, with modes and times of changes. What is gone
// meanwhile, and what may not be read, is left out.
func (c *copier) tree(from, to string) error {
	root, err := os.OpenRoot(from)
	if errors.Is(err, fs.ErrNotExist) {
		return errNoRoot
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return c.dir(root, ".", to)
}

func (c *copier) dir(root *os.Root, name, to string) error {
	info, err := root.Lstat(name)
	if err != nil {
		return skipped(err)
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	d, err := root.Open(name)
	if err != nil {
		return skipped(err)
	}
	entries, err := d.ReadDir(-1)
	_ = d.Close()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := c.entry(root, filepath.Join(name, e.Name()), filepath.Join(to, e.Name()), e.Type()); err != nil {
			return err
		}
	}
	if err := os.Chmod(to, info.Mode().Perm()|0o700); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

func (c *copier) entry(root *os.Root, name, to string, kind fs.FileMode) error {
	if err := c.ctx.Err(); err != nil {
		return context.Cause(c.ctx)
	}
	if c.left -= block; c.left < 0 {
		return errTooLong
	}
	switch {
	case kind.IsDir():
		return c.dir(root, name, to)
	case kind&fs.ModeSymlink != 0:
		target, err := root.Readlink(name)
		if err != nil {
			return skipped(err)
		}
		return os.Symlink(target, to)
	case kind.IsRegular():
		return c.file(root, name, to)
	}
	return nil
}

func (c *copier) file(root *os.Root, name, to string) error {
	in, err := root.Open(name)
	if err != nil {
		return skipped(err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() { // it has become something else
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	// os.File copies within the kernel, and shares blocks where the file system can.
	n, err := io.Copy(out, io.LimitReader(in, c.left+block+1))
	if c.left -= max(0, n-block); err == nil && c.left < 0 {
		err = errTooLong
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	if err := os.Chmod(to, info.Mode().Perm()); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

func skipped(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}
