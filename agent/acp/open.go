package acp

import (
	"context"
	"path/filepath"

	sdk "github.com/coder/acp-go-sdk"
)

// opens is the work of a request that opens a session; response makes what answers it.
func (s *server) opens(id, dir string, servers []sdk.McpServer, more []string, response func(*session) any) (work, error) {
	o, err := opening(id, dir, servers, more)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (answer, error) {
		open := s.open
		if id != "" {
			open = s.reopen
		}
		live, err := open(ctx, o)
		if err != nil {
			return answer{}, err
		}
		return answer{response(live), live.announce}, nil
	}, nil
}

// opening checks what an editor wants to be opened.
func opening(id, dir string, servers []sdk.McpServer, more []string) (Opening, error) {
	if !filepath.IsAbs(dir) {
		return Opening{}, Errorf(CodeInvalidParams, "cwd must be an absolute path, and %q is none", dir)
	}
	if len(more) > 0 {
		return Opening{}, Errorf(CodeInvalidParams, "additionalDirectories are not supported: a session has one directory, cwd")
	}
	o := Opening{ID: id, Dir: filepath.Clean(dir)}
	for _, m := range servers {
		o.Servers = append(o.Servers, serverOf(m))
	}
	return o, nil
}

func serverOf(m sdk.McpServer) Server {
	headers := func(all []sdk.HttpHeader) map[string]string {
		set := map[string]string{}
		for _, h := range all {
			set[h.Name] = h.Value
		}
		return set
	}
	switch {
	case m.Http != nil:
		return Server{Name: m.Http.Name, URL: m.Http.Url, Headers: headers(m.Http.Headers)}
	case m.Sse != nil:
		return Server{Name: m.Sse.Name, URL: m.Sse.Url, SSE: true, Headers: headers(m.Sse.Headers)}
	case m.Stdio != nil:
		env := map[string]string{}
		for _, e := range m.Stdio.Env {
			env[e.Name] = e.Value
		}
		return Server{Name: m.Stdio.Name, Command: m.Stdio.Command, Args: m.Stdio.Args, Env: env}
	}
	return Server{}
}

// open opens a session.
func (s *server) open(ctx context.Context, o Opening) (*session, error) {
	live := &session{server: s, dir: o.Dir, working: make(chan struct{}, 1)}
	o.Editor = &Editor{session: live}
	c, err := s.Host.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	live.conversation, live.id, live.models = c, c.ID(), c.Models(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil { // and with it the editor, perhaps: nobody would close it
		c.Close()
		return nil, context.Cause(ctx)
	}
	s.sessions[live.id] = live
	return live, nil
}

// reopen opens a recorded session, or returns it if it is open.
func (s *server) reopen(ctx context.Context, o Opening) (*session, error) {
	s.mu.Lock()
	live := s.sessions[o.ID]
	busy := live == nil && s.opening[o.ID]
	if live == nil {
		s.opening[o.ID] = true
	}
	s.mu.Unlock()
	switch {
	case busy:
		return nil, Errorf(CodeInvalid, "the session %q is being opened already", o.ID)
	case live != nil && live.dir != o.Dir:
		return nil, Errorf(CodeInvalidParams, "the session %q is about another directory, %s", o.ID, live.dir)
	case live != nil && live.answering():
		return nil, Errorf(CodeInvalid, "a prompt is being answered in the session %q", o.ID)
	case live != nil:
		return live, nil
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.opening, o.ID)
	}()
	return s.open(ctx, o)
}
