package main

import (
	"cmp"
	"os"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"

	"github.com/urfave/cli/v2"
)

// modelFlags choose a model and how it is run.
func modelFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "model", Aliases: []string{"m"}, Usage: "`NAME` as mylm models lists it, PROVIDER/NAME, or demo", EnvVars: []string{"MYLM_MODEL"}},
		&cli.StringFlag{Name: "profile", Usage: "use [profiles.`NAME`] of the configuration", EnvVars: []string{"MYLM_PROFILE"}},
		hostFlag(),
		&cli.Float64Flag{Name: "temperature", Usage: "0 is the most predictable", DefaultText: "the model's own", EnvVars: []string{"MYLM_TEMPERATURE"}},
		&cli.IntFlag{Name: "seed", Usage: "make sampling repeatable", DefaultText: "none", EnvVars: []string{"MYLM_SEED"}},
		&cli.IntFlag{Name: "max-tokens", Usage: "the most `TOKENS` of one reply", DefaultText: "the backend's own", EnvVars: []string{"MYLM_MAX_TOKENS"}},
		&cli.IntFlag{Name: "num-ctx", Usage: "context window in `TOKENS`, for Ollama", DefaultText: "what is loaded, or a size that fits", EnvVars: []string{"MYLM_NUM_CTX"}},
		&cli.StringFlag{Name: "keep-alive", Usage: "how `LONG` Ollama keeps the model in memory, like 10m; -1 for ever", DefaultText: "the server's own", EnvVars: []string{"MYLM_KEEP_ALIVE"}},
		&cli.StringFlag{Name: "think", Usage: "auto, on or off", DefaultText: "auto: if the model can", EnvVars: []string{"MYLM_THINK"}},
	}
}

func hostFlag() cli.Flag {
	return &cli.StringFlag{Name: "host", Usage: "`ADDRESS` of Ollama", DefaultText: "OLLAMA_HOST, or http://127.0.0.1:11434", EnvVars: []string{"MYLM_HOST"}}
}

// gather lays the settings over each other: flag, MYLM_* variable, profile, the
// entry of the model, configuration file, OLLAMA_HOST. It returns the entries
// too. The last model used stands in for one that nothing names.
func gather(c *cli.Context) (settings, map[string]entry, error) {
	file, err := term.Wait(c.Context, loadConfig)
	if err != nil {
		return settings{}, nil, err
	}
	profile, err := file.profile(c.String("profile"))
	if err != nil {
		return settings{}, nil, err
	}
	var s settings
	take(c, "model", c.String, &s.Model)
	take(c, "host", c.String, &s.Host)
	take(c, "system", c.String, &s.System)
	take(c, "max-turns", c.Int, &s.MaxTurns)
	take(c, "temperature", c.Float64, &s.Temperature)
	take(c, "seed", c.Int, &s.Seed)
	take(c, "max-tokens", c.Int, &s.MaxTokens)
	take(c, "num-ctx", c.Int, &s.NumCtx)
	take(c, "keep-alive", c.String, &s.KeepAlive)
	take(c, "think", c.String, &s.Think)
	take(c, "embedder", c.String, &s.Embedder)
	take(c, "sandbox", c.String, &s.Sandbox.Mode)
	take(c, "allow-net", c.Bool, &s.Sandbox.AllowNet)
	take(c, "tree", c.Bool, &s.Tree)
	s.runLimits = takeRunLimits(c)
	takeNot(c, "no-memory", &s.Memory)
	takeNot(c, "no-save", &s.Save)
	if s.Confirm, err = confirmFlag(c); err != nil {
		return settings{}, nil, err
	}
	if c.IsSet("tools") {
		s.Tools = splitList(c.StringSlice("tools"))
	}
	hosts := c.StringSlice("allow-host")
	if err := checkHosts("--allow-host", hosts); err != nil {
		return settings{}, nil, failure.Usage("%v", err)
	}
	if err := s.check(); err != nil {
		return settings{}, nil, failure.Usage("%v", err)
	}
	s = s.over(profile)
	model := cmp.Or(value(s.Model), value(file.Model), lastModel())
	s.Model = &model
	e, _ := entryFor(file.Models, model)
	s = s.over(e.settings()).over(file.settings)
	s.AllowHosts = append(hosts, file.Web.AllowHosts...)
	s.deny = file.Policy.Deny
	if s.Host == nil {
		host := os.Getenv("OLLAMA_HOST")
		s.Host = &host
	}
	return s, file.Models, nil
}

func take[T any](c *cli.Context, name string, get func(string) T, to **T) {
	if c.IsSet(name) {
		v := get(name)
		*to = &v
	}
}

// typed reports whether a flag with a number stands on the command line: IsSet
// takes its variable for that, too.
func typed(c *cli.Context, name string) bool {
	for _, f := range c.Command.Flags {
		if n, ok := f.(*cli.IntFlag); ok && n.Name == name {
			defer func(was bool) { n.HasBeenSet = was }(n.HasBeenSet)
			n.HasBeenSet = false
		}
	}
	return c.IsSet(name)
}

// takeNot reads a flag that turns something off.
func takeNot(c *cli.Context, name string, to **bool) {
	if c.IsSet(name) {
		on := !c.Bool(name)
		*to = &on
	}
}

// value is what p points to, or the zero value.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
