package langchain

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/tmc/langchaingo/llms"

	"mylm/providers"
	"mylm/providers/internal/wire"
)

// Config describes which model to open, and how.
type Config struct {
	Model   string // the model's name at the provider
	Name    string // what the user calls who answers, for hints; "": the provider's name
	BaseURL string // "": the provider's own
	// where BaseURL came from, for messages; "": the first of the provider's
	// BaseVars, or the configuration
	BaseFrom string
	Key      string // the secret; "" where none is needed
	// where Key came from or is looked for, for messages; "": the first of the
	// provider's KeyVars
	KeyFrom   string
	Headers   map[string]string // sent with each request, and replacing langchaingo's own
	Window    int               // tokens of prompt and reply together; 0: unknown
	Settings  map[string]string // what only this provider has, by Setting.Name
	Transport http.RoundTripper // makes the requests; nil: one like net/http's default, of the model's own
}

// Provider is what a provider needs and can.
type Provider struct {
	Name  string // as it is typed
	Title string // as it is shown
	// environment variables that usually hold the key; the first that is set
	// counts. Nothing here reads them.
	KeyVars  []string
	BaseVars []string  // the same for the address
	BaseURL  string    // its own address; "": it has none
	NeedsKey bool      // does not answer without a key
	Settings []Setting // what else it takes
	Streams  bool      // the reply comes as it is made
	Lists    bool      // Model.Models works
	Missing  string    // not in this build: how to get it; "": it is here
}

// Setting is a value that only one provider supports.
type Setting struct {
	Name     string   // in Config.Settings
	Vars     []string // environment variables that usually hold it
	Required bool
	Help     string // what it is, in a few words
}

// backend is a provider and how it is talked to.
type backend struct {
	Provider

	// open makes the model of langchaingo. c is checked, and its BaseURL and
	// Model are set; every request must go through the client.
	open func(c Config, client *http.Client) (llms.Model, error)

	api api

	path string // behind the address, for langchaingo

	// list is how models are listed, where Lists.
	list lister

	// check validates what is particular to the provider. May be nil.
	check func(c Config) error

	embeds     bool // it also makes vectors: open gives an embeddings.EmbedderClient
	anyModel   bool // the model needs no name: the server has one
	noOptions  bool // takes neither temperature nor limit
	oneMessage bool // langchaingo reads the first message only
	oneSystem  bool // one system message only
	onePiece   bool // langchaingo is not asked to stream
	endOf      End  // the sign of a whole reply, where langchaingo reads it
	noEmpty    bool // a message without text is refused: leave it out

	images        imageForm // how it takes pictures
	refusedImages []string  // media types that it does not take
	ownKeys       string    // how the provider signs requests where no key is given, as a hint; "": it does not
}

// backends are the providers of this build, by name. Programs that open none
// do not pay for the table.
var backends = sync.OnceValue(func() map[string]backend {
	all := map[string]backend{}
	for _, b := range append(openAILike(), anthropicBackend(), bedrockBackend(), googleBackend(), langchainOllama(),
		watsonx(), local()) {
		all[b.Name] = b
	}
	return all
})

func names() []string { return slices.Sorted(maps.Keys(backends())) }

// Providers returns all providers, sorted by name.
func Providers() []Provider {
	var out []Provider
	for _, name := range names() {
		out = append(out, backends()[name].Provider)
	}
	return out
}

// Lookup returns the provider of that name.
func Lookup(name string) (Provider, bool) {
	b, ok := backends()[name]
	return b.Provider, ok
}

// Open makes a model of a provider. It sends nothing and reads neither
// environment nor files. A model without a name can list others, but not talk.
func Open(provider string, c Config) (*Model, error) {
	b, ok := backends()[provider]
	if !ok {
		return nil, badConfig(fmt.Sprintf("there is no provider %q", provider),
			"Providers: "+strings.Join(names(), ", "))
	}
	return openBackend(b, c)
}

func openBackend(b backend, c Config) (*Model, error) {
	if b.Missing != "" {
		return nil, badConfig(b.Title+" is not in this build", b.Missing)
	}
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	if err := checkConfig(b, c); err != nil {
		return nil, err
	}
	c.BaseURL = strings.TrimSuffix(filled(withPath(c.BaseURL, b.BaseURL), c.Settings), b.path)
	b.BaseURL = filled(b.BaseURL, c.Settings)
	m := &Model{back: b, config: c}
	m.describe()
	m.link = &wire.Link{Next: c.Transport}
	if c.Transport == nil {
		m.link.Next = wire.Transport()
	}
	c.BaseURL = m.base() + b.path
	if b.anyModel && c.Model == "" {
		c.Model = "default"
		m.config.Model = c.Model
	}
	llm, err := open(b, c, m.link.Client())
	if err != nil {
		return nil, badConfig(b.Title+": "+wire.OneLine(wire.WithoutKey(err.Error(), c.Key)), "")
	}
	m.llm = llm
	return m, nil
}

// open calls langchaingo's constructor, which must not end the program.
func open(b backend, c Config, client *http.Client) (llm llms.Model, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("langchaingo does not take these settings: %v", p)
		}
	}()
	return b.open(c, client)
}

// base is where the provider is reached.
func (m *Model) base() string { return cmp.Or(m.config.BaseURL, m.back.BaseURL) }

func badConfig(message, hint string) error {
	return &providers.Error{Kind: providers.BadRequest, Message: message, Hint: hint, Permanent: true}
}

// checkConfig finds every fault before a constructor of langchaingo's sees it:
// some of them end the program.
func checkConfig(b backend, c Config) error {
	if err := checkBase(b, c.BaseURL); err != nil {
		return err
	}
	if b.NeedsKey && c.Key == "" && (c.BaseURL == "" || c.BaseURL == b.BaseURL) { // elsewhere may be a server without
		from := cmp.Or(c.KeyFrom, strings.Join(b.KeyVars, " or "))
		return &providers.Error{Kind: providers.Auth, Permanent: true, Message: b.Title + " needs a key",
			Hint: fmt.Sprintf("Put it into %s.", from)}
	}
	if !printable(c.Key) || strings.Contains(c.Key, " ") {
		return badConfig(fmt.Sprintf("the key for %s holds a space, a line break or another character that no key has", b.Title), "Copy it again, without quotes.")
	}
	for name, value := range c.Headers {
		if !token(name) {
			return badConfig(fmt.Sprintf("%q cannot be the name of a header", name), "")
		}
		if !printable(value) {
			return badConfig(fmt.Sprintf("the value of the header %q holds a line break or another control character",
				name), "")
		}
	}
	if c.Window < 0 {
		return badConfig(fmt.Sprintf("a window of %d tokens is impossible", c.Window), "")
	}
	if err := checkSettings(b, c.Settings); err != nil || b.check == nil {
		return err
	}
	return b.check(c)
}

func checkSettings(b backend, given map[string]string) error {
	var known []string
	for _, s := range b.Settings {
		known = append(known, s.Name)
		if s.Required && given[s.Name] == "" {
			return badConfig(fmt.Sprintf("%s needs %s: %s", b.Title, s.Name, s.Help),
				strings.TrimSpace("Set it in the configuration. "+variables(s.Vars)))
		}
	}
	for name, value := range given {
		if !slices.Contains(known, name) {
			return badConfig(fmt.Sprintf("%s has no setting %q", b.Title, name),
				"It has: "+cmp.Or(strings.Join(known, ", "), "none"))
		}
		if strings.ContainsFunc(value, unicode.IsControl) {
			return badConfig(fmt.Sprintf("the setting %s holds a line break or another control character", name), "")
		}
	}
	return nil
}

func variables(vars []string) string {
	if len(vars) == 0 {
		return ""
	}
	return "Usual variables: " + strings.Join(vars, ", ")
}

// checkBase refuses an address that would not work, or would carry a secret
// into messages.
func checkBase(b backend, base string) error {
	if base == "" {
		return nil
	}
	u, err := url.Parse(base)
	switch {
	case err != nil || !printable(base):
		return badConfig(fmt.Sprintf("the address of %s is none", b.Title), "Write it like http://localhost:8080/v1.")
	case u.User != nil:
		return badConfig(fmt.Sprintf("the address of %s holds a user or password", b.Title),
			"Take it out of the address; a header can carry it: Authorization.")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return badConfig(fmt.Sprintf("the address %q is not one of HTTP", base),
			"Write it like http://localhost:8080/v1.")
	case u.RawQuery != "" || u.Fragment != "" || strings.HasSuffix(base, "?") || strings.HasSuffix(base, "#"):
		return badConfig(fmt.Sprintf("the address of %s holds a query or fragment", b.Title),
			"Leave out what follows ? or #.")
	}
	for _, end := range []string{"/chat/completions", "/completions", "/messages", "/models"} {
		if short, ok := strings.CutSuffix(base, end); ok {
			return badConfig(fmt.Sprintf("the address of %s names one function of it", b.Title),
				"Leave out its end: "+short)
		}
	}
	return nil
}

// filled puts settings into the address of a provider, where their names are
// in braces.
func filled(base string, settings map[string]string) string {
	for name, value := range settings {
		base = strings.ReplaceAll(base, "{"+name+"}", url.PathEscape(value))
	}
	return base
}

// withPath gives an address without a path that of the provider's own: servers
// are known by their host and port, and what follows is always the same.
func withPath(base, own string) string {
	if u, err := url.Parse(base); err == nil && base != "" && u.Path == "" {
		if o, err := url.Parse(own); err == nil {
			return base + o.Path
		}
	}
	return base
}

// printable reports whether s can be the value of a header.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// token reports whether s can name a header.
func token(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}
