package setup

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/prompts"
	"mylm/providers"
	"mylm/providers/calling"
)

// Served are the models that other programs may ask by name.
type Served struct {
	config  *config.Config
	prompts *prompts.Set
	only    *opened // what every name means; nil: each its own
	notify  Notify

	mu     sync.Mutex
	opened map[string]*opened

	asking singleflight.Group // about the forms of models
	told   sync.Once          // of an Ollama that does not answer
}

// opened is a model with its settings.
type opened struct {
	*Model
	config *config.Config
	ready  *calling.Model // in its form of calls; nil: that is not known yet
}

// maxOpened bounds how many models are remembered. Names come from other programs.
const maxOpened = 256

// Serve prepares the models for a server. A model that a flag or a variable names is
// opened, and is the only one.
func Serve(ctx context.Context, c *config.Config, n Notify) (*Served, error) {
	set, err := Prompts()
	if err != nil {
		return nil, err
	}
	s := &Served{config: c, prompts: set, notify: n, opened: map[string]*opened{}}
	if kind := config.ModelName.From(c.Settings).Kind; kind == config.Flag || kind == config.Variable {
		m, err := OpenModel(ctx, c, n, nil)
		if err != nil {
			return nil, err
		}
		s.only = &opened{Model: m, config: c}
	}
	return s, nil
}

// calling gives a model tools, with what is set for it.
func (s *Served) calling(o *opened, form calling.Form) *calling.Model {
	c := o.config.Settings
	return &calling.Model{
		Model: o.Model.Model, Prompts: s.prompts, Form: form,
		Temperature: config.Temperature.Ptr(c), Seed: config.Seed.Ptr(c), MaxTokens: config.MaxTokens.Of(c), Think: thinking(config.Think.Of(c)),
		FirstTokenTimeout: config.FirstTokenTimeout.Or(c, 10*time.Minute), TokenTimeout: config.Timeout.Or(c, time.Minute),
	}
}

// Open returns the model of a name: an entry of the configuration, the demo, or a model of
// Ollama. Services that are not in the configuration are not asked at the word of
// another program, nor are files read. A backend that does not say in time which form
// of calls its model was trained for is asked again with the next request; requests that
// come at once ask it once.
func (s *Served) Open(ctx context.Context, name string) (*calling.Model, error) {
	o, ready, err := s.open(ctx, name)
	if err != nil || ready != nil {
		return ready, err
	}
	asked := s.asking.DoChan(o.Name, func() (m any, err error) {
		defer func() {
			if p := recover(); p != nil { // in a goroutine of its own, it would end the server
				err = fmt.Errorf("asking about the model %q panicked: %v", o.Name, p)
			}
		}()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), windowPatience)
		defer cancel()
		form, unknown := formFor(ctx, o.config.Settings, o.Model.Model)
		made := s.calling(o, form)
		if unknown == nil {
			s.mu.Lock()
			o.ready = made
			s.mu.Unlock()
		}
		return made, nil
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case r := <-asked:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.(*calling.Model), nil
	}
}

// open opens the model of a name, which asks no server, and remembers it.
func (s *Served) open(ctx context.Context, name string) (o *opened, ready *calling.Model, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o = s.only; o == nil {
		o = s.opened[name]
	}
	if o != nil {
		return o, o.ready, nil
	}
	named := name
	if strings.TrimSuffix(name, ":latest") == "demo" { // it needs nothing, and reads nothing
		named = "demo"
	}
	_, entry := config.EntryFor(s.config.Models, strings.TrimSuffix(name, ":latest")) // as Ollama's clients call it
	provider, model := config.SplitModel(name)
	switch {
	case entry:
		named = strings.TrimSuffix(name, ":latest")
	case named == "demo":
	case provider != config.Ollama || model == "":
		return nil, nil, &providers.Error{Kind: providers.ModelMissing, Message: fmt.Sprintf("the model %q does not exist", name)}
	}
	c := s.config.For(named)
	m, err := OpenModel(ctx, c, silent{}, nil)
	if err != nil {
		return nil, nil, &providers.Error{Kind: providers.ModelMissing, Message: fmt.Sprintf("the model %q cannot be asked: %v", name, err), Err: err}
	}
	if len(s.opened) >= maxOpened {
		clear(s.opened)
	}
	if !entry && !m.Local() && len(s.config.Models) > 0 {
		m.Model = &unlisted{Model: m.Model, name: name, missing: s.missing}
	}
	o = &opened{Model: m, config: c}
	s.opened[name] = o
	return o, nil, nil
}

// unlisted is a model that only Ollama can have, where the configuration has others. As
// long as there has been no Ollama, there is no such model.
type unlisted struct {
	providers.Model
	name     string
	missing  func(error)
	answered atomic.Bool
}

// missing tells who runs the server what to do about the first such model: its hint is not for the
// program that asked.
func (s *Served) missing(err error) {
	s.told.Do(func() { s.notify.Say("mylm: " + ServerText(err.Error()) + ".\n" + failure.Of(errors.Unwrap(err)).Hint) })
}

// Generate implements providers.Model.
func (u *unlisted) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		for c, err := range u.Model.Generate(ctx, r) {
			if providers.KindOf(err) != providers.Unreachable {
				u.answered.Store(true)
			} else if !u.answered.Load() {
				err = &providers.Error{Kind: providers.ModelMissing, Message: fmt.Sprintf("the model %q is not in the configuration, and Ollama does not answer: %v", u.name, err), Err: err}
				u.missing(err)
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// Info implements providers.Informer.
func (u *unlisted) Info(ctx context.Context) (providers.Info, error) {
	if informer, ok := u.Model.(providers.Informer); ok {
		return informer.Info(ctx)
	}
	return providers.Info{}, nil
}

// silent is told what the user should know, where there is none.
type silent struct{}

func (silent) Say(string)                {}
func (silent) Dim(string)                {}
func (silent) Busy(string) (done func()) { return func() {} }

// List lists the models that Open knows, as far as Ollama answers. The demo comes last, so
// that no program that takes the first one gets it for a real one.
func (s *Served) List(ctx context.Context) ([]providers.ModelInfo, error) {
	list, err := s.Real(ctx)
	if s.only != nil {
		return list, err
	}
	return append(list, providers.ModelInfo{Name: "demo", Info: providers.Info{Chats: true}}), nil
}

// Real lists what there is besides the demo.
func (s *Served) Real(ctx context.Context) ([]providers.ModelInfo, error) {
	if s.only != nil {
		return []providers.ModelInfo{{Name: s.only.Name, Info: providers.Info{Chats: true}}}, nil
	}
	var list []providers.ModelInfo
	for _, name := range slices.Sorted(maps.Keys(s.config.Models)) {
		if s.config.Models[name].Model != "" {
			list = append(list, providers.ModelInfo{Name: name, Info: providers.Info{Chats: true}})
		}
	}
	client, err := OllamaClient(s.config.Settings)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, windowPatience)
	defer cancel()
	models, err := client.Models(ctx)
	if err != nil && len(list) == 0 {
		return nil, err
	}
	for _, m := range models {
		if m.Chats {
			list = append(list, m)
		}
	}
	return list, nil
}

// Check reports what keeps the models from answering: Ollama does not, or has no such
// model.
func (s *Served) Check(ctx context.Context) (err error) {
	if s.only != nil {
		_, err = s.only.info(ctx, silent{})
	} else {
		_, err = s.Real(ctx)
	}
	return err
}

// About says in a few words which models there are.
func (s *Served) About() string {
	if s.only != nil {
		return s.only.Name
	}
	about := "the models of Ollama at " + config.Host.Or(s.config.Settings, "its usual address")
	if n := len(s.config.Models); n > 0 {
		about += ", those of [models] in the configuration: " + strings.Join(slices.Sorted(maps.Keys(s.config.Models)), ", ")
	}
	return about + ", and demo"
}
