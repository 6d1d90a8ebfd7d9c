package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"text/tabwriter"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"

	"github.com/google/renameio/v2/maybe"
	"github.com/urfave/cli/v2"
)

func toolsCommand(s term.Streams) *cli.Command {
	return &cli.Command{
		Name:  "tools",
		Usage: "list the tools that a model can call",
		Flags: []cli.Flag{&cli.BoolFlag{DisableDefaultText: true, Name: "json", Usage: "with their schemas, as JSON"}},
		Action: func(c *cli.Context) error {
			if err := errNoArgs(c); err != nil {
				return err
			}
			registry, err := allTools()
			if err != nil {
				return err
			}
			if c.Bool("json") {
				type tool struct {
					Name        string `json:"name"`
					Description string `json:"description"`
					Effect      string `json:"effect"`
					Parameters  any    `json:"parameters"`
				}
				out := []tool{}
				for _, t := range registry.Tools() {
					out = append(out, tool{t.Name, t.Description, t.Effect(nil).String(), t.Schema})
				}
				return term.PrintJSON(s.Out, out)
			}
			w := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tEFFECT\tWHAT IT DOES")
			for _, t := range registry.Tools() {
				fmt.Fprintf(w, "%s\t%s\t%s\n", t.Name, t.Effect(nil), t.Description)
			}
			return w.Flush()
		},
	}
}

func configCommand(s term.Streams) *cli.Command {
	return &cli.Command{
		Name:  "config",
		Usage: "show or edit the configuration file",
		Subcommands: []*cli.Command{
			{
				Name: "path", Usage: "print where the file is",
				Action: func(c *cli.Context) error {
					if err := errNoArgs(c); err != nil {
						return err
					}
					path, err := configPath()
					if err != nil {
						return err
					}
					_, err = fmt.Fprintln(s.Out, path)
					return err
				},
			},
			{
				Name: "show", Usage: "print the file, checked and without its secrets",
				Action: func(c *cli.Context) error {
					if err := errNoArgs(c); err != nil {
						return err
					}
					path, err := configPath()
					if err != nil {
						return err
					}
					text, err := term.Wait(c.Context, func() ([]byte, error) { return os.ReadFile(path) })
					if isMissing(err) {
						fmt.Fprintf(s.Err, "mylm: there is no %s yet; this is what mylm config edit starts with:\n", path)
						text, err = []byte(configTemplate), nil
					}
					if err != nil {
						return failure.Config(err)
					}
					parsed, err := parseConfig(path, string(text))
					if err != nil {
						return err
					}
					shown, err := masked(string(text), parsed)
					if err != nil {
						return failure.Config(fmt.Errorf("%s: %w", path, err))
					}
					_, err = io.WriteString(s.Out, shown)
					return err
				},
			},
			{
				Name: "edit", Usage: "open the file in $VISUAL or $EDITOR, then check it",
				Action: func(c *cli.Context) error {
					if err := errNoArgs(c); err != nil {
						return err
					}
					return editConfig(c.Context, s)
				},
			},
		},
	}
}

// newConfigFile makes a commented file where there is none.
func newConfigFile(path string) error {
	if _, err := os.Stat(path); !isMissing(err) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return maybe.WriteFile(path, []byte(configTemplate), 0o600)
}

func versionCommand(s term.Streams) *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the version",
		Action: func(c *cli.Context) error {
			if err := errNoArgs(c); err != nil {
				return err
			}
			return printVersion(s)
		},
	}
}

func printVersion(s term.Streams) error {
	_, err := fmt.Fprintf(s.Out, "mylm %s (%s %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// version is the module's version, or the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, kv := range info.Settings {
		if kv.Key == "vcs.revision" {
			return "devel " + kv.Value[:min(12, len(kv.Value))]
		}
	}
	return "devel"
}
