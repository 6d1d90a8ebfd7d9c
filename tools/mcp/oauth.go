package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// Bounds of a login.
const (
	maxLogins = 3                // in one connection: the first, and two for further scopes
	maxScopes = 100              // that a server may name at once
	authTime  = 30 * time.Second // of one request to an authorization server
)

// oauth logs in to the server of one connection.
type oauth struct {
	server *Server
	client *http.Client // for authorization servers
	tell   func()       // tells the user that a login is wanted, once

	one     sync.Mutex // held during a login
	granted []string   // scopes, by the logins in this connection
	failed  error      // why the last login failed: the library's next request makes none
	mu      sync.Mutex
	logins  int
	got     *oauth2.Token // by a login in this connection
}

// newOAuth is nil for a server that is not logged in to.
func newOAuth(ctx context.Context, s *server) *oauth {
	if s.Login == nil {
		return nil
	}
	tell := sync.OnceFunc(func() { s.hub.notify("the MCP server %s wants a login: %s", s.Name, s.Login.Hint) })
	o := &oauth{server: &s.Server, tell: tell, client: &http.Client{Timeout: authTime, CheckRedirect: noDetour, Transport: s.HTTP}}
	// Without a transport the SDK asks no private address for metadata. A server that
	// has one itself may well have its authorization server beside it.
	if u, err := url.Parse(s.URL); err == nil && o.client.Transport == nil && s.Login.Ask != nil && private(ctx, u.Hostname()) {
		o.client.Transport = http.DefaultTransport
	}
	return o
}

func private(ctx context.Context, host string) bool {
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	return err == nil && len(ips) > 0 && ips[0].Unmap().IsPrivate()
}

// noDetour keeps codes and tokens from being redirected to another host, and takes
// metadata only from the host that was asked for it.
func noDetour(r *http.Request, via []*http.Request) error {
	switch {
	case via[0].Method != http.MethodGet:
		return errors.New("its authorization server redirects what is secret")
	case len(via) >= 5:
		return errors.New("more than 5 redirects")
	case !sameOrigin(r.URL, via[0].URL.String()):
		return fmt.Errorf("its authorization server redirects to another host: %s", plainLine(r.URL.Host))
	}
	return nil
}

// fresh reports whether only a login that is made now counts.
func (o *oauth) fresh() bool { return o.server.Login.Ask != nil }

// latest is the login that was made in this connection.
func (o *oauth) latest() *oauth2.Token {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.got
}

// refused handles the answer of a server that wants a login, or more scopes. again
// says that the request is worth another try. The body of the answer is closed
// unless the answer stands.
func (o *oauth) refused(ctx context.Context, r *http.Request, resp *http.Response, sent *oauth2.Token) (again bool, err error) {
	challenges, _ := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate")) // what cannot be read asks for nothing
	var scopes []string
	more := false
	for _, c := range challenges {
		if c.Scheme == "bearer" {
			scopes = union(scopes, strings.Fields(c.Params["scope"]))
			more = more || c.Params["error"] == "insufficient_scope"
		}
	}
	if resp.StatusCode == http.StatusForbidden && !more {
		return false, nil
	}
	defer resp.Body.Close()
	if len(scopes) > maxScopes {
		return false, fmt.Errorf("it wants %d scopes; at most %d are asked for", len(scopes), maxScopes)
	}
	if o.fresh() {
		o.one.Lock()
		defer o.one.Unlock()
		if now := o.latest(); now != nil && (sent == nil || now.AccessToken != sent.AccessToken) {
			return true, nil // another request has led to a login
		}
		if !more {
			scopes = nil // the library finds them in the answer
		}
		if o.failed == nil {
			o.failed = o.login(ctx, r, resp, scopes)
		}
		return true, o.failed
	}
	if more {
		if err := o.remember(ctx, scopes); err != nil {
			return false, err
		}
		return false, o.wanted("it wants a login that allows more (" + plainLine(strings.Join(scopes, " ")) + ")")
	}
	if sent == nil {
		return false, o.wanted("it wants a login")
	}
	t, err := o.token(ctx, sent.AccessToken)
	switch {
	case err != nil:
		return false, err
	case t == nil || t.AccessToken == sent.AccessToken:
		return false, o.wanted("it does not accept the login")
	}
	return true, nil
}

// login has a person log in. further are scopes that the server wants beyond those
// that it has granted.
func (o *oauth) login(ctx context.Context, r *http.Request, resp *http.Response, further []string) error {
	if o.logins++; o.logins > maxLogins {
		return fmt.Errorf("it has asked for a login %d times", maxLogins)
	}
	before, err := o.server.Login.Store.load(o.server)
	if err != nil {
		before = nil // it is replaced
	}
	// The address itself and not "localhost", which may be another one (RFC 8252, 8.3).
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", o.server.Login.Port))
	if err != nil {
		return err
	}
	defer listener.Close()
	back := "http://" + listener.Addr().String() + "/callback"
	now := &held{Server: o.server.Name, URL: o.server.URL}
	l := o.server.Login
	c := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: back, Client: o.client, RequestRefreshToken: true,
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "mylm", RedirectURIs: []string{back}, GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		}},
		ScopeFilter: func(named []string) []string {
			if len(l.Scopes) > 0 {
				named = l.Scopes
			}
			if before != nil && len(before.Wanted)+len(further) > 0 {
				named = union(union(named, before.Scopes), before.Wanted)
			}
			named = union(union(named, o.granted), further)
			now.Scopes = named[:min(len(named), maxScopes)]
			return now.Scopes
		},
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			return o.fetch(ctx, args.URL, listener, before, now)
		},
		NewTokenSource: func(_ context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			now.Client, now.TokenURL, now.Style, now.Token = c.ClientID, c.Endpoint.TokenURL, c.Endpoint.AuthStyle, t
			if c.ClientSecret != l.Secret { // the server has issued it
				now.Secret = c.ClientSecret
			}
			return oauth2.StaticTokenSource(t), nil
		},
	}
	switch {
	case strings.HasPrefix(l.Client, "https://"):
		c.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: l.Client}
	case l.Client != "":
		c.PreregisteredClient = &oauthex.ClientCredentials{ClientID: l.Client}
		if l.Secret != "" {
			c.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: l.Secret}
		}
	}
	h, err := auth.NewAuthorizationCodeHandler(c)
	if err != nil {
		return err
	}
	if err := h.Authorize(ctx, r, resp); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &LoginError{Reason: "the login failed: " + cutBytes(strings.Join(strings.Fields(plain(err.Error())), " "), 500)}
	}
	o.granted = now.Scopes
	o.mu.Lock()
	o.got = now.Token
	o.mu.Unlock()
	return l.Store.locked(ctx, o.server.Name, func() error { return l.Store.store(o.server, now) })
}

// fetch sends a person to the authorization server and waits for the browser to
// come back.
func (o *oauth) fetch(ctx context.Context, address string, listener net.Listener, before, now *held) (*auth.AuthorizationResult, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	if err := checkURL(address); err != nil {
		return nil, fmt.Errorf("where it sends people to log in, %s, cannot be used: %w", plainLine(u.Host), err)
	}
	if own, err := url.Parse(o.server.URL); err == nil && loopback(u.Hostname()) && !loopback(own.Hostname()) {
		return nil, fmt.Errorf("it sends people to a program on this machine to log in: %s", plainLine(u.Host))
	}
	query := u.Query()
	place := *u
	place.RawQuery, place.Fragment = "", ""
	now.AuthorizeURL, now.Resource = place.String(), query.Get("resource")
	if before != nil && before.AuthorizeURL != now.AuthorizeURL {
		return nil, fmt.Errorf("it sends people to another place to log in than before: to %s and not to %s; if that is right, log out first", plainLine(now.AuthorizeURL), plainLine(before.AuthorizeURL))
	}
	state := query.Get("state")
	came := make(chan url.Values, 1)
	server := &http.Server{Handler: callback(listener.Addr().String(), state, came), ReadHeaderTimeout: authTime}
	var all sync.WaitGroup
	all.Go(func() { _ = server.Serve(listener) })
	ctx, cancel := context.WithCancel(ctx)
	pasted, failed := make(chan string), make(chan error, 1)
	all.Go(func() { failed <- o.server.Login.Ask(ctx, address, pasted) })
	defer func() {
		cancel()
		end, stop := context.WithTimeout(context.Background(), endPatience)
		_ = server.Shutdown(end) // the browser is given its page
		stop()
		server.Close()
		all.Wait()
	}()
	for {
		var back url.Values
		select {
		case back = <-came:
		case text := <-pasted:
			p, err := url.Parse(strings.TrimSpace(text))
			if err != nil || p.Query().Get("state") != state {
				continue
			}
			back = p.Query()
		case err := <-failed:
			if err != nil {
				return nil, err
			}
			continue
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if code := back.Get("error"); code != "" {
			return nil, fmt.Errorf("the authorization server refused: %s", plainLine(code+" "+back.Get("error_description")))
		}
		if back.Get("code") == "" {
			return nil, errors.New("the authorization server sent no code")
		}
		return &auth.AuthorizationResult{Code: back.Get("code"), State: back.Get("state"), Iss: back.Get("iss")}, nil
	}
}

// callback answers the browser that comes back. Whoever does not know the state, such
// as another page, cannot end a login.
func callback(host, state string, came chan<- url.Values) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if r.Method != http.MethodGet || r.URL.Path != "/callback" || r.Host != host || state == "" || query.Get("state") != state {
			http.Error(w, "This is not the answer to the login that is under way.", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Connection", "close")
		text := "You can close this page and go back to mylm.\n"
		if query.Get("error") != "" {
			text = "The login failed. " + text
		}
		_, _ = io.WriteString(w, text)
		select {
		case came <- query:
		default:
		}
	})
}

// Login has a person log in to a server, whose Login must be able to Ask, and lists its tools.
func (h *Hub) Login(ctx context.Context, name string) (Listed, error) {
	s := h.server(name)
	if s == nil || s.Login == nil || s.Login.Ask == nil {
		return Listed{}, fmt.Errorf("there is no MCP server %q to log in to", name)
	}
	listed, err := s.list(ctx)
	if err != nil {
		return listed, err
	}
	s.mu.Lock()
	l := s.link
	s.mu.Unlock()
	if l == nil || l.oauth == nil || l.oauth.latest() != nil {
		return listed, nil
	}
	// It lets anybody list its tools. What it wants for a call is in its metadata.
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, nil)
	if err != nil {
		return listed, err
	}
	err = l.oauth.login(ctx, r, &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{}, Body: http.NoBody}, nil)
	if err != nil {
		return listed, fmt.Errorf("MCP server %s wants no login for listing its tools, and %w", name, err)
	}
	return listed, nil
}
