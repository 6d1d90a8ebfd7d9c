package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// list connects and lists the tools. Definitions that are seen first are pinned.
func (s *server) list(ctx context.Context) (Listed, error) {
	l, err := s.connect(ctx)
	if err != nil {
		return Listed{Server: s.Name}, err
	}
	live, err := s.definitions(ctx, l, false)
	if err != nil {
		return Listed{Server: s.Name}, fmt.Errorf("MCP server %s: %w", s.Name, inWords(err))
	}
	out := Listed{Server: s.Name}
	if r := l.session.InitializeResult(); r != nil {
		out.Version = r.ProtocolVersion
		out.Instruction = plain(cutBytes(r.Instructions, maxDescription))
		if r.ServerInfo != nil {
			out.Title = plainLine(r.ServerInfo.Name + " " + r.ServerInfo.Version)
		}
		able := abilitiesOf(l.session)
		out.Prompts, out.Resources = able.Prompts, able.Resources
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out.Problems = slices.Clone(s.problems)
	for _, d := range live {
		i := slices.IndexFunc(s.agreed, func(a Definition) bool { return a.Name == d.Name })
		out.Tools = append(out.Tools, Listing{Definition: d, Call: callName(s.Name, d.Name), Changed: i >= 0 && s.agreed[i].hash() != d.hash()})
	}
	return out, nil
}

var errListTime = errors.New("it did not list its tools in time")

// definitions are those that the server has now. They are asked for once in a
// connection, again when the server says that they have changed, and before each
// call: a server need not say so.
func (s *server) definitions(ctx context.Context, l *link, forCall bool) ([]Definition, error) {
	l.lists.Lock()
	defer l.lists.Unlock()
	l.mu.Lock()
	live, fresh := l.live, !l.stale && (!forCall || l.unused)
	l.stale, l.unused = false, l.unused && !forCall
	l.mu.Unlock()
	if live != nil && fresh {
		return live, nil
	}
	ctx, _, stop := l.asks.watch(ctx, s.startTime(), errListTime)
	defer stop()
	live, problems, err := s.fetch(ctx, l)
	if err != nil {
		if context.Cause(ctx) == errListTime {
			err = errListTime
		}
		l.mu.Lock()
		l.stale = true
		l.mu.Unlock()
		return nil, err
	}
	l.mu.Lock()
	l.live, l.unused = live, !forCall
	l.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = problems
	return live, s.pin(live, abilitiesOf(l.session))
}

// outdated reports whether the server has said that its tools are others now.
func (l *link) outdated() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stale
}

// fetch asks for the list, page by page.
func (s *server) fetch(ctx context.Context, l *link) (kept []Definition, problems []Problem, err error) {
	all, session := []Definition{}, l.session
	seen := map[string]bool{}
	if r := session.InitializeResult(); r != nil && r.Capabilities != nil && r.Capabilities.Tools == nil {
		return all, nil, nil
	}
	for n, cursor := 0, ""; ; {
		page, err := session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, nil, err
		}
		for _, t := range page.Tools {
			if n++; n > maxTools {
				return nil, nil, fmt.Errorf("it lists more than %d tools", maxTools)
			}
			if t == nil || !s.offers(t.Name) {
				continue
			}
			d, err := read(t)
			if err != nil {
				problems = append(problems, Problem{s.Name, cutBytes(t.Name, maxToolName), err.Error()})
				continue
			}
			all = append(all, d)
		}
		if page.NextCursor == "" {
			break
		}
		if cursor = page.NextCursor; seen[cursor] || len(seen) == maxTools {
			return nil, nil, errors.New("its list of tools does not end")
		}
		seen[cursor] = true
	}
	problems = append(problems, l.dropped()...)
	alike, kept := collisions(s.Name, all)
	if kept == nil {
		kept = []Definition{}
	}
	return kept, append(problems, alike...), nil
}

// dropped is a slog.Handler that notes what the SDK leaves out of a list of tools: it
// tells nobody else.
type dropped struct {
	slog.Handler
	link *link
}

// Enabled implements slog.Handler.
func (*dropped) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }

// Handle implements slog.Handler.
func (d *dropped) Handle(_ context.Context, r slog.Record) error {
	p := Problem{Server: d.link.asks.server.Name}
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "tool":
			p.Tool = cutBytes(a.Value.String(), maxToolName)
		case "error":
			p.Reason = plainLine(a.Value.String())
		}
		return true
	})
	if p.Tool != "" && p.Reason != "" {
		d.link.leaveOut(p)
	}
	return nil
}

// leaveOut notes a tool that is left out of the list.
func (l *link) leaveOut(p Problem) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.drops) < maxTools {
		l.drops = append(l.drops, p)
	}
}

// dropped returns what was left out since it was last called.
func (l *link) dropped() (all []Problem) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all, l.drops = l.drops, nil
	return all
}

// pin keeps definitions of tools that were not known, and what else the server has. The lock is held.
func (s *server) pin(live []Definition, able abilities) error {
	s.load()
	added := s.agreed == nil || s.able != able
	s.able = able
	if s.agreed == nil {
		s.agreed = []Definition{}
	}
	var changed []string
	for _, d := range live {
		i := slices.IndexFunc(s.agreed, func(a Definition) bool { return a.Name == d.Name })
		switch {
		case i < 0:
			s.agreed, added = append(s.agreed, d), true
		case s.agreed[i].hash() != d.hash():
			changed = append(changed, callName(s.Name, d.Name))
		}
	}
	if text := strings.Join(changed, ", "); text != s.told {
		s.told = text
		if text != "" {
			s.hub.notify("changed by its server since you agreed to it: %s; you are asked when it is called", cutBytes(text, 300))
		}
	}
	if !added {
		return nil
	}
	return s.store()
}

// store writes the pins. The lock is held.
func (s *server) store() error {
	if err := s.hub.options.Pins.store(&s.Server, s.agreed, s.able); err != nil {
		return fmt.Errorf("the definitions could not be kept: %w", err)
	}
	return nil
}

// agree replaces the pinned definition of a tool.
func (s *server) agree(d Definition) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	s.agreed = slices.DeleteFunc(s.agreed, func(a Definition) bool { return a.Name == d.Name })
	s.agreed = append(s.agreed, d)
	return s.store()
}

// agreeAll pins what the server has now, and forgets what it had.
func (s *server) agreeAll() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == nil {
		return errors.New("the connection has ended")
	}
	s.link.mu.Lock()
	s.agreed = slices.Clone(s.link.live)
	s.link.mu.Unlock()
	return s.store()
}
