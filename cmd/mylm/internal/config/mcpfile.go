package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mylm/cmd/mylm/internal/failure"
)

// MCPFile is the name of a project's list of MCP servers, in the form of other clients.
const MCPFile = ".mcp.json"

// ReadMCP reads mcpServers from JSON as other clients keep it. Fields that mean
// nothing here are ignored.
func ReadMCP(text []byte) (map[string]MCP, error) {
	type entry struct {
		Type, Command, URL, Cwd string
		ServerURL               string `json:"serverUrl"`
		HTTPURL                 string `json:"httpUrl"`
		Args                    []string
		Env, Headers            map[string]string
		Disabled                bool
	}
	var in struct {
		MCPServers map[string]entry `json:"mcpServers"`
		Servers    map[string]entry `json:"servers"`
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, errors.New("it cannot be read as JSON with mcpServers: " + err.Error())
	}
	found := cmp.Or(len(in.MCPServers), len(in.Servers))
	if found == 0 {
		return nil, errors.New("it holds no mcpServers")
	}
	all := map[string]MCP{}
	for name, e := range mergeMaps(in.Servers, in.MCPServers) {
		m := MCP{Name: MCPName(name), Env: e.Env, Headers: e.Headers, Cwd: e.Cwd, Disabled: e.Disabled, URL: cmp.Or(e.URL, e.HTTPURL, e.ServerURL)}
		if e.Command != "" {
			m.Command = append([]string{e.Command}, e.Args...)
		}
		if e.Type == "sse" {
			m.Transport = "sse"
		}
		if _, twice := all[m.Name]; twice {
			return nil, fmt.Errorf("two of its servers would be called %s", m.Name)
		}
		all[m.Name] = m
	}
	return all, nil
}

func mergeMaps[V any](a, b map[string]V) map[string]V {
	out := map[string]V{}
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

// MCPName is a name as servers here have them, made of one of another client.
func MCPName(name string) string {
	name = regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(name), "-")
	name = strings.Trim(strings.TrimLeft(strings.Trim(name, "-"), "0123456789"), "-")
	if len(name) > 24 {
		name = strings.TrimRight(name[:24], "-")
	}
	return name
}

// projectMCP are the servers that the project names, whatever the user thinks of them.
func (c *Config) projectMCP() (map[string]MCP, error) {
	all := map[string]MCP{}
	file := filepath.Join(c.Project, MCPFile)
	text, err := readBounded(file)
	switch {
	case IsMissing(err):
	case err != nil:
		return nil, badProjectMCP(file, err)
	default:
		found, err := ReadMCP(text)
		if err != nil {
			return nil, badProjectMCP(file, err)
		}
		for name, m := range found {
			m.From = MCPFile
			all[name] = m
		}
	}
	for name, m := range c.askedMCP {
		m.From = ProjectFile
		all[name] = m
	}
	for _, m := range all {
		if err := m.Check(); err != nil {
			return nil, badProjectMCP(m.Where(), err)
		}
	}
	return all, nil
}

func badProjectMCP(where string, err error) error {
	return failure.Config(fmt.Errorf("%s: %w", where, err)).WithHint("Fix the file or delete it: it is the project's.")
}

// text is the table of a server as TOML.
func (m MCP) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[mcp.%s]\n", m.Name)
	line := func(key string, v any) { fmt.Fprintf(&b, "%s = %s\n", key, tomlText(v)) }
	if len(m.Command) > 0 {
		line("command", m.Command)
	}
	for _, f := range []struct{ key, v string }{{"url", m.URL}, {"transport", m.Transport}, {"cwd", m.Cwd}, {"key_env", m.KeyEnv}, {"timeout", m.Timeout}, {"start_timeout", m.Start}, {"sandbox", m.Sandbox}} {
		if f.v != "" {
			line(f.key, f.v)
		}
	}
	for _, f := range []struct {
		key string
		v   map[string]string
	}{{"env", m.Env}, {"headers", m.Headers}, {"effects", m.Effects}} {
		if len(f.v) > 0 {
			line(f.key, f.v)
		}
	}
	for _, f := range []struct {
		key string
		v   []string
	}{{"tools", m.Tools}, {"reads", m.Reads}, {"writes", m.Writes}} {
		if len(f.v) > 0 {
			line(f.key, f.v)
		}
	}
	if m.Disabled {
		line("disabled", true)
	}
	return b.String()
}

// tomlText is a value as TOML. JSON's strings are TOML's.
func tomlText(v any) string {
	switch v := v.(type) {
	case []string:
		parts := make([]string, len(v))
		for i, s := range v {
			parts[i] = tomlText(s)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]string:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, tomlText(name)+" = "+tomlText(v[name]))
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // strings and booleans are always written
	return strings.TrimSuffix(b.String(), "\n")
}

// AddMCP writes a server to the user's configuration file, in place of one of the
// same name if replace is true. The rest of the file stays as it is.
func AddMCP(m MCP, replace bool) error {
	return editMCP(m.Name, func(text string, known bool) (string, error) {
		switch {
		case known && !replace:
			return "", failure.Usage("there is an MCP server %q already", m.Name).WithHint("mylm mcp remove " + m.Name + " removes it")
		case known:
			text = withoutMCP(text, m.Name)
		}
		if text = strings.TrimRight(text, "\n"); text != "" {
			text += "\n\n"
		}
		return text + m.text(), nil
	})
}

// RemoveMCP removes a server from the user's configuration file.
func RemoveMCP(name string) error {
	return editMCP(name, func(text string, known bool) (string, error) {
		if !known {
			return "", failure.Usage("there is no MCP server %q in the configuration", name)
		}
		return withoutMCP(text, name), nil
	})
}

// editMCP changes the text of the file, if the change makes sense to who reads it.
func editMCP(name string, change func(text string, known bool) (string, error)) error {
	path, text, unlock, err := lockedText()
	if err != nil {
		return err
	}
	defer unlock()
	before, err := parseFile(path, text)
	if err != nil {
		return err
	}
	_, known := before.mcp[name]
	if text, err = change(text, known); err != nil {
		return err
	}
	after, err := decodeFile(text)
	if err == nil && len(after.mcp) < len(before.mcp)-1 {
		err = errors.New("other servers would be lost")
	}
	if _, still := after.mcpOf(name); err == nil && known && still && !strings.Contains(text, "[mcp."+name+"]") {
		err = errors.New("it is written in a form that only a person can change")
	}
	if err != nil {
		return failure.Config(fmt.Errorf("%s: the table of %s cannot be changed: %w", path, name, err)).WithHint("mylm config edit opens it")
	}
	mask := os.FileMode(0)
	for _, m := range after.mcp {
		if m.holder().private {
			mask = 0o077
		}
	}
	if err := store(path, text, mask); err != nil {
		return err
	}
	_, err = parseFile(path, text)
	return err
}

func (f *file) mcpOf(name string) (m MCP, ok bool) {
	if f != nil {
		m, ok = f.mcp[name]
	}
	return m, ok
}

// withoutMCP drops the table of a server, and those below it, with the comments
// right above it.
func withoutMCP(text, name string) string {
	header := regexp.MustCompile(`^\s*\[\s*mcp\s*\.\s*"?` + regexp.QuoteMeta(name) + `"?\s*(\.[^\]]*)?\]`)
	other := regexp.MustCompile(`^\s*\[`)
	var out, above []string // above are the comments right above a line
	inside := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			above = append(above, line)
			continue
		}
		switch {
		case header.MatchString(line):
			inside, above = true, nil
		case other.MatchString(line):
			inside = false
		}
		if !inside {
			out = append(append(out, above...), line)
		}
		above = nil
	}
	if !inside {
		out = append(out, above...)
	}
	return strings.Join(out, "")
}
