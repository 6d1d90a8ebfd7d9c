package web

import (
	"errors"
	"fmt"
	"strings"
)

// allowed is one of AllowHosts.
type allowed struct {
	host string
	port string // "" is any
}

// parseAllowed reads HOST or HOST:PORT.
func parseAllowed(entry string) (allowed, error) {
	bad := func(err error) (allowed, error) {
		return allowed{}, fmt.Errorf("the allowed host %q: %w; write localhost, localhost:6060, 192.168.1.5 or [::1]:8080", entry, err)
	}
	text := strings.TrimSpace(entry)
	switch {
	case text == "":
		return bad(errors.New("it is empty"))
	case strings.Contains(text, "://") || strings.ContainsAny(text, "/?#@"):
		return bad(errors.New("it is an address, not a host"))
	case strings.Contains(text, "*"):
		return bad(errors.New("every host is named by itself"))
	case strings.Count(text, ":") > 1 && !strings.HasPrefix(text, "["):
		text = "[" + text + "]"
	}
	t, err := parseTarget("http://" + text + "/")
	switch {
	case err != nil:
		return bad(err)
	case strings.HasSuffix(text, "]") || !strings.Contains(text, ":"):
		return allowed{host: t.host}, nil
	case strings.HasSuffix(text, ":"):
		return bad(errors.New("the port is missing"))
	}
	return allowed{t.host, t.port}, nil
}

func (f *fetcher) allows(t *target) bool {
	for _, a := range f.allow {
		if a.host == t.host && (a.port == "" || a.port == t.port) {
			return true
		}
	}
	return false
}
