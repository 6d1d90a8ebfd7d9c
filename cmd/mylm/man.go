package main

import (
	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/term"

	"github.com/urfave/cli/v2"
)

// manName is the command that prints the manual page, for packages:
//
//	mylm __man > mylm.1
const manName = "__man"

func manCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: manName,
		Action: func(*cli.Context) error {
			names := []string{"mylm"}
			for _, row := range commands {
				names = append(names, row.name)
			}
			app := newApp(s, names) // with the flags of all commands
			app.HelpName = app.Name
			return cmdline.Man(app, version(), s)
		},
	}
}
