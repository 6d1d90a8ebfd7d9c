package main

import (
	"fmt"
	"net/url"
	"os"

	"mylm/providers"
	"mylm/providers/langchain"
)

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
