package mcptest

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Service is an MCP server that wants a login. Its fields change how it behaves; once
// it was asked for something, Change sets them. It records what it is asked for.
type Service struct {
	*httptest.Server

	// Metadata and Authorization change the two documents of the discovery.
	Metadata, Authorization func(document map[string]any)
	// Answer takes a request's place before anything else does, if it returns true.
	Answer func(w http.ResponseWriter, r *http.Request) bool
	// Expires is how many seconds a token lasts; 0: an hour.
	Expires int
	// Deny is the error that the authorization server sends the browser back with.
	Deny string
	// Scope is wanted for a call of the tool, beyond a login; "": none is.
	Scope string
	// Issued is the secret that a client gets that registers itself; "": none.
	Issued string
	// ListScope is wanted for listing the tools, beyond a login; "": none is.
	ListScope string

	mu      sync.Mutex
	codes   map[string]url.Values // of the authorization requests, by code
	tokens  map[string]string     // the scopes of access tokens
	refresh map[string]string     // those of refresh tokens, which are taken once
	count   int
	Seen    []url.Values // requests for tokens
	Asked   []url.Values // requests of browsers
}

// New starts a service with one tool, echo. Close ends it.
func New() *Service {
	s := &Service{codes: map[string]url.Values{}, tokens: map[string]string{}, refresh: map[string]string{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// Endpoint is the address of the MCP server.
func (s *Service) Endpoint() string { return s.URL + "/mcp" }

// Change sets fields between requests.
func (s *Service) Change(set func(*Service)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set(s)
}

// Expire makes every access token invalid.
func (s *Service) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

// Revoke makes every token invalid.
func (s *Service) Revoke() {
	s.Expire()
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.refresh)
}

// Requests are those for tokens and those of browsers so far.
func (s *Service) Requests() (tokens, browsers []url.Values) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]url.Values{}, s.Seen...), append([]url.Values{}, s.Asked...)
}

func (s *Service) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	answer, metadata, authorization := s.Answer, s.Metadata, s.Authorization
	s.mu.Unlock()
	if answer != nil && answer(w, r) {
		return
	}
	switch {
	case r.URL.Path == "/mcp":
		s.mcp(w, r)
	case r.URL.Path == "/.well-known/oauth-protected-resource/mcp":
		send(w, metadata, map[string]any{"resource": s.Endpoint(), "authorization_servers": []string{s.URL}, "scopes_supported": []string{"read"}})
	case r.URL.Path == "/.well-known/oauth-authorization-server":
		send(w, authorization, map[string]any{
			"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token", "registration_endpoint": s.URL + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		})
	case r.URL.Path == "/register":
		var in map[string]any
		_ = json.NewDecoder(r.Body).Decode(&in)
		in["client_id"], in["token_endpoint_auth_method"] = "client-1", "none"
		if s.Issued != "" {
			in["client_secret"], in["token_endpoint_auth_method"] = s.Issued, "client_secret_post"
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(in)
	case r.URL.Path == "/authorize":
		s.authorize(w, r)
	case r.URL.Path == "/token":
		s.token(w, r)
	default:
		http.NotFound(w, r)
	}
}

func send(w http.ResponseWriter, change func(map[string]any), document map[string]any) {
	if change != nil {
		change(document)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(document)
}

func (s *Service) next(kind string) string {
	s.count++
	return fmt.Sprintf("%s-%d", kind, s.count)
}

// authorize consents for the person, and sends the browser back.
func (s *Service) authorize(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := r.URL.Query()
	s.Asked = append(s.Asked, q)
	back := url.Values{"state": {q.Get("state")}}
	if s.Deny != "" {
		back.Set("error", s.Deny)
	} else {
		code := s.next("code")
		s.codes[code] = q
		back.Set("code", code)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (s *Service) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = r.ParseForm()
	s.Seen = append(s.Seen, r.PostForm)
	scope, ok := "", false
	switch r.PostForm.Get("grant_type") {
	case "authorization_code":
		asked := s.codes[r.PostForm.Get("code")]
		delete(s.codes, r.PostForm.Get("code"))
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		ok = asked != nil && asked.Get("code_challenge_method") == "S256" && base64.RawURLEncoding.EncodeToString(sum[:]) == asked.Get("code_challenge") &&
			asked.Get("redirect_uri") == r.PostForm.Get("redirect_uri")
		scope = asked.Get("scope")
	case "refresh_token":
		scope, ok = s.refresh[r.PostForm.Get("refresh_token")]
		delete(s.refresh, r.PostForm.Get("refresh_token"))
	}
	w.Header().Set("Content-Type", "application/json")
	if !ok || r.PostForm.Get("resource") != s.Endpoint() {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"invalid_grant"}`)
		return
	}
	access, refresh := s.next("access"), s.next("refresh")
	s.tokens[access], s.refresh[refresh] = scope, scope
	expires := s.Expires
	if expires == 0 {
		expires = 3600
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": expires, "scope": scope})
}

// mcp lets in who has a token.
func (s *Service) mcp(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	scope, ok := s.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	wanted := ""
	switch {
	case r.Header.Get("Mcp-Name") == "echo":
		wanted = s.Scope
	case r.Header.Get("Mcp-Method") == "tools/list":
		wanted = s.ListScope
	}
	s.mu.Unlock()
	metadata := fmt.Sprintf(`resource_metadata="%s/.well-known/oauth-protected-resource/mcp"`, s.URL)
	if !ok {
		w.Header().Set("WWW-Authenticate", "Bearer "+metadata)
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
		return
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "service", Version: "1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Say it."}, func(_ context.Context, _ *mcp.CallToolRequest, in in) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "you said " + in.Text}}}, nil, nil
	})
	if wanted != "" && !strings.Contains(" "+scope+" ", " "+wanted+" ") {
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer error="insufficient_scope", scope="%s", %s`, wanted, metadata))
		http.Error(w, "Forbidden", http.StatusForbidden)
		return
	}
	mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}).ServeHTTP(w, r)
}
