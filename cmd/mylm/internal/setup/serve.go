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
	"time"

	"golang.org/x/sync/singleflight"

	"mylm/cmd/mylm/internal/config"
	"mylm/prompts"
	"mylm/providers"
	"mylm/providers/calling"
)

// Served are the models that other programs may ask by name.
type Served struct {
	config  *config.Config
	prompts *prompts.Set
	only    *Model // what every name means; nil: each its own

	mu     sync.Mutex
	opened map[string]*calling.Model

	opening singleflight.Group
}

// errLeft is that of a model whose opening ended with the request that began it.
var errLeft = errors.New("the request that opens the model has ended")

// maxOpened bounds how many models are remembered. Names come from other programs.
const maxOpened = 256

// Serve prepares the models for a server. A model that a flag or a variable names is
// opened, and is the only one.
func Serve(ctx context.Context, c *config.Config, n Notify) (*Served, error) {
	set, err := Prompts()
	if err != nil {
		return nil, err
	}
	s := &Served{config: c, prompts: set, opened: map[string]*calling.Model{}}
	if kind := config.ModelName.From(c.Settings).Kind; kind == config.Flag || kind == config.Variable {
		m, err := OpenModel(ctx, c, n, nil)
		if err != nil {
			return nil, err
		}
		s.only = m
	}
	return s, nil
}

// calling gives a model tools, with what is set for it, and remembers it by a name. If
// its form is not known yet, it is asked for again the next time.
func (s *Served) calling(ctx context.Context, name string, c *config.Config, m *Model) *calling.Model {
	form, err := formFor(ctx, c.Settings, m.Model)
	opened := &calling.Model{
		Model: m.Model, Prompts: s.prompts, Form: form,
		Temperature: config.Temperature.Ptr(c.Settings), Seed: config.Seed.Ptr(c.Settings), MaxTokens: config.MaxTokens.Of(c.Settings), Think: thinking(config.Think.Of(c.Settings)),
		FirstTokenTimeout: config.FirstTokenTimeout.Or(c.Settings, 10*time.Minute), TokenTimeout: config.Timeout.Or(c.Settings, time.Minute),
	}
	if err != nil {
		return opened
	}
	return s.remembered(name, opened)
}

// Open returns the model of a name: an entry of the configuration, or a model of
// Ollama. Services that are not in the configuration are not asked at the word of
// another program, nor are files read. Requests for one name that come at once open it once.
func (s *Served) Open(ctx context.Context, name string) (*calling.Model, error) {
	if s.only != nil {
		name = s.only.Name
	}
	for {
		if m := s.remembered(name, nil); m != nil {
			return m, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		opened := s.opening.DoChan(name, func() (m any, err error) {
			defer func() {
				if p := recover(); p != nil { // in a goroutine of its own, it would end the server
					m, err = nil, fmt.Errorf("opening the model %q panicked: %v", name, p)
				}
			}()
			m, err = s.open(ctx, name)
			if ctx.Err() != nil {
				return nil, errLeft
			}
			return m, err
		})
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case r := <-opened:
			if r.Err == nil {
				return r.Val.(*calling.Model), nil
			}
			if !errors.Is(r.Err, errLeft) {
				return nil, r.Err
			}
		}
	}
}

// open opens the model of a name.
func (s *Served) open(ctx context.Context, name string) (*calling.Model, error) {
	if m := s.remembered(name, nil); m != nil { // by the one before
		return m, nil
	}
	if s.only != nil {
		return s.calling(ctx, name, s.config, s.only), nil
	}
	named := name
	if _, entry := config.EntryFor(s.config.Models, strings.TrimSuffix(name, ":latest")); entry { // as Ollama's clients call it
		named = strings.TrimSuffix(name, ":latest")
	} else {
		if provider, model := SplitModel(name); provider != config.Ollama || model == "" {
			return nil, &providers.Error{Kind: providers.ModelMissing, Message: fmt.Sprintf("the model %q does not exist", name)}
		}
	}
	c := s.config.For(named)
	m, err := OpenModel(ctx, c, silent{}, nil)
	if err != nil {
		return nil, &providers.Error{Kind: providers.ModelMissing, Message: fmt.Sprintf("the model %q cannot be asked: %v", name, err), Err: err}
	}
	if named == name && len(s.config.Models) > 0 {
		if _, entry := config.EntryFor(s.config.Models, name); !entry {
			m.Model = unlisted{m.Model, name}
		}
	}
	return s.calling(ctx, name, c, m), nil
}

// remembered is the model that was opened by that name, or else opened, which is
// remembered. Opening asks a server, perhaps: requests of other models do not wait for it.
func (s *Served) remembered(name string, opened *calling.Model) *calling.Model {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.opened[name]; m != nil || opened == nil {
		return m
	}
	if len(s.opened) >= maxOpened {
		clear(s.opened)
	}
	s.opened[name] = opened
	return opened
}

// unlisted is a model that only Ollama can have, where the configuration has others. If
// there is no Ollama, there is no such model.
type unlisted struct {
	providers.Model
	name string
}

// Generate implements providers.Model.
func (u unlisted) Generate(ctx context.Context, r providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		for c, err := range u.Model.Generate(ctx, r) {
			if providers.KindOf(err) == providers.Unreachable {
				err = &providers.Error{Kind: providers.ModelMissing, Message: fmt.Sprintf("the model %q is not in the configuration, and Ollama does not answer: %v", u.name, err), Err: err}
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// Info implements providers.Informer.
func (u unlisted) Info(ctx context.Context) (providers.Info, error) {
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

// List lists the models that Open knows, as far as Ollama answers.
func (s *Served) List(ctx context.Context) ([]providers.ModelInfo, error) {
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

// About says in a few words which models there are.
func (s *Served) About() string {
	if s.only != nil {
		return s.only.Name
	}
	about := "the models of Ollama at " + config.Host.Or(s.config.Settings, "its usual address")
	if n := len(s.config.Models); n > 0 {
		about += " and of [models] in the configuration: " + strings.Join(slices.Sorted(maps.Keys(s.config.Models)), ", ")
	}
	return about
}
