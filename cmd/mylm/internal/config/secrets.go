package config

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"mylm/cmd/mylm/internal/failure"
	"mylm/memory/redact"
	"mylm/providers/langchain"
)

func secretName(name string) bool { return redact.Name(name) }

// holder is something in the configuration that may hold secrets.
type holder struct {
	where   string            // its name in messages
	secrets []string          // what is shown to nobody
	shown   map[string]string // values that hold one among other things, and what is shown of them
	private bool              // others must not read it
	what    string            // it holds
	instead string            // where that could be
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
	slices.SortFunc(out, func(a, b holder) int { return strings.Compare(a.where, b.where) })
	return out
}

// ollamaHolder is what holds an address of Ollama, with or without a password.
func ollamaHolder(where, address string) holder {
	h := holder{where: where, what: "a password", instead: "MYLM_HOST and OLLAMA_HOST take an address with a password too.", shown: map[string]string{}}
	h.add(address, password(address)...)
	return h
}

func (e Entry) holder() holder {
	if e.Provider == Ollama {
		return ollamaHolder(e.Where(), e.BaseURL)
	}
	h := holder{where: e.Where(), secrets: e.secrets(), private: e.private(), what: "a key", instead: "key_env names a variable instead.", shown: map[string]string{}}
	h.add(e.BaseURL, password(e.BaseURL)...)
	for name, v := range e.Settings {
		if isAddress(name) {
			h.add(v, password(v)...)
		} else {
			h.add(v, redact.Arguments(v)...)
		}
	}
	return h
}

// add notes which parts of a text, from here to there, are secret.
func (h *holder) add(text string, parts ...[2]int) {
	var shown strings.Builder
	rest := 0
	for _, p := range parts {
		h.secrets, h.private = append(h.secrets, text[p[0]:p[1]]), true
		shown.WriteString(text[rest:p[0]] + Mask)
		rest = p[1]
	}
	if len(parts) > 0 {
		h.shown[text] = shown.String() + text[rest:]
	}
}

// isAddress tells a setting such as auth_url, which says where a key goes, from
// a secret.
func isAddress(setting string) bool { return strings.HasSuffix(setting, "_url") }

// secrets are the key, every header, and the settings whose name says so.
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

// private reports whether the entry holds what others must not read. A header
// such as X-Title is masked, but no reason to refuse a file.
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

// Secrets are what no command may see: the variables that entries name for keys,
// and the keys and passwords of entries, providers and addresses of Ollama.
func (c *Config) Secrets() (variables, values []string) {
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

// password is where the password in an address is, if it has one.
func password(address string) [][2]int {
	if start, end, ok := redact.Password(address); ok {
		return [][2]int{{start, end}}
	}
	return nil
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
