package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
)

// Agreed are the servers of the user, and those of the project that the user has
// agreed to. One of the project does not replace one of the user.
func Agreed(ctx context.Context, c *config.Config, n Notify, p *term.Prompter) (map[string]config.MCP, error) {
	named := map[string]config.MCP{}
	for name, m := range c.MCP {
		named[name] = m
	}
	var missing []string
	for _, name := range sortedNames(c.ProjectMCP) {
		m := c.ProjectMCP[name]
		if _, taken := named[name]; taken || m.Disabled {
			continue
		}
		ok, err := consented(ctx, c, m, p)
		if err != nil {
			return nil, err
		}
		if ok {
			named[name] = m
		} else {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 && n != nil {
		n.Dim(fmt.Sprintf("mylm: not used, since you have not agreed to them: MCP servers of this project (%s). mylm mcp trust %s shows and asks.", strings.Join(missing, ", "), missing[0]))
	}
	return named, nil
}

// consented reports whether the user has agreed to exactly this server, and asks if
// somebody can be asked and it was not done before.
func consented(ctx context.Context, c *config.Config, m config.MCP, p *term.Prompter) (bool, error) {
	marker, err := consentFile(c, m)
	if err != nil {
		return false, err
	}
	said, err := os.ReadFile(marker)
	switch {
	case err == nil:
		return strings.HasPrefix(string(said), "yes"), nil
	case !config.IsMissing(err):
		return false, err
	case p == nil:
		return false, nil
	}
	return Trust(ctx, c, m, p)
}

// consentFile holds the answer about a server, under the hash of all that was shown.
func consentFile(c *config.Config, m config.MCP) (string, error) {
	dir, err := config.DataDir()
	return filepath.Join(dir, "mcp", "agreed", m.Consent(c.Workspace)), err
}

// Trust shows a server of the project and asks whether it may be used. The answer is
// kept.
func Trust(ctx context.Context, c *config.Config, m config.MCP, p *term.Prompter) (bool, error) {
	said, err := p.Consent(ctx, term.Proposal{
		Head: fmt.Sprintf("\nThis project wants to use the MCP server %s:\n\n", m.Name), Text: MCPText(c, m), What: "use it",
	})
	var no term.Nobody
	if errors.As(err, &no) {
		return false, failure.Usage("the MCP server %s was not agreed to: %s", m.Name, no).WithHint("Run mylm mcp trust " + m.Name + " on a terminal.")
	}
	if err != nil {
		return false, err
	}
	answer := "yes\n"
	if said == term.AnswerNo {
		answer = "no\n"
	}
	marker, err := consentFile(c, m)
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(marker), 0o700); err != nil {
		return false, err
	}
	_ = os.Remove(marker) // an earlier answer
	if err := config.CreateFile(marker, answer); err != nil && !errors.Is(err, os.ErrExist) {
		return false, err
	}
	return said != term.AnswerNo, nil
}

// MCPText describes a server for a person to decide on.
func MCPText(c *config.Config, m config.MCP) string {
	var b strings.Builder
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, text)
		}
	}
	shown := m.Masked()
	quoted := make([]string, len(shown.Command))
	for i, word := range shown.Command {
		quoted[i] = word
		if word == "" || strings.ContainsAny(word, " \t\n\"'") {
			quoted[i] = fmt.Sprintf("%q", word)
		}
	}
	line("command", strings.Join(quoted, " "))
	line("url", shown.URL)
	line("transport", shown.Transport)
	if len(m.Command) > 0 {
		line("directory", m.Dir(c.Workspace))
	}
	for _, held := range []struct {
		name string
		of   map[string]string
	}{{"environment", shown.Env}, {"header", shown.Headers}, {"effect", shown.Effects}} {
		for _, name := range slices.Sorted(maps.Keys(held.of)) {
			line(held.name, name+" = "+held.of[name])
		}
	}
	line("gets your variables", strings.Join(m.References(), ", "))
	line("tools", strings.Join(m.Tools, ", "))
	line("scopes", strings.Join(m.Scopes, ", "))
	if server, err := Server(c, m); err == nil && server.Login != nil && server.Login.Store.Has(&server) {
		line("login", "logged in; mylm mcp logout "+m.Name+" forgets it")
	}
	line("from", cmp.Or(m.From, "your configuration"))
	if len(m.Command) > 0 {
		line("sandbox", cmp.Or(m.Sandbox, string(c.Sandbox())+", as commands"))
	}
	var may []string
	for word, ok := range map[string]bool{"roots": m.Roots, "elicitation": m.Elicitation, "sampling": m.Sampling} {
		if ok {
			may = append(may, word)
		}
	}
	slices.Sort(may)
	line("may ask for", strings.Join(may, ", "))
	return b.String()
}
