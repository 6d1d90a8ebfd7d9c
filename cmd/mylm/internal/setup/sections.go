package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/prompts"
	"mylm/protocol"
	"mylm/tools/files"
)

// Bounds of the tree in the system prompt: about 1,000 tokens at most, an eighth
// of a window of 8,192, the smallest in common use.
const (
	treeEntries = 200
	treeBytes   = 4 << 10
)

// treeTime bounds the reading of directories: a sleeping disk wakes up in less.
const treeTime = 10 * time.Second

// treeSection is the part of the system prompt that shows what files there are,
// none unless it is wanted. It stays as it was at the beginning of a run, so that
// the prompt keeps its beginning.
func treeSection(ctx context.Context, set *prompts.Set, c *config.Config) ([]prompts.Section, error) {
	if !config.Tree.Of(c.Settings) {
		return nil, nil
	}
	limited, cancel := context.WithTimeout(ctx, treeTime)
	defer cancel()
	text, whole, err := files.Tree(limited, files.Options{Root: c.Workspace, MaxEntries: treeEntries, MaxBytes: treeBytes, Closed: config.OwnDirs()})
	if err != nil {
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return nil, err
		}
		err = fmt.Errorf("the tree of the workspace took longer than %v", treeTime)
		return nil, (&failure.Error{Code: failure.ExitError, Name: "internal", Err: err}).WithHint("Go without it: --tree=false")
	}
	text, err = set.Files(prompts.TreeData{Tree: protocol.Neutralise(text), Cut: !whole})
	if err != nil {
		return nil, failure.Config(err)
	}
	return []prompts.Section{{Title: "FILES", Text: text}}, nil
}

// agentsFile is where projects keep notes for agents (https://agents.md). The model
// is shown maxNotes bytes of them at most, about 2,000 tokens.
const (
	agentsFile = "AGENTS.md"
	maxNotes   = 8 << 10
)

// projectSection is the part of the system prompt with the notes of the project: of
// the workspace and of the directories above it in its repository, the nearest
// first. A link out of the project is not followed.
func (s *Setup) projectSection(set *prompts.Set) ([]prompts.Section, error) {
	c := s.Config
	if !config.Notes.Or(c.Settings, true) {
		return nil, nil
	}
	at, err := filepath.Rel(c.Project, realPath(c.Workspace))
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(c.Project)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var data prompts.ProjectData
	for left := maxNotes; ; at = filepath.Dir(at) {
		for _, path := range []string{filepath.Join(at, agentsFile), filepath.Join(at, ".mylm", agentsFile)} {
			text, size, err := readNotes(root, path, left)
			switch {
			case config.IsMissing(err):
				continue
			case err != nil:
				s.Notify.Say(fmt.Sprintf("mylm: the model is not shown %s: %s", term.OneLine(path, 200), term.OneLine(err.Error(), 200)))
				continue
			case len(text) < size:
				s.Notify.Dim(fmt.Sprintf("mylm: the model is shown the first %d of the %d bytes of %s", len(text), size, term.OneLine(path, 200)))
			}
			left -= len(text)
			s.Notes = append(s.Notes, path)
			data.Files = append(data.Files, prompts.ProjectFile{Path: protocol.Neutralise(term.OneLine(path, 200)), Text: indented(protocol.Neutralise(text)), Omitted: size - len(text)})
		}
		if at == "." {
			break
		}
	}
	if data.Files == nil {
		return nil, nil
	}
	text, err := set.Project(data)
	if err != nil {
		return nil, failure.Config(err)
	}
	return []prompts.Section{{Title: "PROJECT NOTES", Text: text}}, nil
}

// indented text forges no heading.
func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}

// readNotes returns the beginning of a file, most bytes of it at most and cut at
// the end of a line, and its size. A device or a pipe is not opened.
func readNotes(root *os.Root, path string, most int) (text string, size int, err error) {
	info, err := root.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		return "", 0, err
	}
	f, err := root.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	read, err := io.ReadAll(io.LimitReader(f, int64(most)))
	text, size = string(read), int(info.Size())
	if len(text) < size {
		text = text[:strings.LastIndexByte(text, '\n')+1]
	}
	return text, size, err
}
