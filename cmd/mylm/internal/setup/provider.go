package setup

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/providers"
	"mylm/providers/langchain"
)

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
	return &Model{Model: m, Name: typed, Provider: e.Provider, entry: e.Name}, nil
}

// OpenLangchain opens a model, whose name may be empty.
func OpenLangchain(e config.Entry) (*discreet, error) {
	c, err := e.Complete()
	if err != nil {
		return nil, err
	}
	m, err := langchain.Open(e.Provider, c)
	if err != nil {
		return nil, wrongEntry(e, err)
	}
	return newDiscreet(m, c), nil
}

// wrongEntry makes a fault of the configuration out of what langchain says of
// an entry that cannot be meant. Another error it returns as it is.
func wrongEntry(e config.Entry, err error) error {
	var fault *providers.Error
	if !errors.As(err, &fault) || fault.Kind != providers.BadRequest {
		return err
	}
	if e.Name != "" {
		err = fmt.Errorf("%s: %w", e.Where(), err)
	}
	return failure.Config(err).WithHint(fault.Hint)
}

// Advise makes the hint of a failure fit how the model was named.
func (m *Model) Advise(f *failure.Error) {
	if f == nil || m.Provider != config.Ollama || f.Code != failure.ExitUnreachable {
		return
	}
	if p, ok := langchain.Lookup(m.Name); ok && m.entry == "" {
		f.Hint += fmt.Sprintf("\n%s is also a provider: mylm ask -m %s/MODEL asks it.", p.Name, p.Name)
	} else if strings.Contains(m.Name, "/") {
		f.Hint += "\nIf its beginning should be a provider: mylm models --providers lists them."
	}
}

// alsoThere adds to a failure of Ollama's who else could be asked.
func alsoThere(err error, entries map[string]config.Entry) error {
	f := failure.Of(err)
	if f.Code != failure.ExitUnreachable {
		return err
	}
	if names := slices.Sorted(maps.Keys(entries)); len(names) > 0 {
		f.Hint += fmt.Sprintf("\nOr name an entry of the configuration: mylm ask -m %s \"...\"", names[0])
		return f
	}
	for _, p := range langchain.Providers() {
		if _, name := config.FirstSet(p.KeyVars); name != "" && p.Missing == "" {
			f.Hint += fmt.Sprintf("\n%s is set: mylm ask -m %s/MODEL asks %s.", name, p.Name, p.Title)
		}
	}
	return f
}
