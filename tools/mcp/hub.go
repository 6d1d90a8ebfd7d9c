package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"mylm/tools"
)

// Options of a Hub.
type Options struct {
	Servers []Server
	// Pins keeps definitions from one Hub to the next. Without a directory they are
	// kept as long as the Hub.
	Pins Pins
	// Name and Version are what servers are told about who speaks with them.
	Name, Version string
	// Clean changes descriptions before a model is shown them. Nil: they stay.
	Clean func(text string) string
	// Notify gets what the user should know, a line at a time: a definition that
	// changed, a tool that is not offered. Nil: nobody does.
	Notify func(text string)
}

// Hub holds the servers of a run. It may be used by several goroutines at once.
type Hub struct {
	options Options
	servers []*server // in the order in which they were given

	// life ends with the hub, and with it everything that is under way.
	life context.Context
	stop context.CancelFunc
	busy sync.WaitGroup
}

// NewHub makes a hub. It starts nothing and connects to nothing. It is an error if a
// server is not described well, or if two share a name.
func NewHub(o Options) (*Hub, error) {
	h := &Hub{options: o}
	for _, s := range o.Servers {
		if err := s.Check(); err != nil {
			return nil, fmt.Errorf("MCP server %s: %w", s.Name, err)
		}
		if h.server(s.Name) != nil {
			return nil, fmt.Errorf("two MCP servers are called %q", s.Name)
		}
		h.servers = append(h.servers, &server{Server: s, hub: h})
	}
	h.life, h.stop = context.WithCancel(context.Background())
	return h, nil
}

// Close ends every server and waits until nothing of them is left.
func (h *Hub) Close() {
	h.stop()
	var all sync.WaitGroup
	for _, s := range h.servers {
		all.Go(s.close)
	}
	all.Wait()
	h.busy.Wait()
}

// Names are the names of the servers.
func (h *Hub) Names() (names []string) {
	for _, s := range h.servers {
		names = append(names, s.Name)
	}
	return names
}

func (h *Hub) server(name string) *server {
	for _, s := range h.servers {
		if s.Name == name {
			return s
		}
	}
	return nil
}

func (h *Hub) notify(format string, args ...any) {
	if h.options.Notify != nil {
		h.options.Notify(fmt.Sprintf(format, args...))
	}
}

// Known are the tools whose definitions are pinned or were listed, in the order of
// the servers, and Tokens an estimate of what showing all of them costs. Nothing is
// started for it.
func (h *Hub) Known() (all []Known) {
	for _, s := range h.servers {
		for _, d := range s.known() {
			all = append(all, Known{Name: callName(s.Name, d.Name), Tokens: d.tokens()})
		}
	}
	return all
}

// Known is a tool that can be shown without asking its server.
type Known struct {
	Name   string
	Tokens int // estimated, of its definition
}

// Unknown are the servers whose tools nothing is known of yet.
func (h *Hub) Unknown() (names []string) {
	for _, s := range h.servers {
		if s.known() == nil {
			names = append(names, s.Name)
		}
	}
	return names
}

// Lookup makes the tool of a name, nil if it cannot be one of the servers'. Of a tool
// that is not known yet it checks no arguments: the server is asked when it runs.
func (h *Hub) Lookup(name string) *tools.Tool {
	prefix, rest, ok := strings.Cut(name, separator)
	s := h.server(prefix)
	if !ok || s == nil || rest == "" || len(name) > maxCallName {
		return nil
	}
	for _, d := range s.known() {
		if callName(s.Name, d.Name) == name {
			t, err := s.tool(d)
			if err != nil {
				return nil // a file of pins that somebody edited
			}
			return t
		}
	}
	for i := range len(rest) {
		if !isNamePart(rest[i]) {
			return nil
		}
	}
	return s.unknownTool(name)
}

// List connects to the servers of these names, all of them if there are none, in
// parallel, and lists their tools. The error joins what went wrong; the other
// servers are listed all the same.
func (h *Hub) List(ctx context.Context, names ...string) ([]Listed, error) {
	var some []*server
	for _, s := range h.servers {
		if len(names) == 0 || slices.Contains(names, s.Name) {
			some = append(some, s)
		}
	}
	lists, errs := make([]Listed, len(some)), make([]error, len(some))
	var all sync.WaitGroup
	for i, s := range some {
		all.Go(func() { lists[i], errs[i] = s.list(ctx) })
	}
	all.Wait()
	return lists, errors.Join(errs...)
}

// Listed is what a server offers now.
type Listed struct {
	Server      string
	Title       string // what it calls itself, with its version
	Version     string // of the protocol
	Tools       []Listing
	Problems    []Problem
	Prompts     bool
	Resources   bool
	Instruction string // for the model; shown to nobody but the user
}

// Listing is one tool of a Listed.
type Listing struct {
	Definition
	Call    string // the name by which it is called
	Changed bool   // its definition is not the one that the user agreed to
}

// Agree pins the definitions that a server has now.
func (h *Hub) Agree(ctx context.Context, name string) error {
	s := h.server(name)
	if s == nil {
		return fmt.Errorf("there is no MCP server %q", name)
	}
	if _, err := s.list(ctx); err != nil {
		return err
	}
	return s.agreeAll()
}
