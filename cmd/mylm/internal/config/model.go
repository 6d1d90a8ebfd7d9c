package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/memory/redact"
	"mylm/providers"
	"mylm/providers/langchain"
)

// Entry is a model under a name of the user's: [models.NAME] of the
// configuration. What is empty or nil is the provider's own.
type Entry struct {
	Name     string            `toml:"-"` // "" where it stands for what was typed
	Provider string            `toml:"provider"`
	Model    string            `toml:"model"`
	BaseURL  string            `toml:"base_url"`
	KeyEnv   string            `toml:"key_env"`
	Key      string            `toml:"key"`
	Headers  map[string]string `toml:"headers"`
	Context  *int              `toml:"context"`
	Settings map[string]string `toml:"settings"`

	values values // of the settings that an entry can hold
}

// entryFields are the keys of an entry that are not settings.
var entryFields = []string{"provider", "model", "base_url", "key_env", "key", "headers", "context", "settings"}

// entryKeys are the settings that an entry can hold.
func entryKeys() (names []string) {
	for _, s := range table {
		if d := s.def(); d.PerModel {
			names = append(names, d.Key)
		}
	}
	return names
}

// Ollama is the provider that langchain does not open.
const Ollama = "ollama"

// Layer holds the defaults for requests to the model.
func (e Entry) Layer() Layer {
	l := Layer{From: Origin{Kind: Model, Name: e.Name}, values: values{}}
	maps.Copy(l.values, e.values)
	if e.Provider == Ollama {
		if e.Context != nil {
			l = NumCtx.In(l, *e.Context)
		}
		if e.BaseURL != "" {
			l = Host.In(l, e.BaseURL)
		}
	}
	return l
}

// EntryFor finds the entry that a name means: its own, or NAME/MODEL for another
// model at the same place.
func EntryFor(entries map[string]Entry, name string) (e Entry, ok bool) {
	if e, ok = entries[name]; ok {
		return e, true
	}
	name, model, _ := strings.Cut(name, "/")
	if e, ok = entries[name]; !ok || model == "" {
		return Entry{}, false
	}
	if e.Model != "" && e.Model != model {
		e.Context = nil // of the other one
	}
	e.Model = model
	return e, true
}

// SplitModel takes provider/name apart. What is not known as a provider is the
// beginning of a name of Ollama's, where slashes are common too.
func SplitModel(s string) (provider, name string) {
	switch before, after, slash := strings.Cut(s, "/"); {
	case s == "demo":
		return "demo", ""
	case slash && (before == Ollama || before == "scripted" || before == "demo"):
		return before, after
	case slash:
		if _, known := langchain.Lookup(before); known {
			return before, after
		}
	}
	return Ollama, s
}

// ofOllama reports whether a name is that of a model of Ollama.
func ofOllama(entries map[string]Entry, name string) bool {
	e, ok := EntryFor(entries, name)
	if !ok {
		e.Provider, _ = SplitModel(name)
	}
	return e.Provider == Ollama
}

// NoModel is the error of an entry without a model.
func (e Entry) NoModel() error {
	return failure.Config(fmt.Errorf("%s names no model", e.Where())).
		WithHint(fmt.Sprintf("Set model there, or ask with -m %s/MODEL; mylm models --provider %s lists what there is.", e.Name, e.Name))
}

// Where names the entry in messages.
func (e Entry) Where() string { return "[models." + e.Name + "]" }

// variableName is stricter than the shell: keys contain lower-case letters, and
// one that is mistaken for a name would appear in messages.
func variableName(s string) bool {
	return s[0] > '9' && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// Check finds contradictions. Its errors contain no secrets.
func (e Entry) Check() error {
	switch {
	case e.Name == "" || e.Name == "demo" || strings.ContainsAny(e.Name, "/ \t\n") || term.Printable(e.Name) != e.Name:
		return errors.New("a name is one word without a slash, and not demo")
	case e.Key != "" && e.KeyEnv != "":
		return errors.New("key and key_env are both set; one is enough")
	case e.KeyEnv != "" && !variableName(e.KeyEnv):
		return errors.New("key_env must be the name of a variable in capitals, such as OPENAI_API_KEY; the key itself goes into that variable, or into key")
	case e.Context != nil && *e.Context < 256:
		return fmt.Errorf("context is %d; it must be at least 256", *e.Context)
	case e.Provider == "":
		return errors.New(`provider is missing; it is one of those that "mylm models --providers" lists`)
	}
	if err := checkAll(e.values, key); err != nil {
		return err
	}
	if e.Provider == Ollama {
		return e.checkNative()
	}
	p, ok := langchain.Lookup(e.Provider)
	if !ok {
		return fmt.Errorf("there is no provider %q. %sThere are: %s", term.Echoed(e.Provider), failure.Suggest(e.Provider, ProviderNames()), strings.Join(ProviderNames(), ", "))
	}
	return e.checkOpen(p)
}

// checkNative refuses fields that Ollama's own client does not use.
func (e Entry) checkNative() error {
	if e.Key+e.KeyEnv != "" || e.Headers != nil || e.Settings != nil {
		return errors.New("key, key_env, headers and settings are not for Ollama; a password goes into base_url")
	}
	return nil
}

// checkOpen tries to open the model, which makes no connection, with a
// placeholder for the key. What the environment may still add is checked when
// the model is used.
func (e Entry) checkOpen(p langchain.Provider) error {
	incomplete := slices.ContainsFunc(p.Settings, func(s langchain.Setting) bool { return s.Required && e.Settings[s.Name] == "" })
	if p.Missing != "" || incomplete || e.BaseURL == "" && p.BaseURL == "" {
		return nil
	}
	_, err := langchain.Open(e.Provider, langchain.Config{
		Model: e.Model, BaseURL: e.BaseURL, Key: cmp.Or(e.Key, "none"), Headers: e.Headers, Window: deref(e.Context), Settings: e.Settings,
	})
	var fault *providers.Error
	if errors.As(err, &fault) && fault.Hint != "" {
		return fmt.Errorf("%s. %s", fault.Message, strings.TrimSuffix(fault.Hint, "."))
	}
	return err
}

// ProviderNames are the providers that can be asked.
func ProviderNames() []string {
	names := []string{Ollama}
	for _, p := range langchain.Providers() {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func secretName(name string) bool { return redact.Name(name) }

// holder is a part of the configuration that may hold secrets.
type holder struct {
	where   string   // its name in messages
	secrets []string // values that are never shown
	private bool     // other users must not read it
	what    string   // the kind of secret
	instead string   // where else it can be put
}

// holders are the top of the file, its profiles and its models, sorted.
func (f *file) holders() []holder {
	out := []holder{ollamaHolder("host", Host.Of(Settings{f.layer}))}
	for name, l := range f.profiles {
		out = append(out, ollamaHolder("[profiles."+name+"]", Host.Of(Settings{l})))
	}
	for _, e := range f.models {
		out = append(out, e.holder())
	}
	for _, m := range f.mcp {
		out = append(out, m.holder())
	}
	slices.SortFunc(out, func(a, b holder) int { return strings.Compare(a.where, b.where) })
	return out
}

// ollamaHolder is the holder of an address of Ollama, which may have a password.
func ollamaHolder(where, address string) holder {
	h := holder{where: where, what: "a password", instead: "MYLM_HOST and OLLAMA_HOST take an address with a password too."}
	h.add(address)
	return h
}

func (e Entry) holder() holder {
	if e.Provider == Ollama {
		return ollamaHolder(e.Where(), e.BaseURL)
	}
	h := holder{where: e.Where(), secrets: e.secrets(), private: e.private(), what: "a key", instead: "key_env names a variable instead."}
	h.add(e.BaseURL)
	for _, v := range e.Settings {
		h.add(v)
	}
	return h
}

// add marks parts of a text as secret.
func (h *holder) add(text string) {
	for _, p := range secretParts(text) {
		h.secrets, h.private = append(h.secrets, text[p[0]:p[1]]), true
	}
}

// isAddress reports whether a setting is an address such as auth_url, which is no
// secret.
func isAddress(setting string) bool { return strings.HasSuffix(setting, "_url") }

// secrets are the key, every header, and the settings with a telling name.
func (e Entry) secrets() []string {
	out := []string{e.Key}
	for _, v := range e.Headers {
		out = append(out, v)
	}
	for name, v := range e.Settings {
		if secretName(name) && !isAddress(name) {
			out = append(out, v)
		}
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// private reports whether other users must not read the entry. A header such as
// X-Title is masked, but no reason to refuse a file.
func (e Entry) private() bool {
	if e.Key != "" {
		return true
	}
	for _, values := range []map[string]string{e.Headers, e.Settings} {
		for name := range values {
			if secretName(name) && !isAddress(name) {
				return true
			}
		}
	}
	return false
}

// Secrets must not reach a command: the variables that entries and MCP servers name
// for keys and client secrets, that with the address of mylm-cluster's database, and the
// keys and passwords of entries, servers, providers and addresses of Ollama.
func (c *Config) Secrets() (variables, values []string) {
	variables = []string{"MYLM_DATABASE"}
	add := func(found ...string) {
		for _, s := range found {
			if fields := strings.Fields(s); len(fields) > 0 { // "Bearer KEY"
				values = append(values, fields[len(fields)-1])
			}
		}
	}
	for _, e := range c.Models {
		if e.KeyEnv != "" {
			variables = append(variables, e.KeyEnv)
			add(os.Getenv(e.KeyEnv))
		}
		if h := e.holder(); h.private {
			add(h.secrets...)
		}
	}
	for _, m := range c.MCP {
		for _, name := range m.secretVars() {
			variables = append(variables, name)
			add(os.Getenv(name))
		}
		add(m.holder().secrets...)
	}
	for _, p := range langchain.Providers() {
		for _, name := range p.KeyVars {
			add(os.Getenv(name))
		}
	}
	for _, address := range []string{Host.Of(c.Settings), os.Getenv("MYLM_HOST"), os.Getenv("OLLAMA_HOST")} {
		add(ollamaHolder("", address).secrets...)
	}
	return variables, values
}

// secretParts locates the password of an address, or the secrets in the arguments
// of a program.
func secretParts(text string) [][2]int {
	if text == "" { // most often, and the expressions need not be compiled
		return nil
	}
	if start, end, ok := redact.Password(text); ok {
		return [][2]int{{start, end}}
	}
	return redact.Arguments(text)
}

// checkPrivate refuses secrets in a file that others can read.
func checkPrivate(path string, h holder) error {
	if !h.private || runtime.GOOS == "windows" { // where the mode says nothing
		return nil
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm()&0o077 == 0 {
		return nil
	}
	return failure.Config(fmt.Errorf("%s: %s holds %s, and others can read the file (its mode is %04o)", path, h.where, h.what, st.Mode().Perm())).
		WithHint("chmod 600 " + path + "\nIf somebody may have read it, get another. " + h.instead)
}
