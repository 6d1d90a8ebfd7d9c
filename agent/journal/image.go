package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mylm/agent"
)

// imageSuffix ends the name of the directory that holds the pictures of a session,
// each in a file that is named by its hash.
const imageSuffix = ".images"

// imageDir is the directory of a session's pictures, whether it is there or not.
func (s *Store) imageDir(id string) string { return filepath.Join(s.dir, id+imageSuffix) }

// keepImages writes the pictures of an entry, once each.
func (s *Store) keepImages(id string, images []agent.Image) error {
	for _, i := range images {
		if i.Data == nil {
			continue
		}
		if err := s.keepImage(s.imageDir(id), i); err != nil {
			return fmt.Errorf("session %s: a picture cannot be kept: %w", id, err)
		}
	}
	return nil
}

func (s *Store) keepImage(dir string, i agent.Image) error {
	path := filepath.Join(dir, i.SHA256)
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "new-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(i.Data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// putBack fills in the pictures of entries that were read. One that is missing or
// has changed stays without data.
func (s *Store) putBack(id string, entries []agent.Entry) {
	for _, e := range entries {
		for n, i := range e.Images() {
			if !validID(i.SHA256) {
				continue
			}
			data, err := os.ReadFile(filepath.Join(s.imageDir(id), i.SHA256))
			if sum := sha256.Sum256(data); err == nil && hex.EncodeToString(sum[:]) == i.SHA256 {
				e.Images()[n].Data = data
			}
		}
	}
}

// sweepImages deletes pictures whose session is gone, which remain when a process dies.
func (s *Store) sweepImages(before time.Time, entries []os.DirEntry) error {
	var failed error
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), imageSuffix)
		if !ok || !validID(id) {
			continue
		}
		if _, err := os.Lstat(s.Path(id)); !errors.Is(err, os.ErrNotExist) {
			continue
		}
		if info, err := e.Info(); err == nil && info.ModTime().Before(before) {
			failed = errors.Join(failed, os.RemoveAll(s.imageDir(id)))
		}
	}
	return failed
}

// cleanImages are pictures with their names handed to f.
func cleanImages(images []agent.Image, f func(string) string) []agent.Image {
	images = slices.Clone(images)
	for i := range images {
		images[i].Name = f(images[i].Name)
	}
	return images
}

// listed names pictures for a person.
func listed(images []agent.Image) (text string) {
	for _, i := range images {
		text += fmt.Sprintf("\n\n(picture: %s, %s, %d bytes, SHA-256 %s)", strings.Join(strings.Fields(i.Name), " "), i.Type, i.Size, i.SHA256)
	}
	return text
}
