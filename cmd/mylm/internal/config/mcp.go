package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/BurntSushi/toml"

	"mylm/cmd/mylm/internal/term"
	"mylm/tools"
)

// MCP is an MCP server: [mcp.NAME] of the configuration, or one that a project names.
type MCP struct {
	Name      string            `toml:"-" json:"-"`
	Command   []string          `toml:"command" json:"command,omitempty"`
	Env       map[string]string `toml:"env" json:"env,omitempty"`
	Cwd       string            `toml:"cwd" json:"cwd,omitempty"`
	URL       string            `toml:"url" json:"url,omitempty"`
	Transport string            `toml:"transport" json:"transport,omitempty"`
	Headers   map[string]string `toml:"headers" json:"headers,omitempty"`

	KeyEnv string `toml:"key_env" json:"key_env,omitempty"`

	// Of a login by OAuth: a client that is registered beforehand, and what is asked for.
	ClientID     string   `toml:"client_id" json:"client_id,omitempty"`
	SecretEnv    string   `toml:"client_secret_env" json:"client_secret_env,omitempty"`
	Scopes       []string `toml:"scopes" json:"scopes,omitempty"`
	RedirectPort int      `toml:"redirect_port" json:"redirect_port,omitempty"`

	Tools   []string          `toml:"tools" json:"tools,omitempty"`
	Timeout string            `toml:"timeout" json:"timeout,omitempty"`
	Start   string            `toml:"start_timeout" json:"start_timeout,omitempty"`
	Sandbox string            `toml:"sandbox" json:"sandbox,omitempty"`
	Reads   []string          `toml:"reads" json:"reads,omitempty"`
	Writes  []string          `toml:"writes" json:"writes,omitempty"`
	Effects map[string]string `toml:"effects" json:"effects,omitempty"`

	Roots       bool `toml:"roots" json:"roots,omitempty"`
	Elicitation bool `toml:"elicitation" json:"elicitation,omitempty"`
	Sampling    bool `toml:"sampling" json:"sampling,omitempty"`
	Disabled    bool `toml:"disabled" json:"disabled,omitempty"`

	// From is the file of the project that names it; "" is the user's configuration.
	From string `toml:"-" json:"-"`
}

// The fields of an MCP, and those of them that a project may set.
var (
	mcpFields = []string{"command", "env", "cwd", "url", "transport", "headers", "tools", "timeout", "start_timeout",
		"key_env", "client_id", "client_secret_env", "scopes", "redirect_port", "sandbox", "reads", "writes", "effects", "roots", "elicitation", "sampling", "disabled"}
	mcpOfProjects = mcpFields[:9]
)

// MCPSandboxes are the words for the sandbox of a server.
var MCPSandboxes = []string{"read-only", "workspace", "net", "off"}

// mcpTables decodes the tables of a file, with the fields that it may have.
func (d decoder) mcpTables(top map[string]toml.Primitive, fields []string) (map[string]MCP, error) {
	tables, err := d.tables(top, "mcp")
	if err != nil || len(tables) == 0 {
		return nil, err
	}
	all := map[string]MCP{}
	for name, p := range tables {
		var held map[string]toml.Primitive
		if err := d.table(p, &held, "mcp", name); err != nil {
			return nil, err
		}
		for key := range held {
			if !slices.Contains(fields, key) {
				return nil, d.unknown([]string{"mcp", name, key}, fields)
			}
		}
		m := MCP{Name: name}
		if err := typeError(d.PrimitiveDecode(p, &m), "of another form (see docs/mcp.md)"); err != nil {
			return nil, err
		}
		all[name] = m
	}
	return all, nil
}

// Check finds what cannot be meant. Its errors contain no secrets.
func (m MCP) Check() error {
	if m.Sandbox != "" && !slices.Contains(MCPSandboxes, m.Sandbox) {
		return fmt.Errorf("sandbox is %q; it must be %s", term.Echoed(m.Sandbox), term.Alternatives(MCPSandboxes))
	}
	if m.KeyEnv != "" && !variableName(m.KeyEnv) {
		return errors.New("key_env must be the name of a variable in capitals, such as GITHUB_TOKEN; the key itself goes into that variable")
	}
	if m.KeyEnv != "" && m.URL == "" {
		return errors.New("key_env is for servers with a url; env passes a variable on: env = { NAME = \"${NAME}\" }")
	}
	if m.SecretEnv != "" && (!variableName(m.SecretEnv) || m.ClientID == "") {
		return errors.New("client_secret_env must be the name of a variable in capitals, beside a client_id")
	}
	if m.RedirectPort < 0 || m.RedirectPort > 65535 {
		return fmt.Errorf("redirect_port is %d; it must be a port, from 1 to 65535", m.RedirectPort)
	}
	if m.Transport != "" && m.Transport != "http" && m.Transport != "sse" {
		return fmt.Errorf("transport is %q; it must be http or sse", term.Echoed(m.Transport))
	}
	for key, text := range map[string]string{"timeout": m.Timeout, "start_timeout": m.Start} {
		if d, err := parseSpan(cmp.Or(text, "1s")); err != nil || d <= 0 {
			return fmt.Errorf("%s is %q; it must be a duration such as 30s", key, term.Echoed(text))
		}
	}
	for pattern, text := range m.Effects {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("effects: the pattern %q cannot be read", term.Echoed(pattern))
		}
		var e tools.Effect
		if err := e.UnmarshalText([]byte(text)); err != nil {
			return fmt.Errorf("effects: %w; there are: none, reads, writes, runs, network, outside", err)
		}
	}
	if err := absolute(slices.Concat(m.Reads, m.Writes)); err != nil {
		return err
	}
	for name := range m.Env {
		if err := variableNames([]string{name}); err != nil {
			return err
		}
	}
	return nil
}

// Where names the server in messages.
func (m MCP) Where() string {
	if m.From != "" {
		return m.Name + " in " + m.From
	}
	return "[mcp." + m.Name + "]"
}

// CallTimeout and StartTimeout are the parsed times, 0 where none is set.
func (m MCP) CallTimeout() time.Duration { return span(m.Timeout) }

// StartTimeout is how long the server may take to be ready.
func (m MCP) StartTimeout() time.Duration { return span(m.Start) }

func span(text string) time.Duration {
	d, _ := time.ParseDuration(text) // checked, or ""
	return d
}

// Effect is what a call of a tool may do, by the most specific pattern: the longest
// that matches. ok is false if none does.
func (m MCP) Effect(tool string) (e tools.Effect, ok bool) {
	best := ""
	for pattern, text := range m.Effects {
		if matches, _ := path.Match(pattern, tool); matches && (!ok || len(pattern) > len(best)) {
			best, ok = pattern, true
			_ = e.UnmarshalText([]byte(text)) // checked
		}
	}
	return e, ok
}

// reference is a variable of the environment in a value: ${NAME} or ${NAME:-default}.
var reference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}`) })

// References are the variables that the server is given values of.
func (m MCP) References() (names []string) {
	texts := slices.Concat(m.Command, []string{m.URL, m.Cwd}, slices.Collect(maps.Values(m.Env)), slices.Collect(maps.Values(m.Headers)))
	for _, text := range texts {
		names = append(names, references(text)...)
	}
	names = append(names, m.secretVars()...)
	slices.Sort(names)
	return slices.Compact(names)
}

func references(text string) (names []string) {
	for _, found := range reference().FindAllStringSubmatch(text, -1) {
		names = append(names, found[1])
	}
	return names
}

// secretVars are the variables whose values are keys: those that are named for one, and
// all that a header or a variable of a telling name refers to. One that names a file or
// a directory holds no key.
func (m MCP) secretVars() []string {
	names := []string{m.KeyEnv, m.SecretEnv}
	for _, held := range []map[string]string{m.Env, m.Headers} {
		for name, v := range held {
			if secretName(name) && !place().MatchString(name) {
				names = append(names, references(v)...)
			}
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" || everyones[name] })
}

var place = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)_(file|path|dir|sock)$`) })

// everyones are variables that every program has, and that are in no way secret.
var everyones = map[string]bool{"HOME": true, "USER": true, "LOGNAME": true, "PATH": true, "PWD": true, "TMPDIR": true}

// Expanded is the server with the values of variables in it. A variable that is not
// set and has no default is an error.
func (m MCP) Expanded() (MCP, error) {
	var missing []string
	expand := func(text string) string {
		return reference().ReplaceAllStringFunc(text, func(found string) string {
			parts := reference().FindStringSubmatch(found)
			v := os.Getenv(parts[1])
			if v == "" && parts[2] == "" {
				missing = append(missing, parts[1])
			}
			return cmp.Or(v, parts[3])
		})
	}
	m.Command = slices.Clone(m.Command)
	for i := range m.Command {
		m.Command[i] = expand(m.Command[i])
	}
	m.Env, m.Headers = maps.Clone(m.Env), maps.Clone(m.Headers)
	for _, held := range []map[string]string{m.Env, m.Headers} {
		for name, v := range held {
			held[name] = expand(v)
		}
	}
	m.URL, m.Cwd = expand(m.URL), expand(m.Cwd)
	if m.KeyEnv != "" {
		key := os.Getenv(m.KeyEnv)
		if key == "" {
			missing = append(missing, m.KeyEnv)
		}
		if m.Headers == nil {
			m.Headers = map[string]string{}
		}
		m.Headers["Authorization"] = "Bearer " + key
	}
	if m.SecretEnv != "" && os.Getenv(m.SecretEnv) == "" {
		missing = append(missing, m.SecretEnv) // without it mylm would be another client
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return m, fmt.Errorf("%s: the variable %s is not set", m.Where(), strings.Join(slices.Compact(missing), ", "))
	}
	return m, nil
}

// Dir is the directory that the server runs in, for a workspace.
func (m MCP) Dir(workspace string) string {
	switch home, _ := os.UserHomeDir(); {
	case m.Cwd == "":
		return workspace
	case strings.HasPrefix(m.Cwd, "~/"):
		return filepath.Join(home, m.Cwd[2:])
	case filepath.IsAbs(m.Cwd):
		return filepath.Clean(m.Cwd)
	}
	return filepath.Join(workspace, m.Cwd)
}

// Consent is a hash of all that a user agrees to: command, arguments, environment,
// directory, URL and headers, as they are written.
func (m MCP) Consent(workspace string) string {
	b, _ := json.Marshal([]any{m.Name, m.Command, m.Env, m.Dir(workspace), m.URL, m.Transport, m.Headers, m.Tools}) // always written
	return fmt.Sprintf("%x", sha256.Sum256(b))
}

// private reports whether other users must not read the server's table.
func (m MCP) holder() holder {
	h := holder{where: "[mcp." + m.Name + "]", what: "a key", instead: `Or name a variable: "${NAME}", or key_env.`}
	for _, held := range []map[string]string{m.Env, m.Headers} {
		for name, v := range held {
			if secretName(name) && !reference().MatchString(v) && v != "" {
				h.secrets, h.private = append(h.secrets, v), true
			}
		}
	}
	for _, v := range m.Command {
		h.add(v)
	}
	h.add(m.URL)
	return h
}

// Masked is the server with secrets replaced.
func (m MCP) Masked() MCP {
	mask := func(held map[string]string) map[string]string {
		out := maps.Clone(held)
		for name, v := range out {
			if !reference().MatchString(v) && secretName(name) {
				out[name] = Mask
			} else {
				out[name] = MaskedText(v)
			}
		}
		return out
	}
	m.Env, m.Headers, m.URL = mask(m.Env), mask(m.Headers), MaskedText(m.URL)
	m.Command = slices.Clone(m.Command)
	for i := range m.Command {
		m.Command[i] = MaskedText(m.Command[i])
	}
	return m
}
