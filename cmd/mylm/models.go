package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"mylm/agent"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/providers"
	"mylm/providers/ollama"

	"github.com/urfave/cli/v2"
)

func modelsCommand(s term.Streams) *cli.Command {
	return &cli.Command{
		Name:  "models",
		Usage: "list the models that can be asked",
		Description: `Without flags: those of Ollama, and the entries [models.NAME] of the configuration.
What stands under NAME is what "mylm ask -m" takes.

   mylm models --providers            # who else can be asked, and the keys they need
   mylm models --provider openai      # what one of them has, where it tells`,
		Flags: []cli.Flag{
			hostFlag(),
			&cli.StringFlag{Name: "provider", Usage: "list the models of provider or entry `NAME`"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "providers", Usage: "list the providers instead"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "json", Usage: "as JSON"},
		},
		Action: func(c *cli.Context) error {
			if err := errNoArgs(c); err != nil {
				return err
			}
			if c.Bool("providers") && c.IsSet("provider") {
				return failure.Usage("--providers and --provider are two questions; ask one")
			}
			set, entries, err := gather(c)
			if err != nil {
				return err
			}
			l := &listing{cli: c, streams: s, screen: term.NewScreen(s, "auto"), settings: set, entries: entries}
			name := c.String("provider")
			switch e, ok := entries[name]; {
			case c.Bool("providers"):
				return l.providers()
			case !c.IsSet("provider"):
				return l.all()
			case ok && e.Provider != nativeProvider:
				return l.ofProvider(e)
			case ok:
				return l.ofOllama(e.settings().over(set))
			case name == nativeProvider:
				return l.ofOllama(set)
			}
			return l.ofProvider(entry{Provider: name})
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
func serverText(s string) string { return term.OneLine(term.Printable(s), 200) }

// askPatience is how long a server may take to say what models it has. It has
// only to look, so that one that takes longer will not answer at all.
const askPatience = 30 * time.Second

// listModels asks a server for its models.
func listModels(ctx context.Context, sc *term.Screen, client *ollama.Client) (models []providers.ModelInfo, err error) {
	err = patiently(ctx, sc, "asking "+client.Host(), hintOllama, askPatience, func(ctx context.Context) error {
		models, err = client.Models(ctx)
		return err
	})
	return models, err
}

const hintOllama = "Is it Ollama that listens there, and is it well? mylm models asks it again; --host names another."

// patiently does something that has to be done soon, with a spinner.
func patiently(ctx context.Context, sc *term.Screen, what, hint string, patience time.Duration, do func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if !sc.Still {
		s := term.NewSpinner(sc)
		s.Show(what)
		defer s.Hide()
	}
	err := do(limited)
	if err != nil && ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		return &failure.Error{Code: failure.ExitTimeout, Name: string(agent.StopTimeout), Err: fmt.Errorf("%s: no answer within %v", what, patience),
			Hint: hint}
	}
	return err
}
