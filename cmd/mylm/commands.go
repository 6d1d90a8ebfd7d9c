package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"github.com/google/renameio/v2/maybe"
	"github.com/urfave/cli/v2"

	"mylm/prompts"
	"mylm/providers/ollama"
)

func toolsCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:  "tools",
		Usage: "list the tools that a model can call",
		Flags: []cli.Flag{&cli.BoolFlag{DisableDefaultText: true, Name: "json", Usage: "with their schemas, as JSON"}},
		Action: func(c *cli.Context) error {
			if err := errNoArgs(c); err != nil {
				return err
			}
			registry, err := registryOf(nil)
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
				return printJSON(s.out, out)
			}
			w := tabwriter.NewWriter(s.out, 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tEFFECT\tWHAT IT DOES")
			for _, t := range registry.Tools() {
				fmt.Fprintf(w, "%s\t%s\t%s\n", t.Name, t.Effect(nil), t.Description)
			}
			return w.Flush()
		},
	}
}

func modelsCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:  "models",
		Usage: "list the models that can be asked",
		Flags: []cli.Flag{hostFlag(), &cli.BoolFlag{DisableDefaultText: true, Name: "json", Usage: "as JSON"}},
		Action: func(c *cli.Context) error {
			if err := errNoArgs(c); err != nil {
				return err
			}
			set, err := gather(c)
			if err != nil {
				return err
			}
			client, err := ollama.New(ollama.Options{Host: value(set.Host)})
			if err != nil {
				return configError(err)
			}
			models, err := client.Models(c.Context)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return printJSON(s.out, models)
			}
			if len(models) == 0 {
				return &failure{code: exitUnreachable, name: "model_missing", err: fmt.Errorf("no models at %s", client.Host()), hint: "Get one: ollama pull qwen3:8b"}
			}
			w := tabwriter.NewWriter(s.out, 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tSIZE\tCONTEXT\tCHANGED\tWHAT IT IS FOR")
			for _, m := range models {
				var can []string
				for what, does := range map[string]bool{"chat": m.Chats, "thinking": m.Thinks, "embedding": m.Embeds} {
					if does {
						can = append(can, what)
					}
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", m.Name, bytesText(m.Size), strings.TrimPrefix(contextText(m.Trained), "context "), modTime(m.Modified), strings.Join(sorted(can), ", "))
			}
			return w.Flush()
		},
	}
}

func loadPrompts() (*prompts.Set, error) {
	dir, err := configDir()
	if err != nil {
		return prompts.Default(), nil
	}
	set, err := prompts.Load(filepath.Join(dir, "prompts"))
	if err != nil {
		return nil, configError(err)
	}
	return set, nil
}

func promptsCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:  "prompts",
		Usage: "show or replace the words that mylm says to models",
		Subcommands: []*cli.Command{
			{
				Name: "show", Usage: "print a template, or list them", ArgsUsage: "[NAME]",
				Action: func(c *cli.Context) error {
					set, err := loadPrompts()
					if err != nil {
						return err
					}
					if name := c.Args().First(); name != "" {
						text, err := set.Source(name)
						if err != nil {
							return usageError("%v", err)
						}
						_, err = io.WriteString(s.out, text)
						return err
					}
					for _, name := range prompts.Names() {
						where := "built in"
						if path := set.Path(name); path != "" {
							where = path
						}
						fmt.Fprintf(s.out, "%-12s %s\n", name, where)
					}
					return nil
				},
			},
			{
				Name: "eject", Usage: "write a built-in template to where you can change it", ArgsUsage: "NAME",
				Action: func(c *cli.Context) error {
					if c.NArg() != 1 {
						return usageError("prompts eject takes one name: %s", strings.Join(prompts.Names(), ", "))
					}
					path, err := ejectPrompt(c.Args().First())
					if err != nil {
						return err
					}
					_, err = fmt.Fprintln(s.out, path)
					return err
				},
			},
		},
	}
}

func ejectPrompt(name string) (path string, err error) {
	text, err := prompts.Builtin(name)
	if err != nil {
		return "", usageError("%v", err)
	}
	dir, err := configDir()
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "prompts", name+".tmpl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return "", usageError("%s is there already", path).withHint("Change it, or delete it to get the built-in one back.")
	}
	if err != nil {
		return "", err
	}
	_, err = io.WriteString(f, text)
	return path, errors.Join(err, f.Close())
}

func configCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:  "config",
		Usage: "show or edit the configuration file",
		Subcommands: []*cli.Command{
			{
				Name: "path", Usage: "print where the file is",
				Action: func(*cli.Context) error {
					path, err := configPath()
					if err != nil {
						return err
					}
					_, err = fmt.Fprintln(s.out, path)
					return err
				},
			},
			{
				Name: "show", Usage: "print the file, checked",
				Action: func(*cli.Context) error {
					path, err := configPath()
					if err != nil {
						return err
					}
					text, err := os.ReadFile(path)
					if isMissing(err) {
						fmt.Fprintf(s.err, "mylm: there is no %s yet; this is what mylm config edit starts with:\n", path)
						text, err = []byte(configTemplate), nil
					}
					if err != nil {
						return configError(err)
					}
					if _, err := parseConfig(path, string(text)); err != nil {
						return err
					}
					_, err = s.out.Write(text)
					return err
				},
			},
			{
				Name: "edit", Usage: "open the file in $VISUAL or $EDITOR, then check it",
				Action: func(c *cli.Context) error { return editConfig(c.Context, s) },
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

func versionCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the version",
		Action: func(*cli.Context) error {
			_, err := fmt.Fprintf(s.out, "mylm %s (%s %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
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

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
