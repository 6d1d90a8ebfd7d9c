package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/providers"
	"mylm/providers/demo"
	"mylm/providers/langchain"
	"mylm/providers/ollama"
	"mylm/providers/scripted"

	"github.com/google/renameio/v2/maybe"
)

// opened is a model that is ready to be asked.
type opened struct {
	providers.Model
	name     string // as --model takes it
	provider string // "" where it is local
	entry    string // the name of its entry in the configuration, if it has one
	notice   string // what the user should know about it
	local    bool   // needs nothing but this program
}

// openModel finds the model that the settings, or the circumstances, name.
func openModel(ctx context.Context, s settings, entries map[string]entry, sc *term.Screen, ask chooser) (*opened, error) {
	typed := value(s.Model)
	if e, ok := entryFor(entries, typed); ok {
		if e.Provider != nativeProvider {
			return openProvider(e, typed)
		}
		return openOllama(e, typed, s)
	}
	provider, name := splitModel(typed)
	switch provider {
	case "demo":
		if name != "" {
			return nil, failure.Usage("there is no model %q: the demo model is just demo", term.Echoed(value(s.Model)))
		}
		return &opened{Model: demo.New(), name: "demo", local: true,
			notice: "demo: answered by simple built-in rules, not by a language model"}, nil
	case "scripted":
		m, err := term.Wait(ctx, func() (*scripted.Model, error) { return scripted.Load(name) })
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, failure.Usage("model %s: %s", term.Echoed(typed), term.EchoedIn(err, name))
		}
		return &opened{Model: m, name: value(s.Model), local: true}, nil
	}
	if provider != nativeProvider {
		return openProvider(entry{Provider: provider, Model: name}, typed)
	}
	notice := ""
	if name == "" {
		client, err := ollama.New(ollama.Options{Host: value(s.Host)})
		if err != nil {
			return nil, wrongHost(err, value(s.Host))
		}
		if name, notice, err = defaultModel(ctx, sc, client, ask); err != nil {
			return nil, alsoThere(err, entries)
		}
	}
	// A name that would mean something else when it is typed again keeps its
	// provider.
	typed = name
	_, taken := entryFor(entries, name)
	if p, _ := splitModel(name); p != nativeProvider || taken {
		typed = nativeProvider + "/" + name
	}
	o, err := openOllama(entry{Model: name}, typed, s)
	if err == nil {
		o.notice = notice
	}
	return o, err
}

// openOllama opens a model of Ollama's. Where the server is, and the like, an
// entry has told s already.
func openOllama(e entry, typed string, s settings) (*opened, error) {
	if e.Model == "" {
		return nil, e.noModel()
	}
	client, err := ollama.New(ollama.Options{Host: value(s.Host)})
	if err != nil {
		return nil, wrongHost(err, value(s.Host))
	}
	options := ollama.ModelOptions{NumCtx: value(s.NumCtx)}
	if s.KeepAlive != nil {
		d, err := ollama.ParseKeepAlive(*s.KeepAlive)
		if err != nil {
			return nil, failure.Usage("%s", term.EchoedIn(err, *s.KeepAlive))
		}
		options.KeepAlive = &d
	}
	return &opened{Model: client.Model(e.Model, options), name: typed, provider: nativeProvider, entry: e.name}, nil
}

// wrongHost says where an address that cannot be used comes from.
func wrongHost(err error, host string) error {
	if term.Echoed(host) != host { // the error repeats parts of it too
		err = fmt.Errorf("the Ollama address %q is none", term.Echoed(host))
	}
	return failure.Config(err).WithHint("The address comes from base_url of the model's entry, --host, MYLM_HOST, host in the configuration, or OLLAMA_HOST.")
}

// splitModel takes provider/name apart. What is not known as a provider is the
// beginning of a name of Ollama's, where slashes are common too.
func splitModel(s string) (provider, name string) {
	switch before, after, slash := strings.Cut(s, "/"); {
	case s == "demo":
		return "demo", ""
	case slash && (before == nativeProvider || before == "scripted" || before == "demo"):
		return before, after
	case slash:
		if _, known := langchain.Lookup(before); known {
			return before, after
		}
	}
	return nativeProvider, s
}

// chooser asks a person to pick one of several lines. It returns -1 where there
// is nobody to ask.
type chooser func(ctx context.Context, title string, lines []string) (int, error)

// defaultModel picks a model when nothing names one: the only one installed,
// else whichever the user chooses.
func defaultModel(ctx context.Context, sc *term.Screen, client *ollama.Client, ask chooser) (name, notice string, err error) {
	all, err := listModels(ctx, sc, client)
	if err != nil {
		return "", "", err
	}
	models := slices.DeleteFunc(all, func(m providers.ModelInfo) bool { return !m.Chats })
	// The largest context first: a conversation with tools needs room.
	slices.SortStableFunc(models, func(a, b providers.ModelInfo) int { return cmp.Compare(b.Trained, a.Trained) })
	switch len(models) {
	case 0:
		return "", "", &failure.Error{Code: failure.ExitUnreachable, Name: string(providers.ModelMissing),
			Err:  fmt.Errorf("no model to talk to is installed at %s", client.Host()),
			Hint: "Get one:        ollama pull qwen3:8b\nWithout Ollama: mylm ask -m demo \"what files are here?\""}
	case 1:
		return models[0].Name, "using " + serverText(models[0].Name) + ", the only model installed", nil
	}
	lines := make([]string, len(models))
	for i, m := range models {
		lines[i] = strings.TrimRight(fmt.Sprintf("%-30s %8s  %s", serverText(m.Name), term.Bytes(m.Size), contextText(m.Trained)), " ")
	}
	i, err := ask(ctx, "Several models are installed. Which one?", lines)
	if err != nil {
		return "", "", err
	}
	if i < 0 {
		return "", "", &failure.Error{Code: failure.ExitUnreachable, Name: string(providers.ModelMissing),
			Err:  errors.New("several models are installed, and none is chosen"),
			Hint: "Name one: mylm ask -m " + serverText(models[0].Name) + " \"...\", or set MYLM_MODEL, or model in the configuration.\n" + strings.Join(lines, "\n")}
	}
	return models[i].Name, "", nil
}

func contextText(tokens int) string {
	if tokens == 0 {
		return ""
	}
	return fmt.Sprintf("context %d", tokens)
}

// lastModel is the model that answered last, "" if there is none.
func lastModel() string {
	dir, err := dataDir()
	if err != nil {
		return ""
	}
	b, err := os.ReadFile(filepath.Join(dir, "last_model"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// rememberModel keeps the name of the model that answered. Nothing depends on
// its success.
func rememberModel(o *opened) {
	if o.local || lastModel() == o.name {
		return
	}
	dir, err := dataDir()
	if err != nil || os.MkdirAll(dir, 0o700) != nil {
		return
	}
	_ = maybe.WriteFile(filepath.Join(dir, "last_model"), []byte(o.name+"\n"), 0o600)
}

// forgetModel drops a remembered model that is gone, so that the next run
// chooses anew.
func forgetModel(name string) {
	if dir, err := dataDir(); err == nil && lastModel() == name {
		_ = os.Remove(filepath.Join(dir, "last_model"))
	}
}

// windowPatience is how long a question waits for a window that it can do
// without: the server itself says what is too long.
const windowPatience = 3 * time.Second

// windowOf is the model's context window in tokens; 0 where nobody knows it.
func windowOf(ctx context.Context, sc *term.Screen, m *opened) (window int, err error) {
	informer, ok := m.Model.(providers.Informer)
	if !ok {
		return 0, nil
	}
	patience := askPatience
	if m.provider != nativeProvider {
		patience = windowPatience
	}
	err = patiently(ctx, sc, "asking about "+serverText(m.name), hintOllama, patience, func(ctx context.Context) error {
		info, err := informer.Info(ctx)
		window = info.Window
		return err
	})
	if err != nil && m.provider != nativeProvider && ctx.Err() == nil {
		return 0, nil // not every server has a list; what is wrong shows when the model is asked
	}
	return window, err
}

func modTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateOnly)
}

// isMissing reports whether err says that a file does not exist, or cannot: a
// home of /dev/null is common for services.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
