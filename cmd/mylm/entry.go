package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
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
	return failure.Config(fmt.Errorf("%s names no model", e.where())).
		WithHint(fmt.Sprintf("Set model there, or ask with -m %s/MODEL; mylm models --provider %s lists what there is.", e.name, e.name))
}

// where names the entry in messages.
func (e entry) where() string { return "[models." + e.name + "]" }

// variableName is narrower than the shell's: keys have small letters, and one
// that is taken for a name would stand in messages.
var variableName = pattern(`^[A-Z_][A-Z0-9_]*$`)

// check finds what cannot be meant. Nothing of a secret is in its errors.
func (e entry) check() error {
	s := e.settings()
	switch {
	case e.name == "" || e.name == "demo" || strings.ContainsAny(e.name, "/ \t\n") || term.Printable(e.name) != e.name:
		return errors.New("a name is one word without a slash, and not demo")
	case e.Key != "" && e.KeyEnv != "":
		return errors.New("key and key_env are both set; one is enough")
	case e.KeyEnv != "" && !variableName().MatchString(e.KeyEnv):
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
		return fmt.Errorf("there is no provider %q; there are: %s", term.Echoed(e.Provider), strings.Join(providerNames(), ", "))
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

func providerNames() []string {
	names := []string{nativeProvider}
	for _, p := range langchain.Providers() {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
