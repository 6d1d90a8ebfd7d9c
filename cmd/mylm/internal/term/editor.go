package term

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// editing is set while an editor has the terminal, and edited is when the last one
// ended, in nanoseconds. An interrupt is a key of the editor then, though the terminal
// sends it to mylm as well, where it may arrive just after the editor's end.
var (
	editing atomic.Bool
	edited  atomic.Int64
)

// keyOfEditor reports whether an interrupt that arrives now is an editor's.
func keyOfEditor() bool {
	return editing.Load() || time.Since(time.Unix(0, edited.Load())) < 200*time.Millisecond
}

// Edit opens a file in the user's editor and waits for its end. When ctx is
// done the editor is asked to terminate, too.
func Edit(ctx context.Context, s Streams, path string) error {
	fallback := "vi"
	if runtime.GOOS == "windows" {
		fallback = "notepad"
	}
	editor := cmp.Or(strings.TrimSpace(os.Getenv("VISUAL")), strings.TrimSpace(os.Getenv("EDITOR")), fallback)
	err := errors.New("it needs a terminal, and stdin is none")
	if editor != "vi" || IsTerminal(s.In) {
		err = attended(ctx, s, editorCommand(editor, path))
	}
	if err != nil {
		return fmt.Errorf("the editor %q: %w", Shorten(editor, 100), err)
	}
	return nil
}

// attended runs a program that has the terminal.
func attended(ctx context.Context, s Streams, cmd *exec.Cmd) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.In, s.Out, s.Err
	editing.Store(true)
	defer func() {
		edited.Store(time.Now().UnixNano())
		editing.Store(false)
	}()
	err := cmd.Start()
	if err == nil {
		stop := context.AfterFunc(ctx, func() { endEditor(cmd.Process) })
		err = cmd.Wait()
		stop()
	}
	return err
}

// Shell runs a line of the user's in the user's shell, which has the terminal. When
// ctx is done it is asked to terminate, too.
func Shell(ctx context.Context, s Streams, dir, line string) error {
	cmd := shellCommand(line)
	cmd.Dir = dir
	return attended(ctx, s, cmd)
}
