package main

import (
	"errors"
	"fmt"

	"mylm/agent/acp"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/term"
)

// further takes the MCP servers of the editor, to which its user has agreed there.
// What cannot be used is told with the first answer.
func (t *editorTalk) further(servers []acp.Server) {
	t.servers.Further = map[string]config.MCP{}
	for _, s := range servers {
		m, err := editorServer(s)
		if other, taken := t.servers.Further[m.Name]; err == nil && taken {
			err = fmt.Errorf("its name here is %s, as is that of another of the editor's servers (%s)", m.Name, term.OneLine(other.Where(), 100))
		}
		if err != nil {
			t.refused = append(t.refused, fmt.Sprintf("the MCP server %s of the editor is not used: %s", term.OneLine(term.Visible(s.Name), 60), term.OneLine(term.Visible(err.Error()), 300)))
			continue
		}
		t.servers.Further[m.Name] = m
	}
}

// editorServer is a server of the editor as the settings would have it. It gets no
// variable of ours that the editor does not give.
func editorServer(s acp.Server) (config.MCP, error) {
	m := config.MCP{Name: config.MCPName(s.Name), Env: s.Env, URL: s.URL, Headers: s.Headers}
	if s.Command != "" {
		m.Command = append([]string{s.Command}, s.Args...)
	}
	if s.SSE {
		m.Transport = "sse"
	}
	if m.Name == "" {
		return m, errors.New("its name has no letter")
	}
	if names := m.References(); len(names) > 0 {
		return m, fmt.Errorf("it refers to the variable %s, whose value the editor has to give", names[0])
	}
	return m, m.Check()
}
