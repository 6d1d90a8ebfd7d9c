package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/providers"
	"mylm/providers/langchain"
	"mylm/providers/ollama"
)

// used is the model that a question would go to, and its entry in the
// configuration, or one that stands for what is typed. The model is "" where
// Ollama's installed models decide.
func (d *doctor) used() (typed string, e config.Entry) {
	typed = config.ModelName.Of(d.config.Settings)
	if e, ok := config.EntryFor(d.config.Models, typed); ok {
		return typed, e
	}
	e.Provider, e.Model = config.SplitModel(typed)
	return typed, e
}

// checkKeys reports which keys there are, and which entries lack theirs. No key
// is shown.
func (d *doctor) checkKeys(context.Context) {
	var set []string
	for _, p := range langchain.Providers() {
		if _, name := config.FirstSet(p.KeyVars); name != "" && !slices.Contains(set, name) {
			set = append(set, name)
		}
	}
	_, used := d.used()
	missing := false
	for _, name := range slices.Sorted(maps.Keys(d.config.Models)) {
		e := d.config.Models[name]
		_, err := e.Complete()
		if e.Provider == config.Ollama || err == nil || name == used.Name { // what is used is tried
			continue
		}
		missing = true
		d.fault(statusWarning, "keys", fmt.Errorf("%s: %w", e.Where(), err), "")
	}
	switch {
	case len(set) > 0:
		d.ok("keys", "set: %s", strings.Join(set, ", "))
	case !missing:
		d.ok("keys", "none is set; Ollama needs none")
	}
}

// checkOllama asks the server for its version and its models.
func (d *doctor) checkOllama(ctx context.Context) {
	_, e := d.used()
	status := statusError
	if e.Provider != config.Ollama { // it would only make vectors
		status = statusWarning
	}
	client, err := setup.OllamaClient(append(config.Settings{e.Layer()}, d.config.Settings...))
	if err != nil {
		d.fault(status, "ollama", err, "")
		return
	}
	defer client.Close()
	version, err := client.Version(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		d.add(status, "ollama", "Is it Ollama that listens there, and is it well? --host names another.", "asking %s: no answer within %v", client.Host(), checkPatience)
		return
	case err != nil:
		d.fault(status, "ollama", err, startOllama(client, err))
		return
	}
	d.ok("ollama", "version %s at %s", setup.ServerText(version), client.Host())
	models, err := client.Models(ctx)
	if err != nil {
		d.fault(status, "models", err, "")
		return
	}
	var chat, others []string
	for _, m := range models {
		if m.Chats {
			chat = append(chat, setup.ServerText(m.Name))
		} else {
			others = append(others, setup.ServerText(m.Name))
		}
	}
	switch {
	case len(models) == 0:
		d.add(status, "models", "ollama pull qwen3:8b", "none is installed at %s", client.Host())
	case len(chat) == 0:
		d.add(status, "models", "ollama pull qwen3:8b", "none of the installed ones chats: %s", strings.Join(others, ", "))
	default:
		text := strings.Join(chat, ", ")
		if len(others) > 0 {
			text += " (do not chat: " + strings.Join(others, ", ") + ")"
		}
		d.ok("models", "%s", text)
		if e.Provider == config.Ollama && e.Model == "" {
			d.checkChoice(ctx, client, chat)
		}
	}
}

// startOllama is what to do about a server that does not answer.
func startOllama(client *ollama.Client, err error) string {
	var e *providers.Error
	if !errors.As(err, &e) || e.Kind != providers.Unreachable || e.Status != 0 || !setup.OnThisMachine(client) {
		return ""
	}
	if _, err := exec.LookPath("ollama"); err != nil {
		return "Install it from https://ollama.com/download and start it: ollama serve\nWithout it: mylm ask -m demo \"what files are here?\""
	}
	return "ollama serve"
}

// checkChoice looks at the model where none is named.
func (d *doctor) checkChoice(ctx context.Context, client *ollama.Client, chat []string) {
	if len(chat) > 1 {
		d.warn("model", "Name one: mylm ask -m "+chat[0]+" \"...\", or model = \""+chat[0]+"\" in the configuration (mylm config edit)",
			"none is named, so the first question asks which one is meant")
		return
	}
	d.ok("model", "%s, the only one that chats", chat[0])
	d.checkNeeds(ctx, client, chat[0])
}

// checkModel looks at the model that is named.
func (d *doctor) checkModel(ctx context.Context) {
	typed, e := d.used()
	switch {
	case e.Provider == config.Ollama && e.Model == "" && e.Name == "":
	case e.Provider == config.Ollama:
		d.checkInstalled(ctx, typed, e)
	case e.Provider == "demo", e.Provider == "scripted":
		if _, err := setup.OpenModel(ctx, d.config, d.screen, nil); err != nil {
			d.fault(statusError, "model", err, "")
			return
		}
		d.ok("model", "%s: built-in rules, not a language model (%s)", term.Printable(typed), config.ModelName.Place(d.config.Settings))
	default:
		d.checkProvider(ctx, typed, e)
	}
}

// checkInstalled looks for a model in Ollama, and at what it takes.
func (d *doctor) checkInstalled(ctx context.Context, typed string, e config.Entry) {
	client, err := setup.OllamaClient(append(config.Settings{e.Layer()}, d.config.Settings...))
	if err != nil {
		return // checkOllama has reported it
	}
	defer client.Close()
	info, err := client.Model(e.Model, ollama.ModelOptions{}).Info(ctx)
	if err != nil {
		f := failure.Of(fmt.Errorf("%s (%s): %w", term.Printable(typed), config.ModelName.Place(d.config.Settings), err))
		if providers.KindOf(err) == providers.Unreachable { // checkOllama has reported that
			f.Err = fmt.Errorf("%s (%s): unknown, since Ollama does not answer", term.Printable(typed), config.ModelName.Place(d.config.Settings))
			f.Hint = ""
		}
		if m, failed := setup.OpenModel(ctx, d.config, d.screen, nil); failed == nil {
			m.Advise(f)
		}
		d.fault(statusError, "model", f, "")
		return
	}
	if !info.Chats {
		d.fail("model", "mylm models lists those that chat.", "%s (%s) does not chat", term.Printable(typed), config.ModelName.Place(d.config.Settings))
		return
	}
	d.ok("model", "%s (%s)", term.Printable(typed), config.ModelName.Place(d.config.Settings))
	d.checkNeeds(ctx, client, e.Model)
}

// checkNeeds compares what a model takes with what is free.
func (d *doctor) checkNeeds(ctx context.Context, client *ollama.Client, name string) {
	typed := config.NumCtx.Of(d.config.Settings)
	n, err := client.Model(name, ollama.ModelOptions{NumCtx: typed}).Needs(ctx)
	if err != nil {
		d.fault(statusError, "window", err, "")
		return
	}
	text, free := fmt.Sprintf("%d tokens", n.Window), setup.FreeMemory()
	if n.Bytes > 0 {
		text += ", about " + term.Bytes(n.Bytes) + " of memory with the model"
	}
	const least = 4096 // what the prompt, the tools and one short file take
	switch {
	case n.Window > 0 && n.Window < least:
		fix := "Use another model: https://ollama.com/library"
		if info, err := client.Model(name, ollama.ModelOptions{}).Info(ctx); err == nil && info.Trained >= 2*least {
			fix = fmt.Sprintf("Give it a larger one: mylm ask --num-ctx %d, or another model.", 2*least)
		}
		d.warn("window", fix, "%d tokens are too few for tools", n.Window)
	case n.Loaded:
		d.ok("window", "%s; it is loaded", text)
	case n.Bytes == 0 || free == 0 || !setup.OnThisMachine(client):
		d.ok("window", "%s; what is free there is unknown", text)
	case n.Bytes > free:
		d.warn("window", "Close programs, ask for less (--num-ctx), or use a smaller model: https://ollama.com/library",
			"%s, and %s are free: without a graphics card that holds it, it is slow or fails", text, term.Bytes(free))
	default:
		d.ok("window", "%s; %s are free", text, term.Bytes(free))
	}
}

// checkProvider tries the key of a model by asking for the list of models.
func (d *doctor) checkProvider(ctx context.Context, typed string, e config.Entry) {
	name := term.Printable(typed)
	p, _ := langchain.Lookup(e.Provider) // the configuration has no other
	m, err := setup.OpenLangchain(e)
	if err != nil {
		d.fault(statusError, "model", fmt.Errorf("%s: %w", name, err), "")
		return
	}
	defer m.Close()
	if !p.Lists {
		d.ok("model", "%s of %s, not tried: it has no list of models", name, p.Title)
		return
	}
	models, err := m.Models(ctx)
	if err != nil {
		d.fault(statusError, "model", fmt.Errorf("%s: %w", name, err), cmp.Or(failure.Of(err).Hint, "mylm models --provider "+e.Provider+" tries it again."))
		return
	}
	if !slices.ContainsFunc(models, func(i providers.ModelInfo) bool { return i.Name == e.Model }) {
		var names []string
		for _, i := range models {
			names = append(names, setup.ServerText(i.Name))
		}
		d.warn("model", failure.Suggest(e.Model, names)+"mylm models --provider "+cmp.Or(e.Name, e.Provider)+" lists them.", "%s is not among the %s of %s", name, term.Plural(len(models), "model"), p.Title)
		return
	}
	if full, _ := e.Complete(); full.Key == "" {
		d.ok("model", "%s; %s answers", name, p.Title)
		return
	}
	d.ok("model", "%s; %s accepts the key", name, p.Title)
}
