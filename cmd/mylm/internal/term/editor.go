package term

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
)

// editing is set while an editor has the terminal. An interrupt is a key of the
// editor then, though the terminal sends it to mylm as well.
var editing atomic.Bool

// Edit opens a file in the user's editor and waits for its end. When ctx is
// done the editor is asked to terminate, too.
func Edit(ctx context.Context, s Streams, path string) error {
	fallback := "vi"
	if runtime.GOOS == "windows" {
		fallback = "notepad"
	}
	editor := cmp.Or(strings.TrimSpace(os.Getenv("VISUAL")), strings.TrimSpace(os.Getenv("EDITOR")), fallback)
	cmd := editorCommand(editor, path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.In, s.Out, s.Err
	editing.Store(true)
	defer editing.Store(false)
	err := cmd.Start()
	if err == nil {
		stop := context.AfterFunc(ctx, func() { endEditor(cmd.Process) })
		err = cmd.Wait()
		stop()
	}
	if err != nil {
		return fmt.Errorf("the editor %q: %w", Shorten(editor, 100), err)
	}
	return nil
}
