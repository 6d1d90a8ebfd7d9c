package langchain

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"mylm/providers/internal/httpfault"
)

func (m *Model) hintModels() string {
	if m.back.Lists {
		return fmt.Sprintf("`mylm models --provider %s` lists the models there are.", cmp.Or(m.config.Name, m.back.Name))
	}
	return fmt.Sprintf("Look for the model's name in the documentation of %s.", m.back.Title)
}

// namesTime bounds the look at the list of models that makes a hint better.
const namesTime = 3 * time.Second

// hintNames names the models that are like the one that is missing. If the
// list does not come, the hint stays as it is.
func (m *Model) hintNames(ctx context.Context, hint string) string {
	if !m.back.Lists {
		return hint
	}
	ctx, cancel := context.WithTimeout(ctx, namesTime)
	defer cancel()
	list, err := m.models(ctx)
	if err != nil {
		return hint
	}
	names := make([]string, 0, len(list))
	for _, l := range list {
		names = append(names, httpfault.OneLine(l.Name))
	}
	if near := httpfault.Near(m.config.Model, names); len(near) > 0 {
		return fmt.Sprintf("Did you mean %s? Otherwise: %s", strings.Join(near, " or "), hint)
	}
	return hint
}

// hintKey says where the key came from, or should come from.
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
	case status == http.StatusProxyAuthRequired:
		return hintProxyKey
	case header != "":
		return fmt.Sprintf("Check the header %s of the configuration: it goes out in the place of a key.", header)
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

const hintProxyKey = "The proxy wants credentials: HTTPS_PROXY=http://user:password@host"

// keyHeader is the header of the configuration that takes the key's place.
func (m *Model) keyHeader() string {
	for _, name := range []string{"Authorization", "X-Api-Key", googleKey} {
		if m.link != nil && m.link.headers.Get(name) != "" {
			return name
		}
	}
	return ""
}

// hintServe is for a server that cannot be reached.
func (m *Model) hintServe() string {
	if m.config.BaseURL == "" && (m.back.NeedsKey || m.back.ownKeys != "") {
		return "Check the network."
	}
	return "Is the server running? " + m.hintBase()
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

func (m *Model) orBase() string {
	if m.config.BaseURL == "" {
		return ""
	}
	return ", and the address for a typing error"
}

// hintScheme is for a server that does not speak what the address promises.
func (m *Model) hintScheme(x *exchange) string {
	if x.request == nil {
		return m.hintBase()
	}
	other := map[string]string{"http": "https", "https": "http"}[x.request.Scheme]
	return fmt.Sprintf("Try the address with %s://. With a certificate of your own, add its authority to the system's.", other)
}

func (m *Model) hintFault() string {
	if m.back.NeedsKey || m.back.ownKeys != "" {
		return "Ask again in a moment."
	}
	return "Look into the server's output."
}
