package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/providers"
	"mylm/providers/langchain"
)

// openProvider opens a model that is not Ollama's. e stands for what was typed
// if it has no name.
func openProvider(e entry, typed string) (*opened, error) {
	m, err := openLangchain(e)
	switch {
	case err != nil:
		return nil, err
	case m.Name() == "" && e.name != "":
		return nil, e.noModel()
	case m.Name() == "":
		return nil, failure.Usage("%s: there is no model behind the slash", typed).WithHint("mylm models --provider " + e.Provider + " lists the models there are.")
	}
	return &opened{Model: m, name: typed, provider: e.Provider, entry: e.name}, nil
}

// openLangchain opens a model, whose name may be empty.
func openLangchain(e entry) (*discreet, error) {
	c, err := e.complete()
	if err != nil {
		return nil, err
	}
	m, err := langchain.Open(e.Provider, c)
	if err != nil {
		return nil, wrongEntry(e, err)
	}
	return newDiscreet(m, c), nil
}

// complete is the configuration of the entry, with what the environment holds.
func (e entry) complete() (langchain.Config, error) {
	p, ok := langchain.Lookup(e.Provider)
	if !ok {
		return langchain.Config{}, noProvider(e.Provider)
	}
	return e.config(p)
}

// wrongEntry makes a fault of the configuration out of what langchain says of
// an entry that cannot be meant. Another error it returns as it is.
func wrongEntry(e entry, err error) error {
	var fault *providers.Error
	if !errors.As(err, &fault) || fault.Kind != providers.BadRequest {
		return err
	}
	if e.name != "" {
		err = fmt.Errorf("%s: %w", e.where(), err)
	}
	return failure.Config(err).WithHint(fault.Hint)
}

func noProvider(name string) error {
	return failure.Usage("there is no provider %q", term.Echoed(name)).WithHint("Providers: " + strings.Join(providerNames(), ", "))
}

// advise makes the hint of a failure fit how the model was named.
func (o *opened) advise(f *failure.Error) {
	if f == nil || o.provider != nativeProvider || f.Code != failure.ExitUnreachable {
		return
	}
	if p, ok := langchain.Lookup(o.name); ok && o.entry == "" {
		f.Hint += fmt.Sprintf("\n%s is also a provider: mylm ask -m %s/MODEL asks it.", p.Name, p.Name)
	} else if strings.Contains(o.name, "/") {
		f.Hint += "\nIf its beginning should be a provider: mylm models --providers lists them."
	}
}

// alsoThere adds to a failure of Ollama's who else could be asked.
func alsoThere(err error, entries map[string]entry) error {
	f := failure.Of(err)
	if f.Code != failure.ExitUnreachable {
		return err
	}
	if names := slices.Sorted(maps.Keys(entries)); len(names) > 0 {
		f.Hint += fmt.Sprintf("\nOr name an entry of the configuration: mylm ask -m %s \"...\"", names[0])
		return f
	}
	for _, p := range langchain.Providers() {
		if _, name := variable(p.KeyVars); name != "" && p.Missing == "" {
			f.Hint += fmt.Sprintf("\n%s is set: mylm ask -m %s/MODEL asks %s.", name, p.Name, p.Title)
		}
	}
	return f
}
