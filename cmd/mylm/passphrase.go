package main

import (
	"context"
	"errors"
	"strings"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"

	"github.com/urfave/cli/v2"
)

func passphraseFlag() cli.Flag {
	return &cli.StringFlag{Name: "passphrase-file", Usage: "read the passphrase from the first line of `PATH` instead of asking for it"}
}

// passphrase reads a passphrase from a file, or asks for it, twice if it is for
// writing.
func passphrase(ctx context.Context, c *cli.Context, sc *term.Screen, question string, writing bool) (string, error) {
	if path := c.String("passphrase-file"); path != "" {
		text, err := term.Wait(ctx, func() (string, error) { return readTextOf("--passphrase-file", path) })
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil {
			return "", err
		}
		line, _, _ := strings.Cut(text, "\n")
		if line = strings.TrimSuffix(line, "\r"); line == "" {
			return "", failure.Usage("the first line of %s is empty, and would protect nothing", term.Echoed(path))
		}
		return line, nil
	}
	p := &term.Prompter{Screen: sc}
	first, err := p.AskSecret(ctx, question)
	var no term.Nobody
	switch {
	case errors.As(err, &no):
		return "", failure.Usage("a passphrase is needed (%s)", no).WithHint("--passphrase-file PATH reads it from a file.")
	case err != nil:
		return "", err
	case first == "":
		return "", failure.Usage("the passphrase is empty, and would protect nothing")
	case !writing:
		return first, nil
	}
	again, err := p.AskSecret(ctx, "Once more: ")
	if err != nil {
		return "", err
	}
	if again != first {
		return "", failure.Usage("the two are not the same; nothing was written")
	}
	return first, nil
}
