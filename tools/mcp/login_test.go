//go:build unix

package mcp_test

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"mylm/tools/mcp"
	"mylm/tools/mcp/mcptest"
)

// browse follows the redirects of a login, as a browser does.
func browse(ctx context.Context, address string, _ chan<- string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

type asker = func(context.Context, string, chan<- string) error

// protected is a server with a login that is kept in a directory. ask is nil in a run.
func protected(s *mcptest.Service, dir string, ask asker) mcp.Server {
	return mcp.Server{Name: "one", URL: s.Endpoint(), Login: &mcp.Login{Store: mcp.Logins{Dir: dir}, Ask: ask, Hint: "log in with knock"}}
}

func service(t *testing.T) *mcptest.Service {
	t.Helper()
	s := mcptest.New()
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

func logIn(t *testing.T, server mcp.Server) error {
	t.Helper()
	h := hub(t, mcp.Options{Servers: []mcp.Server{server}})
	defer h.Close()
	_, err := h.Login(t.Context(), "one")
	return err
}

// say calls the tool in a run of its own.
func say(t *testing.T, s *mcptest.Service, dir string) (body string, told []string) {
	t.Helper()
	var mu sync.Mutex
	h := hub(t, mcp.Options{Servers: []mcp.Server{protected(s, dir, nil)}, Notify: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, text)
	}})
	defer h.Close()
	return call(t, registry(t, h), "one__echo", `{"text":"hi"}`).Body(), told
}

// A person logs in once; runs use the login, renew it, and say what to do when it is
// over.
func TestLogin(t *testing.T) {
	t.Parallel()
	s, dir := service(t), t.TempDir()
	if body, told := say(t, s, dir); !strings.Contains(body, "wants a login: log in with knock") || len(told) != 1 || !strings.Contains(told[0], "knock") {
		t.Errorf("without a login: %q, told %q", body, told)
	}
	if err := logIn(t, protected(s, dir, browse)); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "one-*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	if body, told := say(t, s, dir); !strings.Contains(body, "you said hi") || told != nil {
		t.Errorf("got %q, told %q", body, told)
	}
	tokens, browsers := s.Requests()
	if len(tokens) != 1 || len(browsers) != 1 || browsers[0].Get("resource") != s.Endpoint() || browsers[0].Get("scope") != "read" {
		t.Errorf("asked for %v, %v", tokens, browsers)
	}

	// What the server does not accept any more is renewed, for the same resource, once by all.
	s.Expire()
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if body, _ := say(t, s, dir); !strings.Contains(body, "you said hi") {
				t.Errorf("not renewed: %q", body)
			}
		})
	}
	all.Wait()
	tokens, _ = s.Requests()
	if len(tokens) != 2 || tokens[1].Get("grant_type") != "refresh_token" || tokens[1].Get("resource") != s.Endpoint() {
		t.Errorf("renewed by %v", tokens[1:])
	}

	s.Revoke()
	if body, told := say(t, s, dir); !strings.Contains(body, "expired (invalid_grant): log in with knock") || len(told) != 1 {
		t.Errorf("revoked: %q, told %q", body, told)
	}
	server := protected(s, dir, nil)
	if existed, err := server.Login.Store.Forget(t.Context(), "one"); err != nil || !existed {
		t.Error(existed, err)
	}
	if _, err := os.Stat(files[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the login is still there")
	}
	nothing := mcp.Logins{Dir: filepath.Join(t.TempDir(), "logins")}
	if existed, err := nothing.Forget(t.Context(), "one"); err != nil || existed {
		t.Error(existed, err)
	}
	if _, err := os.Stat(nothing.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("forgetting nothing made a directory")
	}
}

// A token that is about to end is renewed before it is sent.
func TestLoginRenewedInTime(t *testing.T) {
	t.Parallel()
	s, dir := service(t), t.TempDir()
	s.Expires = 5 // less than the margin
	if err := logIn(t, protected(s, dir, browse)); err != nil {
		t.Fatal(err)
	}
	s.Change(func(s *mcptest.Service) {
		s.Answer = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/mcp" && strings.HasSuffix(r.Header.Get("Authorization"), "access-2") {
				t.Error("the old token was sent")
			}
			return false
		}
	})
	if body, _ := say(t, s, dir); !strings.Contains(body, "you said hi") {
		t.Errorf("got %q", body)
	}
}

// Where a call wants more than was granted, the next login asks for both.
func TestLoginForMore(t *testing.T) {
	t.Parallel()
	s, dir := service(t), t.TempDir()
	s.Scope = "write"
	if err := logIn(t, protected(s, dir, browse)); err != nil {
		t.Fatal(err)
	}
	if body, _ := say(t, s, dir); !strings.Contains(body, "allows more (write): log in with knock") {
		t.Errorf("got %q", body)
	}
	if err := logIn(t, protected(s, dir, browse)); err != nil {
		t.Fatal(err)
	}
	if body, _ := say(t, s, dir); !strings.Contains(body, "you said hi") {
		t.Errorf("got %q", body)
	}
	_, browsers := s.Requests()
	if len(browsers) != 2 {
		t.Fatalf("asked for %v", browsers)
	}
	// The library puts scopes in any order, which means nothing (RFC 6749, 3.3).
	if scopes := slices.Sorted(slices.Values(strings.Fields(browsers[1].Get("scope")))); !slices.Equal(scopes, []string{"read", "write"}) {
		t.Errorf("asked for %v", browsers)
	}
}

// Where a login wants more for the list of tools, the second one asks for both.
func TestLoginInSteps(t *testing.T) {
	t.Parallel()
	for _, scopes := range [][]string{nil, {"read"}} {
		s, dir := service(t), t.TempDir()
		s.ListScope = "list"
		server := protected(s, dir, browse)
		server.Login.Scopes = scopes
		if err := logIn(t, server); err != nil {
			t.Error(err)
		}
		_, browsers := s.Requests()
		if len(browsers) != 2 {
			t.Fatalf("asked for %v", browsers)
		}
		if asked := slices.Sorted(slices.Values(strings.Fields(browsers[1].Get("scope")))); !slices.Equal(asked, []string{"list", "read"}) {
			t.Errorf("asked for %v", browsers)
		}
	}
}

// A secret that the user has configured is in no file, and the one of now is sent. One
// that the authorization server has issued is kept.
func TestLoginSecret(t *testing.T) {
	t.Parallel()
	for secret, renewed := range map[string]string{"canary": "changed", "": "issued"} {
		s, dir := service(t), t.TempDir()
		s.Authorization = func(d map[string]any) { d["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"} }
		if secret == "" {
			s.Issued = "issued"
		}
		server := protected(s, dir, browse)
		if secret != "" {
			server.Login.Client, server.Login.Secret = "mylm", secret
		}
		if err := logIn(t, server); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "one-*.json"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		kept, err := os.ReadFile(files[0])
		if err != nil || strings.Contains(string(kept), "canary") || strings.Contains(string(kept), "issued") != (secret == "") {
			t.Errorf("%q: kept %s, %v", secret, kept, err)
		}
		s.Expire()
		server = protected(s, dir, nil)
		if secret != "" {
			server.Login.Client, server.Login.Secret = "mylm", "changed"
		}
		h := hub(t, mcp.Options{Servers: []mcp.Server{server}})
		if body := call(t, registry(t, h), "one__echo", `{"text":"hi"}`).Body(); !strings.Contains(body, "you said hi") {
			t.Errorf("got %q", body)
		}
		h.Close()
		tokens, _ := s.Requests()
		if len(tokens) != 2 || tokens[0].Get("client_secret") != cmp.Or(secret, "issued") || tokens[1].Get("client_secret") != renewed {
			t.Errorf("%q: sent %v", secret, tokens)
		}
	}
}

// The address at which a browser on another machine ends can be pasted.
func TestLoginPasted(t *testing.T) {
	t.Parallel()
	s := service(t)
	err := logIn(t, protected(s, t.TempDir(), func(ctx context.Context, address string, pasted chan<- string) error {
		client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		resp, err := client.Get(address)
		if err != nil {
			return err
		}
		resp.Body.Close()
		for _, text := range []string{"what?", "http://127.0.0.1:1/callback?code=x&state=guessed", " " + resp.Header.Get("Location") + "\n"} {
			pasted <- text
		}
		return nil
	}))
	if err != nil {
		t.Error(err)
	}
}

// Whoever reaches the address that the browser comes back to cannot end the login
// without its state, and a person who gives up ends it at once.
func TestLoginByAnotherPage(t *testing.T) {
	t.Parallel()
	s := service(t)
	if err := logIn(t, protected(s, t.TempDir(), func(ctx context.Context, address string, _ chan<- string) error {
		u, err := url.Parse(address)
		if err != nil {
			return err
		}
		back := u.Query().Get("redirect_uri")
		for _, page := range []string{"?code=evil&state=guessed", "?error=access_denied", "/other?state=" + u.Query().Get("state"), ""} {
			resp, err := http.Get(back + page)
			if err != nil {
				return err
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusBadRequest {
				t.Errorf("%s: %s", page, resp.Status)
			}
		}
		return browse(ctx, address, nil)
	})); err != nil {
		t.Error(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	var back string
	h := hub(t, mcp.Options{Servers: []mcp.Server{protected(s, t.TempDir(), func(ctx context.Context, address string, _ chan<- string) error {
		u, err := url.Parse(address)
		if err != nil {
			return err
		}
		r, err := url.Parse(u.Query().Get("redirect_uri"))
		back = r.Host
		cancel()
		<-ctx.Done()
		return err
	})}})
	if _, err := h.Login(ctx, "one"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	h.Close()
	if c, err := net.Dial("tcp", back); err == nil {
		c.Close()
		t.Error("the address is still open")
	}
}

// A server that leads a login elsewhere is found out, and nothing secret gets there.
func TestLoginElsewhere(t *testing.T) {
	t.Parallel()
	var leaked atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked.Add(1) }))
	t.Cleanup(elsewhere.Close)
	there := strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1)
	redirect := func(path string, status int) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == path {
				http.Redirect(w, r, there+path, status)
			}
			return r.URL.Path == path
		}
	}
	for name, c := range map[string]struct {
		change func(s *mcptest.Service)
		want   string
	}{
		"the metadata is of another resource": {func(s *mcptest.Service) {
			s.Metadata = func(d map[string]any) { d["resource"] = "https://bank.example.com/mcp" }
			s.Authorization = func(d map[string]any) { d["issuer"] = "https://bank.example.com" } // nor is the server itself trusted as one
		}, "does not match issuer"},
		"another issuer": {func(s *mcptest.Service) {
			s.Authorization = func(d map[string]any) { d["issuer"] = "https://other.example.com" }
		}, "does not match issuer"},
		"an authorization server without encryption": {func(s *mcptest.Service) {
			s.Authorization = func(d map[string]any) { d["authorization_endpoint"] = "http://auth.example.com/authorize" }
		}, "not use HTTPS"},
		"a token endpoint without encryption": {func(s *mcptest.Service) {
			s.Authorization = func(d map[string]any) { d["token_endpoint"] = "http://auth.example.com/token" }
		}, "not use HTTPS"},
		"a page that is a script": {func(s *mcptest.Service) {
			s.Authorization = func(d map[string]any) { d["authorization_endpoint"] = "javascript:alert(1)" }
		}, "disallowed scheme"},
		"without PKCE": {func(s *mcptest.Service) {
			s.Authorization = func(d map[string]any) { delete(d, "code_challenge_methods_supported") }
		}, "PKCE"},
		"metadata that is redirected":       {func(s *mcptest.Service) { s.Answer = redirect("/.well-known/oauth-authorization-server", 302) }, "redirects to another host"},
		"a registration that is redirected": {func(s *mcptest.Service) { s.Answer = redirect("/register", 307) }, "redirects what is secret"},
		"a code that is redirected":         {func(s *mcptest.Service) { s.Answer = redirect("/token", 307) }, "redirects what is secret"},
		"a refusal":                         {func(s *mcptest.Service) { s.Deny = "access_denied" }, "the authorization server refused: access_denied"},
		"a login after each login": {func(s *mcptest.Service) {
			s.Answer = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/mcp" {
					s.Expire()
				}
				return false
			}
		}, "does not accept the login"},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := service(t), t.TempDir()
			c.change(s)
			err := logIn(t, protected(s, dir, browse))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
			most := 1 // what failed is not tried again
			if name == "a login after each login" {
				most = 3
			}
			if _, browsers := s.Requests(); len(browsers) > most {
				t.Errorf("the person was asked %d times", len(browsers))
			}
		})
	}

	// A login is made where the last one was, until it is forgotten.
	s, dir := service(t), t.TempDir()
	if err := logIn(t, protected(s, dir, browse)); err != nil {
		t.Fatal(err)
	}
	s.Change(func(s *mcptest.Service) {
		s.Authorization = func(d map[string]any) { d["authorization_endpoint"] = elsewhere.URL + "/authorize" }
	})
	if err := logIn(t, protected(s, dir, browse)); err == nil || !strings.Contains(err.Error(), "another place to log in than before") {
		t.Errorf("got %v", err)
	}
	// The login is for one address: another server of the name gets nothing.
	other := protected(s, dir, nil)
	if other.URL = elsewhere.URL; other.Login.Store.Has(&other) {
		t.Error("another address has the login")
	}
	// A refresh token is not sent on.
	s.Expire()
	s.Change(func(s *mcptest.Service) { s.Answer = redirect("/token", 307) })
	if body, _ := say(t, s, dir); !strings.Contains(body, "could not be renewed") {
		t.Errorf("got %q", body)
	}
	if n := leaked.Load(); n > 0 {
		t.Errorf("another host got %d requests", n)
	}
}

// An event stream that names another host for messages does not get them there.
func TestMessagesStayWithTheHost(t *testing.T) {
	t.Parallel()
	var leaked atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked.Add(1) }))
	t.Cleanup(elsewhere.Close)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("event: endpoint\ndata: " + elsewhere.URL + "/messages\n\n"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	h := hub(t, mcp.Options{Servers: []mcp.Server{{Name: "one", URL: s.URL, SSE: true}}})
	defer h.Close()
	if o := call(t, registry(t, h), "one__echo", `{"text":"hi"}`); o.Success() || !strings.Contains(o.Error, "another host") {
		t.Errorf("got %q", o.Body())
	}
	if leaked.Load() > 0 {
		t.Error("another host got a message")
	}
}
