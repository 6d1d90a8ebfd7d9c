package ollama

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/ollama/ollama/api"

	"mylm/providers"
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
	var list *api.ListResponse
	err := c.call(ctx, "", func(a *api.Client) (err error) {
		list, err = a.List(ctx)
		return err
	})
	if err != nil {
		return hint
	}
	if len(list.Models) == 0 {
		return hint + "\nNo model is installed yet."
	}
	names := make([]string, 0, len(list.Models))
	for _, m := range list.Models {
		names = append(names, oneLine(m.Name))
	}
	if close := near(name, names); len(close) > 0 {
		return fmt.Sprintf("Did you mean %s? Otherwise: %s", strings.Join(close, " or "), hint)
	}
	return hint + "\nInstalled: " + strings.Join(names[:min(len(names), 5)], ", ")
}

// near returns the up to three names that look most like the wanted one.
func near(want string, names []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	base := func(s string) string {
		s, _, _ = strings.Cut(strings.ToLower(s[strings.LastIndexByte(s, '/')+1:]), ":")
		return s
	}
	var found []candidate
	w := base(want)
	for _, name := range names {
		b := base(name)
		d := distance(w, b)
		if w != "" && (strings.HasPrefix(b, w) || strings.HasPrefix(w, b)) {
			d = min(d, 1)
		}
		if d <= max(1, len(w)/3) {
			found = append(found, candidate{name, d})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var out []string
	for _, f := range found[:min(len(found), 3)] {
		out = append(out, strings.TrimSuffix(f.name, ":latest"))
	}
	return out
}

// distance counts the letters to insert, delete or replace between a and b.
func distance(a, b string) int {
	const long = 200 // no model is called so; the work is quadratic
	if len(a) > long || len(b) > long {
		return long
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
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
	e.Message = "the conversation does not fit the model's context window"
	switch {
	case e.PromptTokens > 0 && e.Window > 0:
		e.Message = fmt.Sprintf("the conversation (%d tokens) does not fit the model's context window (%d tokens)", e.PromptTokens, e.Window)
	case e.Window > 0:
		e.Message = fmt.Sprintf("the conversation does not fit the model's context window (%d tokens)", e.Window)
	}
	e.Hint = "Give it less text, or a larger window with --num-ctx, as far as the model and the memory allow."
}

// longestText is how many characters of a foreign text a message shows.
const longestText = 500

// oneLine makes a foreign text fit a message: one line, no control or other
// invisible characters, not too long.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "�")), " ")
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
	n := 0
	for i := range s {
		if n++; n > longestText {
			return s[:i] + "…"
		}
	}
	return s
}
