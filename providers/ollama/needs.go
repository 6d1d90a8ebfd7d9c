package ollama

import "context"

// Version returns the version of the server.
func (c *Client) Version(ctx context.Context) (string, error) {
	return call(ctx, c, "", c.api.Version)
}

// Names returns the names of the server's models, in its order. It asks for
// nothing else, so it is faster than Models.
func (c *Client) Names(ctx context.Context) ([]string, error) {
	list, err := c.list(ctx)
	names := make([]string, len(list))
	for i, m := range list {
		names[i] = m.Name
	}
	return names, err
}

// Needs is what a model takes on its server.
type Needs struct {
	Window int   // tokens, as in Model.Info
	Bytes  int64 // an estimate of its memory with that window; 0: unknown, as of a model that runs elsewhere
	Loaded bool  // it is in memory already
}

// Needs estimates the memory of the model from the size of its file and of the
// cache for its window. What the server takes besides is not counted.
func (m *Model) Needs(ctx context.Context) (Needs, error) {
	info, err := m.Info(ctx)
	if err != nil {
		return Needs{}, err
	}
	n := Needs{Window: info.Window, Loaded: info.Loaded}
	f, err := m.known(ctx)
	if err != nil || f.remote {
		return n, err
	}
	list, err := m.client.list(ctx)
	for _, l := range list {
		if fullName(l.Name) == fullName(m.name) && l.Size > 0 {
			n.Bytes = l.Size + int64(n.Window)*f.cache
		}
	}
	return n, err
}
