package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"mylm/agent"
	"mylm/providers"
	"mylm/providers/ollama"
)

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
				return wrongHost(err, value(set.Host))
			}
			models, err := listModels(c.Context, newScreen(s, "auto"), client)
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
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", serverText(m.Name), bytesText(m.Size), strings.TrimPrefix(contextText(m.Trained), "context "), modTime(m.Modified), uses(m))
			}
			return w.Flush()
		},
	}
}

// uses says what a model is for.
func uses(m providers.ModelInfo) string {
	var can []string
	for what, does := range map[string]bool{"chat": m.Chats, "thinking": m.Thinks, "embedding": m.Embeds} {
		if does {
			can = append(can, what)
		}
	}
	return strings.Join(sorted(can), ", ")
}

// serverText is a name that a server gave as it may stand in a list.
func serverText(s string) string { return oneLine(printable(s), 200) }

// askPatience is how long a server may take to say what models it has. It has
// only to look, so that one that takes longer will not answer at all.
const askPatience = 30 * time.Second

// listModels asks a server for its models.
func listModels(ctx context.Context, sc *screen, client *ollama.Client) (models []providers.ModelInfo, err error) {
	err = patiently(ctx, sc, "asking "+client.Host(), func(ctx context.Context) error {
		models, err = client.Models(ctx)
		return err
	})
	return models, err
}

// patiently does something that has to be done soon, with a spinner.
func patiently(ctx context.Context, sc *screen, what string, do func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	if !sc.still {
		s := newSpinner(sc)
		s.show(what)
		defer s.hide()
	}
	err := do(limited)
	if err != nil && ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		return &failure{code: exitTimeout, name: string(agent.StopTimeout), err: fmt.Errorf("%s: no answer within %v", what, askPatience),
			hint: "Is it Ollama that listens there, and is it well? mylm models asks it again; --host names another."}
	}
	return err
}
