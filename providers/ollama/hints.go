package ollama

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"mylm/providers"
	"mylm/providers/internal/httpfault"
)

const (
	log        = " into the server's log (on Linux: journalctl -u ollama)."
	hintLog    = "Look" + log
	hintDemo   = "Without a server, `mylm ask -m demo \"question\"` works with the built-in demo."
	hintModels = "`mylm models` lists the installed models; `ollama pull NAME` installs one."
	hintMemory = "If memory is short, take a smaller model or a smaller --num-ctx."
	hintReload = "The model's files may be damaged: `ollama pull NAME` repairs them. Otherwise look" + log
	hintAuth   = "Put the credentials into the address: OLLAMA_HOST=https://user:password@host"
)

func (c *Client) hintServe() string {
	return "Start it with `ollama serve` (install it from https://ollama.com/download),\n" +
		"or set OLLAMA_HOST if it runs elsewhere.\n" + hintDemo
}

func (c *Client) hintAddress() string {
	hint := "Check host and port in OLLAMA_HOST; Ollama's own port is " + DefaultPort + ".\n" + hintDemo
	for _, end := range []string{"/v1", "/api"} {
		if path, ok := strings.CutSuffix(c.base.Path, end); ok {
			u := *c.base
			u.Path, u.User = path, nil
			return fmt.Sprintf("Leave %s out of the address: OLLAMA_HOST=%s", end, &u)
		}
	}
	return hint
}

// hintScheme is for a server that does not speak what the address promises.
func (c *Client) hintScheme() string {
	u := *c.base
	u.User = nil
	u.Scheme = map[string]string{"http": "https", "https": "http"}[c.base.Scheme]
	return fmt.Sprintf("Try OLLAMA_HOST=%s. With a certificate of your own, add its authority to the system's.", &u)
}

// pullHint says how to get a model that is missing, or what else there is.
// If the list does not come either, the hint goes without.
func (c *Client) pullHint(ctx context.Context, name string) string {
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
		names = append(names, httpfault.OneLine(m.Name))
	}
	if close := httpfault.Near(name, names); len(close) > 0 {
		return fmt.Sprintf("Did you mean %s? Otherwise: %s", strings.Join(close, " or "), hint)
	}
	return hint + "\nInstalled: " + strings.Join(names[:min(len(names), 5)], ", ")
}

// withWindow completes an overflow error of a server that gives no numbers.
func withWindow(err error, numCtx int) error {
	var e *providers.Error
	if errors.As(err, &e) && e.Kind == providers.Overflow && e.Window == 0 {
		e.Window = numCtx
		describeOverflow(e)
	}
	return err
}

func describeOverflow(e *providers.Error) {
	httpfault.DescribeOverflow(e)
	e.Hint = "Give it less text, or a larger window with --num-ctx, as far as the model and the memory allow."
}
