package main

import (
	"strings"
	"time"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/providers"

	"github.com/urfave/cli/v2"
)

func modelsCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Description: `Without flags: those of Ollama, and the entries [models.NAME] of the configuration.
"mylm ask -m" takes the names under NAME.`,
		UsageText: `mylm models --providers            # who else can be asked, and the keys they need
mylm models --provider openai      # what one of them has, where it tells`,
		Flags: append(config.Flags(config.Host),
			&cli.StringFlag{Name: "provider", Usage: "list the models of `NAME`, a provider or an entry of the configuration"},
			&cli.BoolFlag{Name: "providers", Usage: "list the providers instead"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON"},
		),
		Action: func(c *cli.Context) error {
			if c.Bool("providers") && c.IsSet("provider") {
				return failure.Usage("--providers and --provider are two questions; ask one")
			}
			loaded, err := config.Load(c.Context, config.Source{Flags: c.Command.Flags})
			if err != nil {
				return err
			}
			set, entries := loaded.Settings, loaded.Models
			l := &modelsRun{cli: c, screen: s, settings: set, entries: entries}
			name := c.String("provider")
			switch e, ok := entries[name]; {
			case c.Bool("providers"):
				return l.providers()
			case !c.IsSet("provider"):
				return l.all()
			case ok && e.Provider != config.Ollama:
				return l.ofProvider(e)
			case ok:
				return l.ofOllama(append(config.Settings{e.Layer()}, set...))
			case name == config.Ollama:
				return l.ofOllama(set)
			}
			return l.ofProvider(config.Entry{Provider: name})
		},
	}
}

// uses lists what a model can do.
func uses(m providers.ModelInfo) string {
	var can []string
	for what, does := range map[string]bool{"chat": m.Chats, "thinking": m.Thinks, "vision": m.Sees == providers.Able, "embedding": m.Embeds} {
		if does {
			can = append(can, what)
		}
	}
	return strings.Join(sorted(can), ", ")
}

func modTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateOnly)
}
