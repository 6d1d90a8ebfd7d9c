package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"mylm/tools"
)

func (w *workspace) planWrite(ctx context.Context, root *os.Root, in writeInput) (*revision, error) {
	t, err := w.target(root, in.Path)
	if err != nil {
		return nil, err
	}
	r := &revision{target: t, new: in.Content, parents: in.CreateParents}
	if t.info == nil {
		if dir := filepath.Dir(t.name); !in.CreateParents && !isDir(root, dir) {
			return nil, fmt.Errorf("there is no directory %s; create_parents makes it", filepath.ToSlash(dir))
		}
		r.note = caseVariant(root, t.name)
		r.summary = fmt.Sprintf("wrote %s%s: a new file, %s", in.Path, r.linkNote(), sizeOf(in.Content))
		return r, nil
	}
	r.summary = fmt.Sprintf("wrote %s%s over %s: now %s", in.Path, r.linkNote(), tools.Count(int(t.info.Size()), "byte"), sizeOf(in.Content))
	if t.info.Size() <= maxDiffed {
		if r.old, r.onDisk, err = w.current(ctx, root, t); err != nil {
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

// sizeOf is how much a text is.
func sizeOf(text string) string {
	lines := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		lines++
	}
	return tools.Count(len(text), "byte") + ", " + tools.Count(lines, "line")
}

// lineEnds reports what the model cannot see, since read_file shows every line end as LF.
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

// crowded is how many entries a directory has at least that is not searched for another
// spelling of a name: most of them were made by programs, which make no slips, and each new
// one would read the names of all.
const crowded = 200

// caseVariant names a file beside a new one whose name differs in upper and lower case
// only: on other systems both are one, and a slip is likely.
func caseVariant(root *os.Root, name string) string {
	dir, err := root.Open(filepath.Dir(name))
	if err != nil {
		return ""
	}
	defer dir.Close()
	base := filepath.Base(name)
	names, _ := dir.Readdirnames(crowded) // an error only means that there is no note
	if len(names) == crowded {
		return ""
	}
	for _, have := range names {
		if have != base && strings.EqualFold(have, base) {
			return fmt.Sprintf("there is also %s, a name that differs only in case", printable(have))
		}
	}
	return ""
}

// maxEdited bounds the files that are edited, which are held in memory: no text
// that somebody wrote is larger.
const maxEdited = 16 << 20

func (w *workspace) planEdit(ctx context.Context, root *os.Root, in editInput) (*revision, error) {
	switch {
	case in.Old == "":
		return nil, errors.New("old is empty; give the text to replace, or make a file with " + WriteFileName)
	case in.Old == in.New:
		return nil, errors.New("old and new are the same; nothing would change")
	}
	t, err := w.target(root, in.Path)
	if err != nil {
		return nil, err
	}
	if t.info == nil {
		return nil, missing(root, in.Path, t.name)
	}
	if t.info.Size() > maxEdited {
		return nil, fmt.Errorf("%s has %d bytes, and files of more than %d are not edited; change it with a command", in.Path, t.info.Size(), maxEdited)
	}
	text, onDisk, err := w.current(ctx, root, t)
	if err != nil {
		return nil, err
	}
	if tools.Binary(text) {
		return nil, fmt.Errorf("%s is a binary file; only text can be edited", in.Path)
	}
	old, new := in.ends(text)
	at, err := onlyPlace(in.Path, text, old)
	if err != nil {
		return nil, err
	}
	r := &revision{target: t, old: text, onDisk: onDisk, known: true, new: text[:at] + new + text[at+len(old):], exact: true}
	r.from, r.to = wholeLines(text, at, at+len(old))
	r.summary = fmt.Sprintf("edited %s%s:\n", in.Path, r.linkNote())
	return r, nil
}

// wholeLines widens a range of the text to the lines that it touches.
func wholeLines(text string, from, to int) (int, int) {
	from = strings.LastIndexByte(text[:from], '\n') + 1
	if end := strings.IndexByte(text[to:], '\n'); end >= 0 {
		return from, to + end + 1
	}
	return from, len(text)
}

// ends gives old and new the line ends of the text.
func (in editInput) ends(text string) (old, new string) {
	crlf := strings.Count(text, "\r\n")
	mixed := crlf < strings.Count(text, "\n")
	if crlf == 0 || mixed && strings.Contains(text, in.Old) {
		return in.Old, in.New
	}
	return toCRLF(in.Old), toCRLF(in.New)
}

func toCRLF(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
}

// onlyPlace finds the only place where old occurs in the text.
func onlyPlace(path, text, old string) (int, error) {
	at := strings.Index(text, old)
	if at < 0 {
		return 0, notFound(path, text, old)
	}
	lines, n := []string{}, 0
	for next := at; next >= 0; n++ {
		if n < offered {
			lines = append(lines, strconv.Itoa(1+strings.Count(text[:next], "\n")))
		}
		after := strings.Index(text[next+1:], old) // places may overlap: then which is meant is open too
		if after < 0 {
			break
		}
		next += 1 + after
	}
	if n == 0 {
		return at, nil
	}
	where := strings.Join(lines, ", ")
	if n+1 > len(lines) {
		where += ", …"
	}
	return 0, fmt.Errorf("old occurs %d times in %s (at lines %s); include more of the lines around the intended one", n+1, path, where)
}
