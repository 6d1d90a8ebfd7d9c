package ollama

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"mylm/providers"
	"mylm/providers/internal/wire"
)

// describe fills in what errors report about the server.
func (c *Client) describe() {
	c.server = wire.Server{
		Name: "ollama", Title: "Ollama", IsNot: "Ollama", Base: c.Host(),
		Local: true, Given: true, Lists: true, Objects: true,
		Start:   "Start it with `ollama serve` (install it from https://ollama.com/download).",
		Address: "Check host and port of the address; Ollama's own port is " + DefaultPort + ".",
		Log:     "Look into the server's log (on Linux: journalctl -u ollama).",
		Key:     func(int) string { return "Put the credentials into the address: https://user:password@host" },
	}
	for _, end := range []string{"/v1", "/api"} {
		if address, ok := strings.CutSuffix(c.server.Base, end); ok {
			c.server.Address = fmt.Sprintf("Leave %s out of the address: %s", end, address)
		}
	}
}

// call looks something up with Ollama's client. model is the one that it is
// about, if any. If the connection breaks off, the request is made again, up to
// twice.
func call[T any](ctx context.Context, c *Client, model string, f func(context.Context) (T, error)) (v T, err error) {
	for range 3 {
		err = c.exchange(ctx, model, &wire.Exchange{Server: &c.server, Limit: wire.LongestBody},
			func(ctx context.Context) (err error) {
				v, err = f(ctx)
				return err
			})
		if providers.KindOf(err) != providers.Interrupted {
			break
		}
	}
	return v, err
}

func (c *Client) exchange(ctx context.Context, model string, x *wire.Exchange, f func(context.Context) error) error {
	err := f(x.Bind(ctx))
	if errors.Is(err, wire.ErrRead) {
		err = nil
	}
	fault := x.Failure(err)
	switch {
	case fault == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case !x.Sent():
		return &providers.Error{Kind: providers.Auth, Err: err, Backend: c.server.Name,
			Message: fmt.Sprintf("the request to %s cannot be signed: %s", c.Host(), wire.OneLine(err.Error())),
			Hint:    "Sign in with `ollama signin`, or unset OLLAMA_AUTH.", Addresses: []string{c.Host()}}
	}
	if fault.Kind == providers.ModelMissing && model != "" {
		if strings.Contains(fault.Message, "not found") { // the server says m:latest of m
			fault.Message = fmt.Sprintf("Ollama: model %q not found", wire.OneLine(model))
		}
		fault.Hint = c.installHint(ctx, model)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return fault
}

// installHint explains how to get a missing model, or which others exist. If
// the list cannot be fetched, the hint does not mention it.
func (c *Client) installHint(ctx context.Context, name string) string {
	hint := fmt.Sprintf("Install it with `ollama pull %s`.", name)
	list, err := c.list(ctx)
	if err != nil {
		return hint
	}
	if len(list) == 0 {
		return hint + "\nNo model is installed yet."
	}
	names := make([]string, 0, len(list))
	for _, m := range list {
		names = append(names, wire.OneLine(m.Name))
	}
	if question := wire.DidYouMean(name, names); question != "" {
		return question + " Otherwise: " + hint
	}
	return hint + "\nInstalled: " + strings.Join(names[:min(len(names), 5)], ", ")
}
