package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mylm/memory/redact"
)

// Shown is a setting as mylm config show prints it, without secrets.
type Shown struct {
	Key   string `json:"key"`
	Value any    `json:"value"` // nil: nothing sets it
	From  string `json:"from"`
	Text  string `json:"-"` // the value, or the default described
}

// Show lists every setting with its value and where that comes from, and the
// entries of models.
func (c *Config) Show() (all []Shown) {
	for _, s := range table {
		d := s.def()
		name := d.Key
		if name == "" {
			name = "--" + d.Flag
		}
		origin := c.Settings.origin(d)
		shown := Shown{Key: name, From: origin.text(d), Text: d.Default}
		if v := s.held(c.Settings); v != nil {
			shown.Value = maskedValue(v)
			shown.Text = valueText(shown.Value)
		}
		all = append(all, shown)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		all = append(all, c.Models[name].show()...)
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCP)) {
		all = append(all, c.MCP[name].show()...)
	}
	return all
}

// show lists the fields of an entry.
func (e Entry) show() (all []Shown) {
	from := Origin{Kind: File}.text(nil)
	add := func(key string, v any) {
		all = append(all, Shown{Key: "models." + e.Name + "." + key, Value: v, From: from, Text: valueText(v)})
	}
	text := func(key, v string) {
		if v != "" {
			add(key, v)
		}
	}
	text("provider", e.Provider)
	text("model", e.Model)
	text("base_url", MaskedText(e.BaseURL))
	text("key_env", e.KeyEnv)
	if e.Key != "" {
		add("key", Mask)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
		add("headers."+name, Mask)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Settings)) {
		if redact.Name(name) && !isAddress(name) {
			add("settings."+name, Mask)
		} else {
			add("settings."+name, MaskedText(e.Settings[name]))
		}
	}
	if e.Context != nil {
		add("context", *e.Context)
	}
	for _, s := range table {
		if v, ok := e.values[s.def()]; ok {
			add(s.def().Key, v)
		}
	}
	return all
}

// show lists the fields of a server.
func (m MCP) show() (all []Shown) {
	b, _ := json.Marshal(m.Masked()) // always written
	var fields map[string]any
	_ = json.Unmarshal(b, &fields)
	for _, key := range mcpFields {
		if v, ok := fields[key]; ok {
			all = append(all, Shown{Key: "mcp." + m.Name + "." + key, Value: v, From: Origin{Kind: File}.text(nil), Text: tomlText(v)})
		}
	}
	return all
}

func maskedValue(v any) any {
	switch v := v.(type) {
	case string:
		return MaskedText(v)
	case []string:
		out := slices.Clone(v)
		for i, s := range v {
			out[i] = MaskedText(s)
		}
		return out
	}
	return v
}

// MaskedText is a text without a password in an address, without secrets in
// the arguments of a program, and without what looks like a secret.
func MaskedText(s string) string {
	for _, p := range slices.Backward(secretParts(s)) {
		s = s[:p[0]] + Mask + s[p[1]:]
	}
	s, _ = redact.Text(s)
	return s
}

// Template is a new configuration file, with every setting commented out.
func Template() string {
	return "# mylm's configuration. A flag or a MYLM_* variable beats what is set here.\n\n" + examples(false) + templateTables
}

// ProjectTemplate is Template for a project's own file.
func ProjectTemplate() string {
	return "# Settings of mylm for everyone who works on this project. They can ask and forbid more, never less.\n\n" + examples(true)
}

// examples are the settings, all or those that a project's file can hold, as
// comments.
func examples(ofProject bool) string {
	var b strings.Builder
	inTable := ""
	for _, tables := range []bool{false, true} { // a setting below a table would be taken for one of its own
		for _, s := range table {
			d := s.def()
			in, name, dotted := strings.Cut(d.Key, ".")
			if d.Example == "" || dotted != tables || ofProject && !d.forProjects {
				continue
			}
			if !dotted {
				in, name = "", d.Key
			}
			if in != inTable {
				fmt.Fprintf(&b, "\n# [%s]\n", in)
				inTable = in
			}
			example := d.Example
			if ofProject && example == "true" { // which a project cannot set
				example = "false"
			}
			fmt.Fprintf(&b, "%-33s # %s\n", "# "+name+" = "+example, strings.ReplaceAll(d.Usage, "`", ""))
		}
	}
	return b.String()
}

const templateTables = `
# [profiles.review]               # mylm ask --profile review "..."
# system = "You review code. Be brief."
# tools = ["read_file", "list_dir"]

# [models.work]                   # mylm ask -m work "..."
# provider = "openai"             # "mylm models --providers" lists them
# model = "gpt-4o-mini"
# base_url = "https://llm.example.com/v1"
# key_env = "WORK_API_KEY"        # the variable that holds the key
# context = 128000                # tokens, where the server does not report it
# temperature = 0.2
# headers = { X-Team = "blue" }
`
