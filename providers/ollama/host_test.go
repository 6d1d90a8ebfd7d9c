package ollama_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"mylm/providers/ollama"
)

func TestParseHost(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", "http://127.0.0.1:11434"},
		{"  \t", "http://127.0.0.1:11434"},
		{`"box"`, "http://box:11434"},
		{" 'box:80' ", "http://box:80"},
		{"box", "http://box:11434"},
		{"box:8080", "http://box:8080"},
		{"box:", "http://box:11434"},
		{":8080", "http://127.0.0.1:8080"},
		{"10.0.0.7", "http://10.0.0.7:11434"},
		{"http://box", "http://box:80"},
		{"https://box", "https://box:443"},
		{"HTTPS://box", "https://box:443"},
		{"https://box:8443/", "https://box:8443"},
		{"http://box/ollama/", "http://box:80/ollama"},
		{"box/a/b", "http://box:11434/a/b"},
		{"http://", "http://127.0.0.1:80"},
		{"ollama.com", "https://ollama.com:443"},
		{"::1", "http://[::1]:11434"},
		{"[::1]", "http://[::1]:11434"},
		{"[::1]:8080", "http://[::1]:8080"},
		{"https://[2001:db8::2]/x", "https://[2001:db8::2]:443/x"},
		{"fe80::1%eth0", "http://[fe80::1%25eth0]:11434"},
		{"[fe80::1%25eth0]:80", "http://[fe80::1%25eth0]:80"},
		{"0.0.0.0", "http://127.0.0.1:11434"},
		{"0.0.0.0:8080", "http://127.0.0.1:8080"},
		{"::", "http://[::1]:11434"},
		{"http://[::]:8080", "http://[::1]:8080"},
		{"user:secret@box", "http://user:secret@box:11434"},
		{"https://me:p%40ss@box", "https://me:p%40ss@box:443"},
		{"me@box:1", "http://me@box:1"},
	}
	for _, tt := range tests {
		u, err := ollama.ParseHost(tt.in)
		if err != nil || u.String() != tt.want {
			t.Errorf("ParseHost(%q) = %v, %v, want %s", tt.in, u, err, tt.want)
		}
	}
}

func TestParseHostRejects(t *testing.T) {
	tests := []struct{ in, says string }{
		{"ftp://box", "scheme"},
		{"box:port", "port"},
		{"box:0", "port"},
		{"box:65536", "port"},
		{"box:-1", "port"},
		{"a:b:c", "port"},
		{"a:b:1", "port"},
		{"[::1", "missing ']'"},
		{"[box]:80", "host"},
		{"[::1]x", "port"},
		{"my box", "host name"},
		{"::%#", "missing ']'"},
		{"http://box?x=1", "query"},
		{"http://box/x?y", "query"},
		{"http://box/%zz", "escape"},
		{"u:%zz@box", "password"},
		{"a<b", "host name"},
		{"http://http://box", "scheme"},
	}
	for _, tt := range tests {
		u, err := ollama.ParseHost(tt.in)
		if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "https://host/path") {
			t.Errorf("ParseHost(%q) = %v, %v, want an error that speaks of %q", tt.in, u, err, tt.says)
		}
	}
	for _, s := range []string{"user:secret@box:port", "user:secret#x@box", "user:secret?x@box", "user:%secret@box"} {
		if _, err := ollama.ParseHost(s); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error %v, want one that keeps the password", s, err)
		}
	}
}

func FuzzParseHost(f *testing.F) {
	for _, s := range []string{"", "box:1", "[::1]:2", "http://u:p@h/p", "fe80::1%eth0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ollama.ParseHost(s)
		if err != nil {
			return
		}
		if u.Hostname() == "" || u.Port() == "" || u.Scheme != "http" && u.Scheme != "https" {
			t.Errorf("ParseHost(%q) = %s, which lacks a part", s, u)
		}
		if _, err := http.NewRequest("GET", u.String(), nil); err != nil {
			t.Errorf("ParseHost(%q) = %s, which no request can be sent to: %v", s, u, err)
		}
	})
}

func TestAddressIsUsed(t *testing.T) {
	var user, password, path, encoding string
	f := newFake(t, nil)
	f.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ = r.BasicAuth()
		path, encoding = r.URL.Path, r.Header.Get("Accept-Encoding")
		io.WriteString(w, `{"models":[]}`)
	})
	host := strings.Replace(f.URL, "http://", "http://me:p%40ss@", 1) + "/behind/a proxy"
	c := client(t, host)
	if _, err := c.Models(t.Context()); err != nil {
		t.Fatal(err)
	}
	if user != "me" || password != "p@ss" || path != "/behind/a proxy/api/ps" {
		t.Errorf("arrived as %q %q at %q", user, password, path)
	}
	if encoding != "" {
		t.Errorf("asks for %q: a compressing proxy would hold a stream back", encoding)
	}
	if got := c.Host(); strings.Contains(got, "p@ss") || strings.Contains(got, "me") {
		t.Errorf("Host() = %q shows credentials", got)
	}
}
