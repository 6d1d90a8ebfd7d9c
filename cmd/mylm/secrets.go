package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"mylm/cmd/mylm/internal/failure"
)

// secretName is what values are called that are shown to nobody.
var secretName = pattern(`(?i)key|token($|[^s])|secret|password|auth|cookie|credential`)

// secretArg is an argument of a program whose name says that it may be secret:
// --api-key VALUE, API_KEY=VALUE, Authorization: Bearer VALUE. secretName has
// the last word.
var secretArg = pattern(`(?i)(--?[\w-]*(?:key|token|secret|password|auth|credential)[\w-]*(?:=|\s+)|[\w-]*(?:key|token|secret|password|auth|cookie|credential)[\w-]*(?:=|:\s*))` +
	`(?:(?:bearer|basic)\s+)?["']?([^\s"']+)`)

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
func (c *config) holders() []holder {
	out := []holder{ollamaHolder("host", c.Host)}
	for name, s := range c.Profiles {
		out = append(out, ollamaHolder("[profiles."+name+"]", s.Host))
	}
	for name, e := range c.Models {
		e.name = name
		out = append(out, e.holder())
	}
	slices.SortFunc(out, func(a, b holder) int { return strings.Compare(a.where, b.where) })
	return out
}

// ollamaHolder is what holds an address of Ollama, with or without a password.
func ollamaHolder(where string, address *string) holder {
	h := holder{where: where, what: "a password", instead: "MYLM_HOST and OLLAMA_HOST take an address with a password too.", shown: map[string]string{}}
	h.add(value(address), password(value(address))...)
	return h
}

func (e entry) holder() holder {
	if e.Provider == nativeProvider {
		return ollamaHolder(e.where(), &e.BaseURL)
	}
	h := holder{where: e.where(), secrets: e.secrets(), private: e.private(), what: "a key", instead: "key_env names a variable instead.", shown: map[string]string{}}
	h.add(e.BaseURL, password(e.BaseURL)...)
	for name, v := range e.Settings {
		if isAddress(name) {
			h.add(v, password(v)...)
		} else {
			h.add(v, secretArgs(v)...)
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
		shown.WriteString(text[rest:p[0]] + mask)
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
func (e entry) secrets() []string {
	out := []string{e.Key}
	for _, v := range e.Headers {
		out = append(out, v)
	}
	for name, v := range e.Settings {
		if secretName().MatchString(name) && !isAddress(name) {
			out = append(out, v)
		}
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// private reports whether the entry holds what others must not read. A header
// such as X-Title is masked, but no reason to refuse a file.
func (e entry) private() bool {
	if e.Key != "" {
		return true
	}
	for _, values := range []map[string]string{e.Headers, e.Settings} {
		for name := range values {
			if secretName().MatchString(name) && !isAddress(name) {
				return true
			}
		}
	}
	return false
}

// password tells from where to where the password in an address stands, if it
// has one. A slash in it, which no parser of addresses takes, is not its end.
func password(address string) [][2]int {
	from, to := 0, strings.LastIndexByte(address, '@')
	if i := strings.Index(address, "://"); i >= 0 {
		from = i + len("://")
	}
	if to < from {
		return nil
	}
	name, word, _ := strings.Cut(address[from:to], ":")
	if word == "" {
		return nil
	}
	return [][2]int{{from + len(name) + 1, to}}
}

// secretArgs tells where secrets stand in the arguments of a program.
func secretArgs(args string) (out [][2]int) {
	for _, m := range secretArg().FindAllStringSubmatchIndex(args, -1) {
		if secretName().MatchString(args[m[2]:m[3]]) {
			out = append(out, [2]int{m[4], m[5]})
		}
	}
	return out
}

// checkPrivate refuses secrets in a file that others can read.
func checkPrivate(path string, h holder) *failure.Error {
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
