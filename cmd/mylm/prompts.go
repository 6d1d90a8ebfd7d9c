package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/prompts"

	"github.com/urfave/cli/v2"
)

func promptsCommand(s term.Streams) *cli.Command {
	return &cli.Command{
		Name:  "prompts",
		Usage: "show or replace the words that mylm says to models",
		Subcommands: []*cli.Command{
			{
				Name: "show", Usage: "print a template, or list them", ArgsUsage: "[NAME]",
				Action: func(c *cli.Context) error {
					if err := errMoreArgs(c, 1); err != nil {
						return err
					}
					return showPrompts(s.Out, c.Args().First())
				},
			},
			{
				Name: "eject", Usage: "write a built-in template to where you can change it", ArgsUsage: "NAME",
				Action: func(c *cli.Context) error {
					if c.NArg() != 1 {
						return failure.Usage("prompts eject takes one name: %s", strings.Join(prompts.Names(), ", "))
					}
					path, err := ejectPrompt(c.Args().First())
					if err != nil {
						return err
					}
					_, err = fmt.Fprintln(s.Out, path)
					return err
				},
			},
		},
	}
}

// showPrompts prints the template of a name, or says where each comes from.
func showPrompts(w io.Writer, name string) error {
	set, err := loadPrompts()
	if err != nil {
		return err
	}
	if name != "" {
		text, err := set.Source(name)
		if err != nil {
			return noPrompt(name, err)
		}
		_, err = io.WriteString(w, text)
		return err
	}
	var list strings.Builder
	for _, name := range prompts.Names() {
		fmt.Fprintf(&list, "%-12s %s\n", name, cmp.Or(set.Path(name), "built in"))
	}
	_, err = io.WriteString(w, list.String())
	return err
}

func noPrompt(name string, err error) error {
	return failure.Usage("%s", term.EchoedIn(err, name))
}

func loadPrompts() (*prompts.Set, error) {
	dir, err := configDir()
	if err != nil {
		return prompts.Default(), nil
	}
	dir = filepath.Join(dir, "prompts")
	if _, err := os.Stat(dir); isMissing(err) {
		return prompts.Default(), nil
	}
	set, err := prompts.Load(dir)
	if err != nil {
		return nil, failure.Config(err)
	}
	return set, nil
}

// checkPrompts finds templates of the user's that are broken or say nothing.
func checkPrompts(set *prompts.Set) error {
	if err := set.Check(); err != nil {
		return failure.Config(err)
	}
	for _, name := range prompts.Names() {
		if set.Path(name) == "" {
			continue
		}
		var text string
		var err error
		switch name {
		case prompts.SystemPrompt:
			text, err = set.System(prompts.SystemData{Tools: "x", Environment: &prompts.Environment{}})
		case prompts.Correction:
			text, err = set.Correction(prompts.CorrectionData{Reason: "x", Detail: "x", Tool: "x", Example: "{}"})
		case prompts.Memory:
			text, err = set.Remembering(prompts.MemoryData{Save: true})
		case prompts.Tree:
			text, err = set.Files(prompts.TreeData{Tree: "x"})
		default:
			text, err = set.Example(name)
		}
		if err == nil && strings.TrimSpace(text) == "" {
			err = fmt.Errorf("%s says nothing (write the prompt there, or delete it to get the built-in one back)", set.Path(name))
		}
		if err != nil {
			return failure.Config(err)
		}
	}
	return nil
}

func ejectPrompt(name string) (path string, err error) {
	text, err := prompts.Builtin(name)
	if err != nil {
		return "", noPrompt(name, err)
	}
	dir, err := configDir()
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "prompts", name+".tmpl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	err = createFile(path, text)
	if errors.Is(err, os.ErrExist) {
		return "", failure.Usage("%s is there already", path).WithHint("Change it, or delete it to get the built-in one back.")
	}
	return path, err
}

// createFile makes a file with all of text or none at all, and never replaces
// one: a link, unlike a rename, fails where there is a file.
func createFile(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".mylm-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = io.WriteString(f, text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = os.Link(f.Name(), path); err == nil || errors.Is(err, os.ErrExist) {
		return err
	}
	// A file system without links: one that appears between the two is lost.
	if _, err := os.Lstat(path); err == nil {
		return os.ErrExist
	}
	return os.Rename(f.Name(), path)
}
