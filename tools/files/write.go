package files

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

func (w *workspace) planWrite(root *os.Root, in writeInput) (*revision, error) {
	t, err := w.target(root, in.Path)
	if err != nil {
		return nil, err
	}
	r := &revision{target: t, new: in.Content, parents: in.CreateParents}
	if t.info == nil {
		if dir := filepath.Dir(t.name); !in.CreateParents && !isDir(root, dir) {
			return nil, fmt.Errorf("there is no directory %s; create_parents makes it", filepath.ToSlash(dir))
		}
		r.note = twin(root, t.name)
		r.said = fmt.Sprintf("wrote %s%s: a new file, %s", in.Path, r.led(), extent(in.Content))
		return r, nil
	}
	r.said = fmt.Sprintf("wrote %s%s over %s: now %s", in.Path, r.led(), count(int(t.info.Size()), "byte"), extent(in.Content))
	if t.info.Size() <= maxDiffed {
		if r.old, err = w.text(root, t); err != nil {
			return nil, err
		}
		r.known = true
		r.note = lineEnds(r.old, r.new)
	}
	return r, nil
}

func isDir(root *os.Root, name string) bool {
	info, err := root.Stat(name)
	return err == nil && info.IsDir()
}

// text reads the file of a target.
func (w *workspace) text(root *os.Root, t *target) (string, error) {
	f, size, err := w.openFile(root, t.name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxEdited+1))
	if err == nil && len(b) > maxEdited {
		err = fmt.Errorf("it has %d bytes, more than %d", size, maxEdited)
	}
	if err != nil {
		return "", fmt.Errorf("%s cannot be read: %w", t.path, err)
	}
	return string(b), nil
}

// extent is how much a text is.
func extent(text string) string {
	lines := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		lines++
	}
	return count(len(text), "byte") + ", " + count(lines, "line")
}

// lineEnds says what the model cannot see, since read_file shows every line end
// as LF.
func lineEnds(old, new string) string {
	was, is := strings.Contains(old, "\r\n"), strings.Contains(new, "\r\n")
	switch {
	case was && !is && strings.Contains(new, "\n"):
		return "the file had CRLF at the ends of its lines and has LF now"
	case is && !was && strings.Contains(old, "\n"):
		return "the file had LF at the ends of its lines and has CRLF now"
	}
	return ""
}

// twin names a file beside a new one whose name differs in upper and lower case
// only: on other systems both are one, and a slip is likely.
func twin(root *os.Root, name string) string {
	base := filepath.Base(name)
	for _, have := range namesIn(root, filepath.Dir(name)) {
		if have = strings.TrimSuffix(have, "/"); have != base && strings.EqualFold(have, base) {
			return fmt.Sprintf("%s stands beside it, a name that differs in case only", have)
		}
	}
	return ""
}
