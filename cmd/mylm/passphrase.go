package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"
)

func passphraseFlag() cli.Flag {
	return &cli.StringFlag{Name: "passphrase-file", Usage: "read the passphrase from the first line of `PATH` instead of asking for it"}
}

// passphrase reads the secret of a file from another file, or asks for it. One
// that is to be used for writing is asked for twice.
func passphrase(ctx context.Context, c *cli.Context, sc *screen, question string, writing bool) (string, error) {
	if path := c.String("passphrase-file"); path != "" {
		text, err := interruptibly(ctx, func() (string, error) { return readFile(path) })
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil {
			return "", usageError("the passphrase cannot be read: %v", err)
		}
		line, _, _ := strings.Cut(text, "\n")
		if line = strings.TrimSuffix(line, "\r"); line == "" {
			return "", usageError("the first line of %s is empty, and would protect nothing", echoed(path))
		}
		return line, nil
	}
	first, err := askSecret(ctx, sc, question)
	var no nobody
	switch {
	case errors.As(err, &no):
		return "", usageError("a passphrase is needed (%s)", no).withHint("--passphrase-file PATH reads it from a file.")
	case err != nil:
		return "", err
	case first == "":
		return "", usageError("the passphrase is empty, and would protect nothing")
	case !writing:
		return first, nil
	}
	again, err := askSecret(ctx, sc, "Once more: ")
	if err != nil {
		return "", err
	}
	if again != first {
		return "", usageError("the two are not the same; nothing was written")
	}
	return first, nil
}

// askSecret asks for a line on the terminal that is not shown.
func askSecret(ctx context.Context, sc *screen, question string) (string, error) {
	if os.Getenv("CI") != "" {
		return "", inCI
	}
	in, out, err := openTTY()
	if err != nil {
		return "", noTerminal
	}
	defer out.Close()
	before, err := term.GetState(int(in.Fd()))
	if err != nil {
		in.Close()
		return "", noTerminal
	}
	if sc.outTTY {
		sc.endAnswer()
	}
	fmt.Fprint(out, question)
	type line struct {
		text []byte
		err  error
	}
	typed := make(chan line, 1)
	go func() {
		defer in.Close()
		text, err := term.ReadPassword(int(in.Fd()))
		typed <- line{text, err}
	}()
	select {
	case l := <-typed:
		fmt.Fprintln(out)
		if l.err != nil {
			return "", noAnswer
		}
		return string(l.text), nil
	case <-ctx.Done():
		_ = term.Restore(int(out.Fd()), before) // the read ends with the process, which is about to
		fmt.Fprintln(out)
		return "", ctx.Err()
	}
}
