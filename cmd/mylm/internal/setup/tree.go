package setup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
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

// treeTime is how long it may take to look: a disk that sleeps wakes up in less.
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
	text, whole, err := files.Tree(limited, files.Options{Root: c.Workspace, MaxEntries: treeEntries, MaxBytes: treeBytes})
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
