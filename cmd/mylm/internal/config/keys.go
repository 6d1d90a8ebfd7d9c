package config

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/memory/redact"
	"mylm/providers"
	"mylm/providers/langchain"
)

// key finds the API key for a provider, and where it came from or should be.
func (e Entry) key(p langchain.Provider) (key, from string, err error) {
	switch {
	case e.Key != "":
		return e.Key, e.Where(), nil
	case e.KeyEnv != "":
		if key = os.Getenv(e.KeyEnv); key == "" {
			return "", "", &providers.Error{Kind: providers.Auth, Permanent: true, Message: fmt.Sprintf("the variable %s is not set", e.KeyEnv),
				Hint: fmt.Sprintf("key_env of %s names it: put the key for %s into it.", e.Where(), p.Title)}
		}
		return key, e.KeyEnv, nil
	case e.Elsewhere(p):
		return "", "a variable that key_env of " + e.Where() + " names", nil
	}
	key, from = FirstSet(p.KeyVars)
	return key, from, nil
}

// Elsewhere reports whether the entry's address belongs to somebody other than the
// provider, who must not get the key in the provider's usual variable. An address
// from a variable is trusted, since it was set together with the key.
func (e Entry) Elsewhere(p langchain.Provider) bool {
	if len(p.KeyVars) == 0 {
		return false
	}
	addresses := []string{e.BaseURL}
	for name, v := range e.Settings {
		if isAddress(name) { // IBM's key goes to auth_url
			addresses = append(addresses, v)
		}
	}
	return slices.ContainsFunc(addresses, func(a string) bool { return a != "" && !owns(p, a) })
}

// relatedHosts are further hosts of a provider. Those of AWS and IBM are named
// after regions; names that customers choose, such as buckets, must not match.
var relatedHosts = map[string]string{
	"bedrock":          `^bedrock-runtime(-fips)?\.[a-z]{2}(-[a-z]+)+-[0-9]+\.amazonaws\.com(\.cn)?$`,
	"langchain-ollama": `^ollama\.com$`,
	"watsonx":          `^(([a-z0-9-]+\.)+ml|(private\.)?iam)\.cloud\.ibm\.com$`,
}

// owns reports whether an address is the provider's own. A local provider owns all
// addresses of this machine.
func owns(p langchain.Provider, address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	own, err := url.Parse(p.BaseURL)
	switch host := strings.ToLower(u.Hostname()); {
	case err == nil && p.BaseURL != "" && site(u) == site(own):
		return true
	case Loopback(host):
		return err == nil && Loopback(own.Hostname())
	case u.Scheme != "https" || !strings.HasSuffix(site(u), "//"+host): // on another port is another program
		return false
	default:
		return relatedHosts[p.Name] != "" && regexp.MustCompile(relatedHosts[p.Name]).MatchString(host)
	}
}

// site is the scheme, the host, and the port unless it is the default.
func site(u *url.URL) string {
	s := u.Scheme + "://" + strings.ToLower(u.Host)
	return strings.TrimSuffix(s, map[string]string{"http": ":80", "https": ":443"}[u.Scheme])
}

// Loopback reports whether a host is this machine.
func Loopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// FirstSet is the first of these environment variables that is not empty.
func FirstSet(names []string) (held, name string) {
	for _, name := range names {
		if v := os.Getenv(name); v != "" {
			return v, name
		}
	}
	return "", ""
}

// Complete is the entry completed from the environment.
func (e Entry) Complete() (c langchain.Config, err error) {
	p, ok := langchain.Lookup(e.Provider)
	if !ok {
		return c, NoProvider(e.Provider)
	}
	c = langchain.Config{Model: e.Model, Name: e.Name, BaseURL: e.BaseURL, Headers: e.Headers, Window: deref(e.Context), Settings: map[string]string{}}
	if c.Key, c.KeyFrom, err = e.key(p); err != nil {
		return c, err
	}
	if c.BaseFrom = "base_url of " + e.Where(); c.BaseURL == "" {
		c.BaseURL, c.BaseFrom = FirstSet(p.BaseVars)
	}
	for _, s := range p.Settings {
		if v, _ := FirstSet(s.Vars); v != "" {
			c.Settings[s.Name] = v
		}
	}
	for name, v := range e.Settings {
		c.Settings[name] = v
	}
	return c, nil
}

// NoProvider is the error of a name that no provider has.
func NoProvider(name string) error {
	return failure.Usage("there is no provider %q", term.Echoed(name)).WithHint(failure.Suggest(name, ProviderNames()) + "Providers: " + strings.Join(ProviderNames(), ", "))
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Mask replaces secrets.
const Mask = "********"

// leastPlain is the length from which on a secret is looked for in messages: a short
// one would be found in the middle of words.
const leastPlain = 8

// Secrets are those of the configuration of a model, the longest first: servers
// repeat what they were sent, and a key may also be in a header.
func Secrets(c langchain.Config) []string {
	found := Entry{Key: c.Key, Headers: c.Headers, Settings: c.Settings}.holder().secrets
	for name, v := range c.Headers {
		if redact.Name(name) { // "Bearer KEY" may come back without its first word
			found = append(found, strings.Fields(v)...)
		}
	}
	// One may contain another, as a header does a key.
	slices.SortFunc(found, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return slices.DeleteFunc(found, func(s string) bool { return len(s) < leastPlain })
}
