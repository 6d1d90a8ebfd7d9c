package langchain

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mylm/providers"
	"mylm/providers/internal/wire"
)

// lister is how a provider's models are listed. langchaingo cannot.
type lister struct {
	path      string                        // below the base URL
	next      string                        // the parameter that asks for another page; "": there is one
	windows   bool                          // the list has the windows
	authorize func(h http.Header, c Config) // puts the key into the headers
}

// mostPages bounds a list that never ends.
const mostPages = 50

// Models lists the models of the provider.
func (m *Model) Models(ctx context.Context) ([]providers.ModelInfo, error) {
	if !m.back.Lists {
		return nil, &providers.Error{Kind: providers.BadRequest, Permanent: true,
			Message: m.back.Title + " cannot list its models",
			Backend: m.server.Name, Hint: "Look for the names in its documentation."}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return m.models(ctx)
}

func (m *Model) models(ctx context.Context) (all []providers.ModelInfo, err error) {
	path := m.back.list.path
	for range mostPages {
		models, next, err := m.page(ctx, path)
		if err != nil {
			return nil, err
		}
		all = append(all, models...)
		if path = next; path == "" {
			break
		}
	}
	slices.SortStableFunc(all, func(a, b providers.ModelInfo) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func (m *Model) page(ctx context.Context, path string) ([]providers.ModelInfo, string, error) {
	x := &wire.Exchange{Server: &m.server, Edit: m.edit(asked{}, nil), Limit: wire.LongestBody}
	body, err := m.get(x.Bind(ctx), path)
	if ctx.Err() != nil {
		return nil, "", ctx.Err()
	}
	if e := x.Failure(err); e != nil {
		return nil, "", e
	}
	models, next, ok := readList(body)
	if !ok {
		return nil, "", x.Elsewhere("what %s sends is not a list of models")
	}
	if next == "" || m.back.list.next == "" {
		return models, "", nil
	}
	return models, m.back.list.path + "&" + m.back.list.next + "=" + url.QueryEscape(next), nil
}

func (m *Model) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.base()+path, nil)
	if err != nil {
		return nil, err
	}
	if m.config.Key != "" {
		m.back.list.authorize(req.Header, m.config)
	}
	resp, err := m.link.Client().Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// bearer is the usual way to send a key.
func bearer(h http.Header, c Config) { h.Set("Authorization", "Bearer "+c.Key) }
