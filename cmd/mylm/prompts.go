package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/prompts"

	"github.com/urfave/cli/v2"
)

func promptsCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Subcommands: []*cli.Command{
			{
				Name: "show", Usage: "print a template, or list them", ArgsUsage: "[NAME]",
				UsageText: `mylm prompts show
mylm prompts show system`,
				Action: func(c *cli.Context) error {
					return showPrompts(s, c.Args().Get(0))
				},
			},
			{
				Name: "eject", Usage: "write a built-in template to where you can change it", ArgsUsage: "NAME",
				UsageText: `mylm prompts eject system`,
				Action: func(c *cli.Context) error {
					if c.NArg() != 1 {
						return failure.Usage("prompts eject takes one name: %s", strings.Join(prompts.Names(), ", "))
					}
					path, err := ejectPrompt(c.Args().Get(0))
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

// showPrompts prints the template of a name, or where each comes from.
func showPrompts(s *term.Screen, name string) error {
	set, err := setup.Prompts()
	if err != nil {
		return err
	}
	if name != "" {
		text, err := set.Source(name)
		if err != nil {
			return noPrompt(name, err)
		}
		_, err = io.WriteString(s.Out, text)
		return err
	}
	list := s.Columns("NAME\tFROM\tWHAT IT SAYS TO THE MODEL")
	for _, name := range prompts.Names() {
		fmt.Fprintf(list, "%s\t%s\t%s\n", name, cmp.Or(set.Path(name), "built in"), prompts.About(name))
	}
	return list.Flush()
}

func noPrompt(name string, err error) error {
	return failure.Usage("%s", term.EchoedIn(err, name)).WithHint(strings.TrimSpace(failure.Suggest(name, prompts.Names())))
}

func ejectPrompt(name string) (path string, err error) {
	text, err := prompts.Builtin(name)
	if err != nil {
		return "", noPrompt(name, err)
	}
	dir, err := config.Dir()
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "prompts", name+".tmpl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	err = config.CreateFile(path, text)
	if errors.Is(err, os.ErrExist) {
		return "", failure.Usage("%s already exists", path).WithHint("Change it, or delete it to get the built-in one back.")
	}
	return path, err
}
