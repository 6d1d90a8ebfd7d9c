package main

import (
	"context"
	"os"
	"slices"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
)

// editConfig opens the configuration file in the user's editor and checks what
// was saved.
func editConfig(ctx context.Context, s term.Streams) error {
	path, err := configPath()
	if err != nil {
		return err
	}
	if err := newConfigFile(path); err != nil {
		return failure.Config(err)
	}
	if err := term.Edit(ctx, s, path); err != nil {
		return failure.Config(err).WithHint("Set VISUAL or EDITOR, or open " + path + " yourself.")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return failure.Config(err)
	}
	_, err = parseConfig(path, string(text))
	return err
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}
