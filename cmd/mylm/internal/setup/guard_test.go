package setup

import (
	"encoding/json"
	"testing"

	"mylm/tools"
	"mylm/tools/policy"
	"mylm/tools/web"
)

// TestHosts: a host is the same in every spelling, for what was allowed in the
// session and for what is forbidden.
func TestHosts(t *testing.T) {
	t.Parallel()
	fetch := func(g *Guard, url string) policy.Verdict {
		args, err := json.Marshal(map[string]string{"url": url})
		if err != nil {
			t.Fatal(err)
		}
		return g.Decision(g.Call(web.Name, args, tools.Network)).Verdict
	}
	guarded := func(deny ...string) *Guard {
		p, err := policy.New(policy.Options{Deny: deny})
		if err != nil {
			t.Fatal(err)
		}
		return &Guard{Policy: p, dir: t.TempDir()}
	}
	for _, url := range []string{
		"https://www.example.com", "https://www.example.com:443/x", "http://www.example.com:80", "https://www.example.com./", "https://WWW.Example.COM/x",
		"https://\uff57ww.example.com/", "https://www\u3002example\u3002com/", "https://www.example.com\uff0e/", " https://www.example.com ",
	} {
		g := guarded()
		if v := fetch(g, url); v != policy.Ask {
			t.Errorf("%q: %s", url, v)
		}
		g.AllowHost(policy.Call{Host: "www.example.com"})
		if v := fetch(g, url); v != policy.Allow {
			t.Errorf("%q, allowed: %s", url, v)
		}
		for _, rule := range []string{"web_fetch(www.example.com)", "web_fetch(*.example.com)", "*(*.example.com)"} {
			if v := fetch(guarded(rule), url); v != policy.Deny {
				t.Errorf("%q with %s: %s", url, rule, v)
			}
		}
	}
	g := guarded("web_fetch(*//blocked.example/*)", "web_fetch(ports.example)")
	g.AllowHost(policy.Call{Host: "www.example.com"})
	for url, want := range map[string]policy.Verdict{
		"https://www.example.com:8443/":   policy.Ask,
		"http://www.example.com:443/":     policy.Ask,
		"https://example.com/":            policy.Ask,
		"https://www.example.com.evil/":   policy.Ask,
		"https://u:p@www.example.com/":    policy.Ask, // is not fetched either
		"https://www.example.com@evil/":   policy.Ask,
		"https://ports.example:8443/":     policy.Deny,
		"ftp://blocked.example/x":         policy.Deny, // by its text
		"https://u:p@x//blocked.example/": policy.Deny,
	} {
		if v := fetch(g, url); v != want {
			t.Errorf("%q: %s, want %s", url, v, want)
		}
	}
}
