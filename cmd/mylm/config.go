package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"

	"github.com/google/renameio/v2/maybe"
	"github.com/urfave/cli/v2"
)

func configCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Subcommands: []*cli.Command{
			{
				Name: "path", Usage: "print where the file is",
				Action: func(c *cli.Context) error {
					path, err := config.Path()
					if err != nil {
						return err
					}
					_, err = fmt.Fprintln(s.Out, path)
					return err
				},
			},
			{
				Name: "show", Usage: "list every setting, its value, and where that comes from",
				Description: "Secrets are masked. Flags of mylm ask and a profile can be given, to see what they change. A\nname with dashes is a flag that the configuration cannot hold.",
				Flags:       append(config.Flags(append(askSettings(), config.MaxIterations)...), jsonFlag()),
				Action:      func(c *cli.Context) error { return showConfig(c, s) },
			},
			{
				Name: "edit", Usage: "open the file in $VISUAL or $EDITOR, then check it",
				Action: func(c *cli.Context) error {
					return editConfig(c.Context, s)
				},
			},
		},
	}
}

// showConfig lists the settings.
func showConfig(c *cli.Context, s *term.Screen) error {
	loaded, err := config.Load(c.Context, config.Source{Flags: c.Command.Flags})
	if err == nil {
		err = loaded.ApplyProject(c.Context)
	}
	if err != nil {
		return err
	}
	all := loaded.Show()
	if c.Bool("json") {
		return term.PrintJSON(s.Out, all)
	}
	w := s.Columns("SETTING\tVALUE\tFROM")
	for _, v := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\n", v.Key, term.OneLine(term.Visible(v.Text), 100), term.Visible(v.From))
	}
	return w.Flush()
}

// newConfigFile creates a commented file if none exists.
func newConfigFile(path string) error {
	if _, err := os.Stat(path); !config.IsMissing(err) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return maybe.WriteFile(path, []byte(config.Template()), 0o600)
}

// editConfig opens the configuration file in the user's editor and checks what
// was saved.
func editConfig(ctx context.Context, s *term.Screen) error {
	path, err := config.Path()
	if err != nil {
		return err
	}
	if err := newConfigFile(path); err != nil {
		return failure.Config(err).WithHint(cmp.Or(failure.Advice(err), "MYLM_CONFIG names another file."))
	}
	if err := term.Edit(ctx, s.Streams, path); err != nil {
		return failure.Config(err).WithHint("Set VISUAL or EDITOR, or open " + path + " yourself.")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return failure.Config(err)
	}
	if err := config.Check(path, string(text)); err != nil {
		f := failure.Of(err)
		return f.WithHint(cmp.Or(f.Hint, "mylm config edit opens it again"))
	}
	loaded, err := loadServers(ctx)
	if err != nil {
		return err
	}
	return setup.CheckTools(loaded)
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}
