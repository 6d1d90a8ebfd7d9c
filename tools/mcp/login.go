package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2/maybe"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// Login is how a server is logged in to, by OAuth.
type Login struct {
	Store Logins
	// Client is the ID of a client that is registered with the authorization server,
	// or the https address of a document about one. Without it, mylm registers itself.
	Client, Secret string
	Scopes         []string // asked for instead of those that the server names
	Port           int      // of the address on this machine that the browser is sent back to; 0: any
	// Ask shows a person where to log in, and returns. The browser comes back by
	// itself; where it cannot, the address that it ended at can be sent to pasted.
	// Nil: nobody can be asked.
	Ask func(ctx context.Context, address string, pasted chan<- string) error
	// Hint are the words with which an error says how to log in.
	Hint string
}

// LoginError is the error of a server that wants a login, or another one.
type LoginError struct {
	Reason string
	Hint   string
}

// Error is the reason, with the hint.
func (e *LoginError) Error() string {
	if e.Hint == "" {
		return e.Reason
	}
	return e.Reason + ": " + e.Hint
}

// Logins keeps logins, a file per server. Its zero value keeps nothing.
type Logins struct {
	Dir string // made if need be
}

// held is the content of a file: a login, and what it is renewed with.
type held struct {
	Server       string           `json:"server"`
	URL          string           `json:"url"`
	Resource     string           `json:"resource"`
	Client       string           `json:"client_id"`
	Secret       string           `json:"client_secret,omitempty"` // that the authorization server has issued
	AuthorizeURL string           `json:"authorization_endpoint"`
	TokenURL     string           `json:"token_endpoint"`
	Style        oauth2.AuthStyle `json:"auth_style"`
	Scopes       []string         `json:"scopes,omitempty"`
	Wanted       []string         `json:"wanted,omitempty"` // that the server has asked for since
	Token        *oauth2.Token    `json:"token"`
}

func (l Logins) path(s *Server) string {
	return filepath.Join(l.Dir, s.Name+"-"+s.identity()+".json")
}

// load returns the login of a server, nil if there is none.
func (l Logins) load(s *Server) (*held, error) {
	if l.Dir == "" {
		return nil, nil
	}
	text, err := os.ReadFile(l.path(s))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	in := &held{}
	if err == nil {
		err = json.Unmarshal(text, in)
	}
	if err == nil && (in.Token == nil || in.URL != s.URL) {
		err = errors.New("it is not whole")
	}
	if err != nil {
		return nil, fmt.Errorf("the login of %s cannot be read: %w", s.Name, err)
	}
	return in, nil
}

func (l Logins) store(s *Server, in *held) error {
	if l.Dir == "" {
		return nil
	}
	text, err := json.MarshalIndent(in, "", "  ")
	if err != nil {
		return err
	}
	return maybe.WriteFile(l.path(s), append(text, '\n'), 0o600)
}

// locked calls f while no other process changes the login.
func (l Logins) locked(ctx context.Context, name string, f func() error) error {
	if l.Dir == "" {
		return f()
	}
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(l.Dir, name+".lock"), flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return fmt.Errorf("the login of %s cannot be locked: %w", name, err)
	}
	defer lock.Close()
	return f()
}

// Has reports whether there is a login for a server.
func (l Logins) Has(s *Server) bool {
	in, err := l.load(s)
	return err == nil && in != nil
}

// Forget drops the logins of the servers of a name. It reports whether there was one.
func (l Logins) Forget(ctx context.Context, name string) (existed bool, err error) {
	files, err := filesOf(l.Dir, name)
	if err != nil || len(files) == 0 {
		return false, err
	}
	err = l.locked(ctx, name, func() error {
		existed, err = removeAll(files)
		return err
	})
	return existed, err
}

// token returns the login that requests carry, renewed if it is about to end, or nil
// if there is none. One that equals refused is renewed, too.
func (o *oauth) token(ctx context.Context, refused string) (*oauth2.Token, error) {
	if o.fresh() {
		return o.latest(), nil
	}
	store := o.server.Login.Store
	in, err := store.load(o.server)
	if err != nil || in == nil {
		return nil, err
	}
	usable := func(t *oauth2.Token) bool { return t.Valid() && t.AccessToken != refused }
	if usable(in.Token) {
		return in.Token, nil
	}
	err = store.locked(ctx, o.server.Name, func() error {
		// Another process may have renewed it: many servers take a refresh token once.
		if in, err = store.load(o.server); err != nil || in == nil || usable(in.Token) {
			return err
		}
		if in.Token.RefreshToken == "" {
			return o.wanted("its login has expired")
		}
		renewed, err := o.renew(ctx, in)
		if err != nil {
			return err
		}
		in.Token = renewed
		return store.store(o.server, in)
	})
	if err != nil || in == nil {
		return nil, err
	}
	return in.Token, nil
}

// renew exchanges the refresh token. The library's own exchange does not say which
// resource the token is for, as the specification wants.
func (o *oauth) renew(ctx context.Context, in *held) (*oauth2.Token, error) {
	form := map[string][]string{"grant_type": {"refresh_token"}, "refresh_token": {in.Token.RefreshToken}}
	if in.Resource != "" {
		form["resource"] = []string{in.Resource}
	}
	secret := in.Secret
	if l := o.server.Login; l.Secret != "" && l.Client == in.Client {
		secret, in.Secret = l.Secret, "" // an earlier version has stored it
	}
	c := clientcredentials.Config{ClientID: in.Client, ClientSecret: secret, TokenURL: in.TokenURL, AuthStyle: in.Style, EndpointParams: form}
	token, err := c.Token(context.WithValue(ctx, oauth2.HTTPClient, o.client))
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &refused) && (refused.ErrorCode == "invalid_grant" || refused.ErrorCode == "invalid_client"):
		return nil, o.wanted("its login has expired (" + plainLine(refused.ErrorCode) + ")")
	case err != nil:
		return nil, &LoginError{Reason: "its login could not be renewed: " + plainLine(err.Error())}
	}
	if token.RefreshToken == "" {
		token.RefreshToken = in.Token.RefreshToken
	}
	return token, nil
}

// wanted is the error of a server that wants a login.
func (o *oauth) wanted(reason string) error {
	o.tell()
	return &LoginError{Reason: reason, Hint: o.server.Login.Hint}
}

// remember notes scopes that a server wants beyond those that it granted, for the
// next login.
func (o *oauth) remember(ctx context.Context, scopes []string) error {
	store := o.server.Login.Store
	return store.locked(ctx, o.server.Name, func() error {
		in, err := store.load(o.server)
		if err != nil || in == nil {
			return err
		}
		before := len(in.Wanted)
		if in.Wanted = union(in.Wanted, scopes); len(in.Wanted) == before {
			return nil
		}
		return store.store(o.server, in)
	})
}

func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// setToken has a request carry a token.
func setToken(r *http.Request, t *oauth2.Token) {
	if t != nil {
		r.Header.Set("Authorization", "Bearer "+t.AccessToken)
	}
}
