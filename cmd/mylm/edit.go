package main

import (
	"cmp"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
)

// editConfig opens the configuration file in the user's editor and checks what
// was saved.
func editConfig(s streams) error {
	path, err := configPath()
	if err != nil {
		return err
	}
	if err := newConfigFile(path); err != nil {
		return configError(err)
	}
	if err := openEditor(s, path); err != nil {
		return configError(err).withHint("Set VISUAL or EDITOR, or open " + path + " yourself.")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return configError(err)
	}
	_, err = parseConfig(path, string(text))
	return err
}

// openEditor opens a file in the user's editor and waits for its end.
func openEditor(s streams, path string) error {
	fallback := "vi"
	if runtime.GOOS == "windows" {
		fallback = "notepad"
	}
	editor := cmp.Or(strings.TrimSpace(os.Getenv("VISUAL")), strings.TrimSpace(os.Getenv("EDITOR")), fallback)
	cmd := editorCommand(editor, path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.in, s.out, s.err
	err := cmd.Start()
	if err == nil {
		// In an editor an interrupt is a key like others, and the terminal sends
		// it to us as well. Ignored from here on, for a program inherits at its
		// start what is ignored.
		signal.Ignore(os.Interrupt)
		err = cmd.Wait()
		signal.Reset(os.Interrupt)
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
