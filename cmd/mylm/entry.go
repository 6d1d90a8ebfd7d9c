package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"mylm/providers"
	"mylm/providers/langchain"
)

// entry is a model under a name of the user's: [models.NAME] of the
// configuration. What is empty or nil is the provider's own.
type entry struct {
	Provider string            `toml:"provider"`
	Model    string            `toml:"model"`
	BaseURL  string            `toml:"base_url"`
	KeyEnv   string            `toml:"key_env"`
	Key      string            `toml:"key"`
	Headers  map[string]string `toml:"headers"`
	Context  *int              `toml:"context"`
	Settings map[string]string `toml:"settings"`

	Temperature *float64 `toml:"temperature"`
	Seed        *int     `toml:"seed"`
	MaxTokens   *int     `toml:"max_tokens"`
	Think       *string  `toml:"think"`

	name string // "" where it stands for what was typed
}

var entryNames = []string{"provider", "model", "base_url", "key_env", "key", "headers", "context", "settings", "temperature", "seed", "max_tokens", "think"}

// nativeProvider is the one that langchain does not open.
const nativeProvider = "ollama"

// settings is how the model is asked unless something else is said.
func (e entry) settings() settings {
	s := settings{Temperature: e.Temperature, Seed: e.Seed, MaxTokens: e.MaxTokens, Think: e.Think}
	if e.Provider == nativeProvider {
		s.NumCtx = e.Context
		if e.BaseURL != "" {
			s.Host = &e.BaseURL
		}
	}
	return s
}

// entryFor finds the entry that a name means: its own, or NAME/MODEL for another
// model at the same place.
func entryFor(entries map[string]entry, name string) (e entry, ok bool) {
	if e, ok = entries[name]; ok {
		return e, true
	}
	name, model, _ := strings.Cut(name, "/")
	if e, ok = entries[name]; !ok || model == "" {
		return entry{}, false
	}
	if e.Model != "" && e.Model != model {
		e.Context = nil // of the other one
	}
	e.Model = model
	return e, true
}

// noModel is for an entry that says where, but not whom to ask.
func (e entry) noModel() error {
	return configError(fmt.Errorf("%s names no model", e.where())).
		withHint(fmt.Sprintf("Set model there, or ask with -m %s/MODEL; mylm models --provider %s lists what there is.", e.name, e.name))
}

// where names the entry in messages.
func (e entry) where() string { return "[models." + e.name + "]" }

// variableName is narrower than the shell's: keys have small letters, and one
// that is taken for a name would stand in messages.
var variableName = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)

// check finds what cannot be meant. Nothing of a secret is in its errors.
func (e entry) check() error {
	s := e.settings()
	switch {
	case e.name == "" || e.name == "demo" || strings.ContainsAny(e.name, "/ \t\n") || printable(e.name) != e.name:
		return errors.New("a name is one word without a slash, and not demo")
	case e.Key != "" && e.KeyEnv != "":
		return errors.New("key and key_env are both set; one is enough")
	case e.KeyEnv != "" && !variableName.MatchString(e.KeyEnv):
		return errors.New("key_env must be the name of a variable in capitals, such as OPENAI_API_KEY; the key itself goes into that variable, or into key")
	case e.Context != nil && *e.Context < 256:
		return fmt.Errorf("context is %d; it must be at least 256", *e.Context)
	case e.Provider == "":
		return errors.New(`provider is missing; it is one of those that "mylm models --providers" lists`)
	}
	if err := s.check(); err != nil {
		return err
	}
	if e.Provider == nativeProvider {
		return e.checkNative()
	}
	p, ok := langchain.Lookup(e.Provider)
	if !ok {
		return fmt.Errorf("there is no provider %q; there are: %s", echoed(e.Provider), strings.Join(providerNames(), ", "))
	}
	return e.checkOpen(p)
}

// checkNative refuses what Ollama's own client has no use for.
func (e entry) checkNative() error {
	if e.Key+e.KeyEnv != "" || e.Headers != nil || e.Settings != nil {
		return errors.New("key, key_env, headers and settings are not for Ollama; a password goes into base_url")
	}
	return nil
}

// checkOpen tries to open the model, which contacts nobody, with a key that
// stands for the one that will be there. What the environment may still add is
// looked at when the model is used.
func (e entry) checkOpen(p langchain.Provider) error {
	incomplete := slices.ContainsFunc(p.Settings, func(s langchain.Setting) bool { return s.Required && e.Settings[s.Name] == "" })
	if p.Missing != "" || incomplete || e.BaseURL == "" && p.BaseURL == "" {
		return nil
	}
	_, err := langchain.Open(e.Provider, langchain.Config{
		Model: e.Model, BaseURL: e.BaseURL, Key: cmp.Or(e.Key, "none"), Headers: e.Headers, Window: value(e.Context), Settings: e.Settings,
	})
	var fault *providers.Error
	if errors.As(err, &fault) && fault.Hint != "" {
		return fmt.Errorf("%s. %s", fault.Message, strings.TrimSuffix(fault.Hint, "."))
	}
	return err
}

// secrets are the values that are shown to nobody: the key, every header, and
// the settings whose name says so.
func (e entry) secrets() []string {
	out := []string{e.Key}
	for _, v := range e.Headers {
		out = append(out, v)
	}
	for name, v := range e.Settings {
		if secretName.MatchString(name) {
			out = append(out, v)
		}
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

var secretName = regexp.MustCompile(`(?i)key|token($|[^s])|secret|password|auth|cookie|credential`)

// private reports whether the entry holds what others must not read. A header
// such as X-Title is masked, but no reason to refuse a file.
func (e entry) private() bool {
	if e.Key != "" {
		return true
	}
	for _, values := range []map[string]string{e.Headers, e.Settings} {
		for name := range values {
			if secretName.MatchString(name) {
				return true
			}
		}
	}
	return false
}

// checkPrivate refuses secrets in a file that others can read.
func checkPrivate(path string, e entry) *failure {
	if !e.private() || runtime.GOOS == "windows" { // where the mode says nothing
		return nil
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm()&0o077 == 0 {
		return nil
	}
	return configError(fmt.Errorf("%s: %s holds a key, and others can read the file (its mode is %04o)", path, e.where(), st.Mode().Perm())).
		withHint("chmod 600 " + path + "\nIf somebody may have read it, get another key. key_env names a variable instead.")
}

// key finds the secret for a provider, and where it came from or is missed.
func (e entry) key(p langchain.Provider) (key, from string, err error) {
	switch {
	case e.Key != "":
		return e.Key, e.where(), nil
	case e.KeyEnv != "":
		if key = os.Getenv(e.KeyEnv); key == "" {
			return "", "", &providers.Error{Kind: providers.Auth, Permanent: true, Message: fmt.Sprintf("the variable %s is not set", e.KeyEnv),
				Hint: fmt.Sprintf("key_env of %s names it: put the key for %s into it.", e.where(), p.Title)}
		}
		return key, e.KeyEnv, nil
	case e.elsewhere(p):
		return "", "a variable that key_env of " + e.where() + " names", nil
	}
	key, from = variable(p.KeyVars)
	return key, from, nil
}

// elsewhere reports whether the entry leads to somebody else than the provider
// whose usual variable holds the key: that key is not theirs to see.
func (e entry) elsewhere(p langchain.Provider) bool {
	if e.BaseURL == "" || p.BaseURL == "" || !p.NeedsKey {
		return false
	}
	own, err1 := url.Parse(p.BaseURL)
	base, err2 := url.Parse(e.BaseURL)
	return err1 != nil || err2 != nil || base.Scheme != own.Scheme || base.Host != own.Host
}

// variable is the first of these environment variables that holds something.
func variable(names []string) (held, name string) {
	for _, name := range names {
		if v := os.Getenv(name); v != "" {
			return v, name
		}
	}
	return "", ""
}

// config is what the entry and the environment say about a model.
func (e entry) config(p langchain.Provider) (c langchain.Config, err error) {
	c = langchain.Config{Model: e.Model, BaseURL: e.BaseURL, Headers: e.Headers, Window: value(e.Context), Settings: map[string]string{}}
	if c.Key, c.KeyFrom, err = e.key(p); err != nil {
		return c, err
	}
	if c.BaseURL == "" {
		c.BaseURL, _ = variable(p.BaseVars)
	}
	for _, s := range p.Settings {
		if v, _ := variable(s.Vars); v != "" {
			c.Settings[s.Name] = v
		}
	}
	for name, v := range e.Settings {
		c.Settings[name] = v
	}
	return c, nil
}

func providerNames() []string {
	names := []string{nativeProvider}
	for _, p := range langchain.Providers() {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
