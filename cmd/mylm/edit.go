package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
)

// editConfig opens the configuration file in the user's editor and checks what
// was saved.
func editConfig(ctx context.Context, s streams) error {
	path, err := configPath()
	if err != nil {
		return err
	}
	if err := newConfigFile(path); err != nil {
		return configError(err)
	}
	if err := openEditor(ctx, s, path); err != nil {
		return configError(err).withHint("Set VISUAL or EDITOR, or open " + path + " yourself.")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return configError(err)
	}
	_, err = parseConfig(path, string(text))
	return err
}

// editing: an editor has the terminal. An interrupt is a key there like others,
// and the terminal sends it to us as well.
var editing atomic.Bool

// openEditor opens a file in the user's editor and waits for its end. When ctx is
// done the editor is told to end, too.
func openEditor(ctx context.Context, s streams, path string) error {
	fallback := "vi"
	if runtime.GOOS == "windows" {
		fallback = "notepad"
	}
	editor := cmp.Or(strings.TrimSpace(os.Getenv("VISUAL")), strings.TrimSpace(os.Getenv("EDITOR")), fallback)
	cmd := editorCommand(editor, path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.in, s.out, s.err
	editing.Store(true)
	defer editing.Store(false)
	err := cmd.Start()
	if err == nil {
		stop := context.AfterFunc(ctx, func() { endEditor(cmd.Process) })
		err = cmd.Wait()
		stop()
	}
	if err != nil {
		return fmt.Errorf("the editor %q: %w", shorten(editor, 100), err)
	}
	return nil
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}
