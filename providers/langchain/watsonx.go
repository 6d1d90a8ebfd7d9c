package langchain

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/tmc/langchaingo/llms"

	"mylm/providers"
	"mylm/providers/internal/wire"
)

// watsonx is IBM's. Its chat is OpenAI's under other names, at another path,
// with a token that is exchanged for the key.
func watsonx() backend {
	return backend{
		Provider: Provider{
			Name: "watsonx", Title: "IBM watsonx", BaseURL: "https://us-south.ml.cloud.ibm.com/ml/v1", NeedsKey: true,
			KeyVars: []string{"WATSONX_API_KEY", "WATSONX_APIKEY"}, BaseVars: []string{"WATSONX_URL"},
			Settings: []Setting{
				{Name: "project", Vars: []string{"WATSONX_PROJECT_ID"}, Required: true,
					Help: "the ID of the project that pays"},
				{Name: "auth_url", Vars: []string{"WATSONX_AUTH_URL"},
					Help: "where the key is traded for a token, if not at " + ibmTokens},
			},
			Streams: true, Lists: true,
		},
		open: func(c Config, client *http.Client) (llms.Model, error) {
			client.Transport = &ibmTransport{next: client.Transport.(*wire.Link), key: c.Key,
				from: cmp.Or(c.KeyFrom, "WATSONX_API_KEY"), tokens: cmp.Or(c.Settings["auth_url"], ibmTokens)}
			return openOpenAI(c, client)
		},
		api:    api{body: editWatsonx, format: openAIFormat},
		images: imageURLs,
		list: lister{
			path:      "/foundation_model_specs?limit=200&filters=function_text_chat&version=" + watsonxVersion,
			windows:   true,
			authorize: func(http.Header, Config) {}, // the list asks for none
		},
		check: func(c Config) error { return checkAuthURL(c.Settings["auth_url"]) },
	}
}

// ibmTokens is where IBM Cloud trades keys for tokens.
const ibmTokens = "https://iam.cloud.ibm.com/identity/token"

// watsonxVersion is the version of the API: the day that text/chat was
// released with the fields used here.
const watsonxVersion = "2024-10-08"

func checkAuthURL(s string) error {
	u, err := url.Parse(s)
	if err == nil && u.Scheme == "http" {
		if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return badConfig("the setting auth_url of IBM watsonx would carry the key unprotected",
				"Write it with https://.")
		}
	}
	return checkBase(backend{Provider: Provider{Title: "IBM watsonx (auth_url)"}}, s)
}

func editWatsonx(f fields, a asked) {
	f.keep("messages")
	f["model_id"] = a.model
	f["project_id"] = a.settings["project"]
	f.sampling(a, "seed", "max_tokens")
}

// ibmTransport sends what langchaingo writes for OpenAI to where IBM reads it.
type ibmTransport struct {
	next   *wire.Link
	key    string
	from   string // where the key is from, for messages
	tokens string // the address

	mu    sync.Mutex
	token string
	until time.Time
}

func (t *ibmTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	token, err := t.authorize(req.Context())
	if err != nil {
		if x := wire.Of(req.Context()); x != nil { // langchaingo hides why a request failed
			x.Unsent(err)
		}
		return nil, err
	}
	req = req.Clone(req.Context())
	req.URL.Path = strings.TrimSuffix(req.URL.Path, "/chat/completions") + "/text/chat_stream"
	req.URL.RawQuery = "version=" + watsonxVersion
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := t.next.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		t.forget(token)
	}
	return resp, err
}

// forget drops a token that is refused before its time.
func (t *ibmTransport) forget(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == token {
		t.token = ""
	}
}

// authorize returns a token. Calls at once may each fetch one: none waits for
// the request of another, which may be cancelled.
func (t *ibmTransport) authorize(ctx context.Context) (string, error) {
	t.mu.Lock()
	token, until := t.token, t.until
	t.mu.Unlock()
	if token != "" && time.Now().Before(until) {
		return token, nil
	}
	token, life, err := t.trade(ctx)
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.token, t.until = token, time.Now().Add(life*9/10) // a call begun with it is to reach the server in time
	return token, nil
}

// trade exchanges the key for a token. IBM takes the key in the body of a form.
func (t *ibmTransport) trade(ctx context.Context) (token string, life time.Duration, err error) {
	if t.key == "" {
		return "", 0, &providers.Error{Kind: providers.Auth, Permanent: true, Message: "IBM watsonx needs a key",
			Hint: fmt.Sprintf("Put it into %s.", t.from)}
	}
	server := &wire.Server{Title: "IBM Cloud", IsNot: "a service for tokens", Base: t.tokens, Secret: t.key,
		Address: "Check the setting auth_url.", Key: func(int) string { return t.keyHint() }}
	x := &wire.Exchange{Server: server, Limit: wire.LongestBody}
	form := url.Values{"grant_type": {"urn:ibm:params:oauth:grant-type:apikey"}, "apikey": {t.key}}
	req, err := http.NewRequestWithContext(x.Bind(ctx), http.MethodPost, t.tokens, strings.NewReader(form.Encode()))
	if err != nil {
		return "", 0, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	var answer struct {
		Token   string `json:"access_token"`
		Seconds int    `json:"expires_in"`
	}
	resp, err := t.next.RoundTrip(req)
	if err == nil {
		defer resp.Body.Close()
		err = json.NewDecoder(resp.Body).Decode(&answer)
	}
	fault := x.Failure(err)
	switch {
	case fault == nil && answer.Token != "" && printable(answer.Token):
		return answer.Token, time.Duration(answer.Seconds) * time.Second, nil
	case fault == nil:
		fault = x.Elsewhere("what %s sends is not a token")
	case fault.Kind == providers.BadRequest: // IBM answers 400 to an unknown key
		fault.Kind, fault.Permanent, fault.Hint = providers.Auth, true, t.keyHint()
	}
	fault.Message = "no token came: " + fault.Message
	return "", 0, fault
}

func (t *ibmTransport) keyHint() string {
	return "Check the key in " + t.from + ": it is one of IBM Cloud, made under Manage, Access (IAM), API keys."
}
