package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"mylm/cmd/mylm/internal/markdown"
	"mylm/tools"
	"mylm/tools/files/undo"

	"github.com/aymanbagabas/go-udiff"
)

// diff shows what is different from before the run: coloured on a terminal, and
// elsewhere as patch and git read it.
func (u *undoRun) diff(ctx context.Context) error {
	r, err := u.pick()
	if err != nil {
		return err
	}
	changes, err := u.store.Changes(ctx, r)
	if err != nil {
		return u.explain(r, err)
	}
	if len(changes) == 0 {
		u.screen.Say("mylm: the files are as they were before run " + r.ID)
		return nil
	}
	var text strings.Builder
	slices.SortStableFunc(changes, func(a, b undo.Changed) int { return gitOrder(a) - gitOrder(b) })
	for _, c := range changes {
		text.WriteString(unified(c))
	}
	if !u.screen.Draws() {
		u.screen.Answer(text.String())
		return nil
	}
	columns, _ := u.screen.Size()
	fence := "~~~"
	for strings.Contains(text.String(), fence) {
		fence += "~"
	}
	u.screen.Rows(markdown.Render(fence+"diff\n"+text.String()+fence, markdown.Options{
		Width: columns - 1, Color: u.screen.AnswerColor, Background: markdown.BackgroundOf(os.Getenv("COLORFGBG")),
	}), "", false)
	return nil
}

// gitOrder is the order in which git apply takes no change for a part of another.
func gitOrder(c undo.Changed) int {
	switch {
	case binary(c):
		return 0
	case len(c.Before) == 0 && len(c.After) == 0:
		return 2
	}
	return 1
}

func binary(c undo.Changed) bool {
	return tools.Binary(string(c.Before)) || tools.Binary(string(c.After))
}

// unified is the change of a file as a unified diff.
func unified(c undo.Changed) string {
	from, to := "a/"+c.Name, "b/"+c.Name
	if c.Before == nil {
		from = "/dev/null"
	}
	if c.After == nil {
		to = "/dev/null"
	}
	before, after := string(c.Before), string(c.After)
	switch {
	case binary(c):
		return fmt.Sprintf("Binary files %s and %s differ\n", from, to)
	case before == "" && after == "": // an empty file was made or removed
		kind := "new"
		if c.After == nil {
			kind = "deleted"
		}
		return fmt.Sprintf("diff --git a/%s b/%[1]s\n%s file mode 100644\n", c.Name, kind)
	}
	return udiff.Unified(from, to, before, after)
}
