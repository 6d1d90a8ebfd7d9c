package main

import (
	"fmt"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools"

	"github.com/urfave/cli/v2"
)

func toolsCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Flags: []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print JSON, with their schemas"}},
		Action: func(c *cli.Context) error {
			loaded, err := loadServers(c.Context)
			if err != nil {
				return err
			}
			registry, err := setup.AllTools(loaded.Workspace, nil, setup.InspectHub(loaded))
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
			w := s.Columns("NAME\tEFFECT\tWHAT IT DOES")
			for _, t := range registry.Tools() {
				fmt.Fprintf(w, "%s\t%s\t%s\n", t.Name, t.Effect(nil), term.Flat(t.Description))
			}
			return w.Flush()
		},
	}
}

// inspectTools are the tools of mylm ask, to be described.
func inspectTools() (*tools.Registry, error) {
	dir, _, err := config.Where(nil)
	if err != nil {
		return nil, err
	}
	return setup.AllTools(dir, nil, nil)
}
