package term

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/term"
)

// AskSecret asks for a line on the terminal that is not shown.
func AskSecret(ctx context.Context, sc *Screen, question string) (string, error) {
	if os.Getenv("CI") != "" {
		return "", inCI
	}
	in, out, err := OpenTTY()
	if err != nil {
		return "", NoTerminal
	}
	defer out.Close()
	before, err := term.GetState(int(in.Fd()))
	if err != nil {
		in.Close()
		return "", NoTerminal
	}
	if sc.OutTTY {
		sc.EndAnswer()
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
