package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
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
	fallback := "vi"
	if runtime.GOOS == "windows" {
		fallback = "notepad"
	}
	// An editor is often set with arguments: "code --wait".
	editor := strings.Fields(cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), fallback))
	cmd := exec.CommandContext(ctx, editor[0], append(editor[1:], path)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.in, s.out, s.err
	if err := cmd.Run(); err != nil {
		return configError(fmt.Errorf("the editor %q: %w", strings.Join(editor, " "), err)).withHint("Set VISUAL or EDITOR, or open " + path + " yourself.")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return configError(err)
	}
	_, err = parseConfig(path, string(text))
	return err
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}
