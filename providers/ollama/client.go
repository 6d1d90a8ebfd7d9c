package ollama

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ollama/ollama/api"

	"mylm/providers"
	"mylm/providers/internal/wire"
)

// Options describes how to reach a server. The zero value reaches the one on
// this machine.
type Options struct {
	// Host is the server's address, as ParseHost reads it.
	Host string

	// HTTP makes the requests. Nil is a client of its own without a time limit:
	// a server sends nothing at all while it loads a model and reads the
	// prompt, so only ctx can limit the wait.
	HTTP *http.Client
}

// Client is one Ollama server. It may be used by several goroutines at once.
type Client struct {
	base   *url.URL
	http   *http.Client
	api    *api.Client
	server wire.Server
}

var _ providers.Lister = (*Client)(nil)

// New makes a client. It sends nothing. The only error is a bad Host.
func New(o Options) (*Client, error) {
	base, err := ParseHost(o.Host)
	if err != nil {
		return nil, err
	}
	link := &wire.Link{Next: Transport()}
	c := &Client{base: base, http: link.Client()}
	if o.HTTP != nil {
		*c.http = *o.HTTP
		c.http.Transport = &wire.Link{Next: cmp.Or(o.HTTP.Transport, http.DefaultTransport)}
		if c.http.CheckRedirect == nil {
			c.http.CheckRedirect = wire.StaysHere
		}
	}
	c.api = api.NewClient(base, c.http)
	c.describe()
	return c, nil
}

// Transport makes requests as New's own client does, for one that differs in
// something else.
func Transport() http.RoundTripper { return wire.Transport() }

// Host returns the server's address without credentials, to be shown.
func (c *Client) Host() string {
	u := *c.base
	u.User = nil
	return u.String()
}

// Close drops idle connections. The client remains usable.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// ModelOptions is what stays the same in every call of one model.
type ModelOptions struct {
	// NumCtx is the window in tokens. Zero leaves the choice to the Model: the
	// window with which the model is loaded if that is at least 8192, else the
	// largest of 8192, 16384, 32768 and 65536 whose cache takes at most 1 GiB.
	// Either way it is at most what the model was trained for.
	NumCtx int

	// KeepAlive is how long the server keeps the model in memory after a call:
	// negative: without limit; zero: not at all. Nil leaves it to the server.
	KeepAlive *time.Duration
}

// ParseKeepAlive reads a ModelOptions.KeepAlive as Ollama writes it: a duration
// ("10m", "1h30m") or a number of seconds; a negative one means without limit.
func ParseKeepAlive(s string) (time.Duration, error) {
	if n, err := strconv.Atoi(s); err == nil && n <= int(maxKeepAlive/time.Second) {
		return max(time.Duration(n), -1) * time.Second, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d > maxKeepAlive {
		return 0, fmt.Errorf("keep-alive %q: want a duration such as 10m, a number of seconds, or -1 for no limit", s)
	}
	return d, nil
}

// maxKeepAlive is far above any use and far below what overflows.
const maxKeepAlive = 10 * 365 * 24 * time.Hour

// Model returns the model called name. Nothing is sent: whether the server has
// it shows in the first call.
func (c *Client) Model(name string, o ModelOptions) *Model {
	return &Model{client: c, name: name, options: o, facts: newOnce[facts](), window: newOnce[int]()}
}

// Models lists the models of the server, in its order (the last changed
// first). Info.Window is that of a loaded model, else 0.
//
// The server's list does not say of every model that it thinks, and before 0.30
// it reports no capabilities at all. What is missing is asked for each model
// separately, a few at a time; whether models think only if at most 20 would have
// to be asked.
func (c *Client) Models(ctx context.Context) ([]providers.ModelInfo, error) {
	list, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	running, err := c.running(ctx)
	if err != nil {
		return nil, err
	}
	all := c.factsOf(ctx, list, true)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	models := make([]providers.ModelInfo, len(list))
	for i, l := range list {
		info := all[i].info()
		info.Window, info.Loaded = running.window(l.Name)
		models[i] = providers.ModelInfo{Name: l.Name, Size: l.Size, Modified: l.ModifiedAt, Info: info}
	}
	return models, nil
}

// list is what the server reports about its models.
func (c *Client) list(ctx context.Context) ([]api.ListModelResponse, error) {
	list, err := call(ctx, c, "", c.api.List)
	if err != nil {
		return nil, err
	}
	return list.Models, nil
}

// loaded is the models in memory and their windows.
type loaded map[string]int

func (l loaded) window(name string) (int, bool) {
	n, ok := l[fullName(name)]
	return n, ok
}

// fullName is the name under which the server lists a model.
func fullName(name string) string {
	name = strings.ToLower(name)
	if !strings.Contains(name[strings.LastIndexByte(name, '/')+1:], ":") {
		name += ":latest"
	}
	return name
}

// running asks what is in memory.
func (c *Client) running(ctx context.Context) (loaded, error) {
	ps, err := call(ctx, c, "", c.api.ListRunning)
	if err != nil {
		return nil, err
	}
	l := loaded{}
	for _, m := range ps.Models {
		l[fullName(m.Name)] = m.ContextLength
	}
	return l, nil
}
