package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"mylm/agent"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/providers"
	"mylm/providers/demo"
	"mylm/providers/langchain"
	"mylm/providers/ollama"
	"mylm/providers/scripted"
)

// Model is a model that is ready to be asked.
type Model struct {
	providers.Model
	Name     string // as --model takes it
	Provider string // "" where it is local
	Backend  string // PROVIDER/MODEL, whatever the configuration calls it
	Host     string // address of its server, without secrets; "" where it is local
	Notice   string // what the user should know about it

	entry   string   // the name of its entry in the configuration, if it has one
	entries []string // the names of all entries
	local   bool     // needs nothing but this program
}

// Local reports whether the model needs nothing but this program.
func (m *Model) Local() bool { return m.local }

// OpenModel opens the model that the settings name, or else a default, which person
// may choose; nil is nobody.
func OpenModel(ctx context.Context, c *config.Config, n Notify, person *term.Prompter) (*Model, error) {
	typed := config.ModelName.Of(c.Settings)
	if e, ok := config.EntryFor(c.Models, typed); ok {
		if e.Provider != config.Ollama {
			return openProvider(e, typed)
		}
		return openOllama(e, typed, c.Settings)
	}
	provider, name := config.SplitModel(typed)
	switch provider {
	case "demo":
		if name != "" {
			return nil, failure.Usage("there is no model %q: the demo model is just demo", term.Echoed(typed))
		}
		return &Model{Model: demo.New(), Name: "demo", Backend: "demo", local: true,
			Notice: "demo: answered by simple built-in rules, not by a language model"}, nil
	case "scripted":
		m, err := term.Wait(ctx, func() (*scripted.Model, error) { return scripted.Load(name) })
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, failure.Usage("model %s: %s", term.Echoed(typed), term.EchoedIn(err, name))
		}
		return &Model{Model: m, Name: typed, Backend: typed, local: true}, nil
	}
	if provider != config.Ollama {
		return openProvider(config.Entry{Provider: provider, Model: name}, typed)
	}
	notice, entries := "", slices.Sorted(maps.Keys(c.Models))
	if name == "" {
		client, err := OllamaClient(c.Settings)
		if err != nil {
			return nil, err
		}
		if name, notice, err = defaultModel(ctx, n, client, person); err != nil {
			if f := failure.Of(err); f.Code == failure.ExitUnreachable {
				f.Hint = suggestOthers(f.Hint, entries)
				return nil, f
			}
			return nil, err
		}
	}
	// A name that would mean something else when it is typed again keeps its
	// provider.
	typed = name
	_, taken := config.EntryFor(c.Models, name)
	if p, _ := config.SplitModel(name); p != config.Ollama || taken {
		typed = config.Ollama + "/" + name
	}
	o, err := openOllama(config.Entry{Model: name}, typed, c.Settings)
	if err == nil {
		o.Notice, o.entries = notice, entries
	}
	return o, err
}

// openOllama opens a model of Ollama. The entry's address is in s already.
func openOllama(e config.Entry, typed string, s config.Settings) (*Model, error) {
	if e.Model == "" {
		return nil, e.NoModel()
	}
	client, err := OllamaClient(s)
	if err != nil {
		return nil, err
	}
	options := ollama.ModelOptions{NumCtx: config.NumCtx.Of(s)}
	if text, ok := config.KeepAlive.Lookup(s); ok {
		d, err := ollama.ParseKeepAlive(text)
		if err != nil {
			return nil, failure.Usage("%s", term.EchoedIn(err, text))
		}
		options.KeepAlive = &d
	}
	return &Model{Model: client.Model(e.Model, options), Name: typed, Provider: config.Ollama, Backend: config.Ollama + "/" + e.Model, Host: client.Host(), entry: e.Name}, nil
}

// OllamaClient is a client of the server that the settings name.
func OllamaClient(s config.Settings) (*ollama.Client, error) {
	host := config.Host.Of(s)
	client, err := ollama.New(ollama.Options{Host: host})
	if err != nil {
		return nil, hostError(err, host)
	}
	return client, nil
}

// hostError is the error of an unusable address, with where it can be set.
func hostError(err error, host string) error {
	if term.Echoed(host) != host { // the error repeats parts of it too
		err = fmt.Errorf("the Ollama address %q is none", term.Echoed(host))
	}
	return failure.Config(err).WithHint("The address comes from base_url of the model's entry, --host, MYLM_HOST, host in the configuration, or OLLAMA_HOST.")
}

// defaultModel picks a model when nothing names one: the only one installed, else
// whichever the person chooses, of those that are installed or of some to download.
func defaultModel(ctx context.Context, n Notify, client *ollama.Client, person *term.Prompter) (name, notice string, err error) {
	all, err := ListModels(ctx, n, client)
	if err != nil {
		return "", "", err
	}
	models := slices.DeleteFunc(all, func(m providers.ModelInfo) bool { return !m.Chats })
	// The largest context first: a conversation with tools needs room.
	slices.SortStableFunc(models, func(a, b providers.ModelInfo) int { return cmp.Compare(b.Trained, a.Trained) })
	switch len(models) {
	case 0:
		return offerDownload(ctx, n, client, person)
	case 1:
		return models[0].Name, "using " + ServerText(models[0].Name) + ", the only model installed", nil
	}
	lines := make([]string, len(models))
	for i, m := range models {
		lines[i] = strings.TrimRight(fmt.Sprintf("%-30s %8s  %s", ServerText(m.Name), term.Bytes(m.Size), ContextText(m.Trained)), " ")
	}
	i := -1
	if person != nil {
		if i, err = person.Choose(ctx, "Several models are installed. Which one?", lines); err != nil {
			return "", "", err
		}
	}
	if i < 0 {
		return "", "", &failure.Error{Code: failure.ExitUnreachable, Name: string(providers.ModelMissing),
			Err:  errors.New("several models are installed, and none is chosen"),
			Hint: "Name one: mylm ask -m " + ServerText(models[0].Name) + " \"...\", or set MYLM_MODEL, or model in the configuration.\n" + strings.Join(lines, "\n")}
	}
	return models[i].Name, "", nil
}

// ContextText is the size of a window for a list, "" if it is unknown.
func ContextText(tokens int) string {
	if tokens == 0 {
		return ""
	}
	return fmt.Sprintf("context %d", tokens)
}

// Answered keeps the name of the model for the next run, unless it needs nothing
// but this program.
func (m *Model) Answered() {
	if !m.local {
		config.RememberModel(m.Name)
	}
}

// windowPatience is how long a question waits for a window that it can do
// without: the server itself reports what is too long.
const windowPatience = 3 * time.Second

// Window is the model's context window in tokens; 0 if it is unknown.
func (m *Model) Window(ctx context.Context, n Notify) (window, trained int, err error) {
	info, err := m.info(ctx, n)
	return info.Window, info.Trained, err
}

func (m *Model) info(ctx context.Context, n Notify) (info providers.Info, err error) {
	informer, ok := m.Model.(providers.Informer)
	if !ok {
		return info, nil
	}
	patience := AskPatience
	if m.Provider != config.Ollama {
		patience = windowPatience
	}
	err = Patiently(ctx, n, "asking about "+ServerText(m.Name), hintOllama, patience, func(ctx context.Context) error {
		info, err = informer.Info(ctx)
		return err
	})
	if err != nil && m.Provider != config.Ollama && ctx.Err() == nil {
		return providers.Info{}, nil // not every server has a list; what is wrong shows when the model is asked
	}
	return info, err
}

// NeverThinks reports whether the model is known not to reason before it answers.
func (m *Model) NeverThinks(ctx context.Context, n Notify) bool {
	if m.Provider != config.Ollama {
		return m.local
	}
	info, _ := m.info(ctx, n) // of an error the question says more
	return info.Chats && !info.Thinks
}

// CanSee is an error if the model is known to take no pictures.
func (m *Model) CanSee(ctx context.Context, n Notify) error {
	info, err := m.info(ctx, n)
	if err != nil || info.Sees != providers.Unable {
		return err
	}
	f := failure.Usage("%s cannot see pictures", ServerText(m.Name))
	if m.Provider == "" || m.Provider == config.Ollama {
		f.Hint = "Ask one that sees, for instance: ollama pull qwen2.5vl:7b\nmylm models lists what each model can do."
	} else {
		f.Hint = "Ask another provider: mylm models --providers lists them."
	}
	return f
}

// ServerText is a name from a server, made safe for a list.
func ServerText(s string) string { return term.OneLine(term.Printable(s), 200) }

// AskPatience is how long a server may take to report what models it has. It has
// only to look, so that one that takes longer will not answer at all.
const AskPatience = 30 * time.Second

// ListModels asks a server for its models.
func ListModels(ctx context.Context, n Notify, client *ollama.Client) (models []providers.ModelInfo, err error) {
	err = Patiently(ctx, n, "asking "+client.Host(), hintOllama, AskPatience, func(ctx context.Context) error {
		models, err = client.Models(ctx)
		return err
	})
	return models, err
}

const hintOllama = "Is it Ollama that listens there, and is it well? mylm models asks it again; --host names another."

// Patiently does something that should not take longer than patience.
func Patiently(ctx context.Context, n Notify, what, hint string, patience time.Duration, do func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	defer n.Busy(what)()
	err := do(limited)
	if err != nil && ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		return (&failure.Error{Code: failure.ExitTimeout, Name: string(agent.StopTimeout), Err: fmt.Errorf("%s: no answer within %v", what, patience)}).WithHint(hint)
	}
	return err
}

// openProvider opens a model that is not Ollama's. e stands for what was typed
// if it has no name.
func openProvider(e config.Entry, typed string) (*Model, error) {
	m, err := OpenLangchain(e)
	switch {
	case err != nil:
		return nil, err
	case m.Name() == "" && e.Name != "":
		return nil, e.NoModel()
	case m.Name() == "":
		return nil, failure.Usage("%s: there is no model behind the slash", typed).WithHint("mylm models --provider " + e.Provider + " lists the models there are.")
	}
	return &Model{Model: m, Name: typed, Provider: e.Provider, Backend: e.Provider + "/" + m.Name(), Host: m.Host(), entry: e.Name}, nil
}

// OpenLangchain opens a model, whose name may be empty.
func OpenLangchain(e config.Entry) (*redactedModel, error) {
	c, err := e.Complete()
	if err != nil {
		return nil, entryError(e, err)
	}
	m, err := langchain.Open(e.Provider, c)
	if err != nil {
		return nil, entryError(e, err)
	}
	return newRedactedModel(m, c), nil
}

// entryError turns langchain's error about an invalid entry into an error of
// the configuration. It returns other errors unchanged.
func entryError(e config.Entry, err error) error {
	var fault *providers.Error
	if !errors.As(err, &fault) || fault.Kind != providers.BadRequest && fault.Kind != providers.Auth {
		return err
	}
	if e.Name != "" {
		err = fmt.Errorf("%s: %w", e.Where(), err)
	}
	return failure.Config(err).WithHint(fault.Hint)
}

// Advise adds to the hint of a failure what the name of a model that is not there may mean,
// and returns what it means if it can be nothing else: the demo, or a model of a provider.
func (m *Model) Advise(f *failure.Error) (meant string) {
	if f == nil || m.Provider != config.Ollama || f.Code != failure.ExitUnreachable {
		return ""
	}
	f.Hint = suggestOthers(f.Hint, m.entries)
	if near := m.misspelt(); near != "" && !strings.Contains(f.Hint, "Did you mean") {
		f.Hint = "Did you mean " + near + "?\n" + f.Hint
		if near == "demo" || strings.Contains(near, "/") {
			meant = near
		}
	}
	if p, ok := langchain.Lookup(m.Name); ok && m.entry == "" {
		f.Hint += fmt.Sprintf("\n%s is also a provider: mylm ask -m %s/MODEL asks it.", p.Name, p.Name)
	} else if strings.Contains(m.Name, "/") {
		f.Hint += "\nIf its beginning should be a provider: mylm models --providers lists them."
	}
	return meant
}

// misspelt is what --model takes that the name was probably meant to be: the demo
// model, an entry, or a model of a provider; "" if there is none. The server itself
// suggests its own models.
func (m *Model) misspelt() string {
	before, model, slash := strings.Cut(m.Name, "/")
	if !slash {
		return failure.Near(m.Name, append(m.entries, "demo"))
	}
	near := failure.Near(before, append(config.ProviderNames(), m.entries...))
	if near == "" || near == before {
		return ""
	}
	return near + "/" + model
}

// suggestOthers adds to the hint of a failure of Ollama what else can be asked: the
// entries of the configuration, or else the providers that have a key.
func suggestOthers(hint string, entries []string) string {
	if len(entries) > 0 {
		return fmt.Sprintf("The configuration has %s: mylm ask -m %s \"...\". Other names are Ollama's.\n%s", strings.Join(entries, ", "), entries[0], hint)
	}
	for _, p := range langchain.Providers() {
		if _, name := config.FirstSet(p.KeyVars); name != "" && p.Missing == "" {
			hint += fmt.Sprintf("\n%s is set: mylm ask -m %s/MODEL asks %s.", name, p.Name, p.Title)
		}
	}
	return hint
}
