package langchain

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mylm/providers"
	"mylm/providers/internal/wire"
)

// describe fills in what errors need to report about who is asked.
func (m *Model) describe() {
	own := !m.back.NeedsKey && m.back.ownKeys == "" // a server that the user runs
	m.server = wire.Server{
		Name: cmp.Or(m.config.Name, m.back.Name), Title: m.back.Title, IsNot: "a model's API",
		Base: m.base(), Secret: m.config.Key,
		Local: own, Given: m.config.BaseURL != "", Lists: m.back.Lists,
		Start: strings.TrimSpace("Is the server running? " + m.hintBase()), Log: "Look into the server's output.",
		Address: m.hintBase(), Key: m.hintKey,
	}
}

// Host returns the server's address without credentials, to be shown; "" if there is none.
func (m *Model) Host() string {
	u, err := url.Parse(m.base())
	if err != nil {
		return ""
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}

func (m *Model) hintBase() string {
	base := m.base()
	switch {
	case base == "":
		return ""
	case m.config.BaseFrom != "":
		return fmt.Sprintf("The address is %s: check it in %s.", base, m.config.BaseFrom)
	case len(m.back.BaseVars) > 0:
		return fmt.Sprintf("The address is %s: check it in %s or the configuration.", base, m.back.BaseVars[0])
	}
	return fmt.Sprintf("The address is %s: check it in the configuration.", base)
}

// hintKey explains where the key came from, or should come from.
func (m *Model) hintKey(status int) string {
	from := m.config.KeyFrom
	if from == "" && len(m.back.KeyVars) > 0 {
		from = m.back.KeyVars[0]
	}
	if from == "" && m.config.Key != "" {
		from = "the configuration"
	}
	header := m.keyHeader()
	switch {
	case header != "":
		return fmt.Sprintf("Check the header %s of the configuration: it is sent instead of a key.", header)
	case m.config.Key == "" && m.back.ownKeys != "":
		return m.back.ownKeys
	case from == "":
		return "The server wants a key: give one in the configuration."
	case m.config.Key == "":
		return fmt.Sprintf("Put a key into %s.", from)
	case status == http.StatusForbidden:
		return fmt.Sprintf("The key in %s is not allowed to do this.", from)
	}
	return fmt.Sprintf("Check the key in %s.", from)
}

// keyHeader is the header of the configuration that takes the key's place.
func (m *Model) keyHeader() string {
	for name := range m.config.Headers {
		switch name := http.CanonicalHeaderKey(name); name {
		case "Authorization", "X-Api-Key", googleKey:
			return name
		}
	}
	return ""
}

// namesTime bounds the look at the list of models that makes a hint better.
const namesTime = 3 * time.Second

// addNames names the models that are like the one that is missing. If the list
// does not arrive, the hint is unchanged.
func (m *Model) addNames(ctx context.Context, e *providers.Error) {
	if !m.back.Lists {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, namesTime)
	defer cancel()
	list, err := m.models(ctx)
	if err != nil {
		return
	}
	names := make([]string, 0, len(list))
	for _, l := range list {
		names = append(names, l.Name)
	}
	e.Hint = strings.TrimSpace(wire.DidYouMean(m.config.Model, names) + " " + e.Hint)
}
