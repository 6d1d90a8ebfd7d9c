package acp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"path/filepath"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"
)

// Options of Serve.
type Options struct {
	Name, Version string // of the agent, for the editor
	Host          Host
	Log           func(string) // gets errors that cannot be sent to the editor; nil: they are dropped
}

// version is the one version of the protocol that is spoken.
const version = 1

// endPatience is how long the end waits for what was cancelled: longer than the
// agent waits for a tool that does not stop.
const endPatience = 10 * time.Second

// Serve serves an editor until in ends or ctx is done, and returns the error of the
// stream or of ctx. It returns when all that it started has ended.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	if o.Log == nil {
		o.Log = func(string) {}
	}
	s := &server{Options: o, sessions: map[string]*session{}, opening: map[string]bool{}}
	s.conn = newConn(in, out, s, o.Log)
	err := s.conn.serve(ctx)
	s.close()
	return err
}

// server is the agent as one editor sees it.
type server struct {
	Options
	conn *conn

	ready bool // initialize came; only the goroutine that reads uses it

	mu       sync.Mutex
	client   sdk.ClientCapabilities
	sessions map[string]*session
	opening  map[string]bool // recorded sessions that are being opened
}

// request implements router.
func (s *server) request(method string, params json.RawMessage) (work, error) {
	if !s.ready && method != sdk.AgentMethodInitialize {
		return nil, Errorf(CodeInvalid, "%s comes before initialize", method)
	}
	switch method {
	case sdk.AgentMethodInitialize:
		return handle(params, s.initialize)
	case sdk.AgentMethodAuthenticate:
		return handle(params, func(p *sdk.AuthenticateRequest) (work, error) {
			return nil, Errorf(CodeInvalidParams, "there is no authentication method %q: none is needed", p.MethodId)
		})
	case sdk.AgentMethodSessionNew:
		return handle(params, s.newSession)
	case sdk.AgentMethodSessionLoad:
		return handle(params, s.loadSession)
	case sdk.AgentMethodSessionResume:
		return handle(params, s.resumeSession)
	case sdk.AgentMethodSessionList:
		return handle(params, s.listSessions)
	case sdk.AgentMethodSessionClose:
		return handle(params, s.closeSession)
	case methodDelete:
		return handle(params, s.deleteSession)
	case sdk.AgentMethodSessionSetMode:
		return handle(params, s.setMode)
	case sdk.AgentMethodSessionSetConfigOption:
		return handle(params, s.setOption)
	case sdk.AgentMethodSessionPrompt:
		return handle(params, s.prompt)
	}
	return nil, Errorf(CodeNoMethod, "there is no method %q", method)
}

// handle reads the parameters of a request.
func handle[P any, V interface {
	*P
	Validate() error
}](params json.RawMessage, do func(V) (work, error)) (work, error) {
	p := V(new(P))
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	err := json.Unmarshal(params, p)
	if err == nil {
		err = p.Validate()
	}
	if err != nil {
		return nil, Errorf(CodeInvalidParams, "invalid params: %v", err)
	}
	return do(p)
}

// notification implements router.
func (s *server) notification(method string, params json.RawMessage) {
	if method != sdk.AgentMethodSessionCancel {
		return // such as an extension: nothing is lost without it
	}
	var p sdk.CancelNotification
	if err := json.Unmarshal(params, &p); err != nil {
		s.Log("session/cancel: " + err.Error())
		return
	}
	if live := s.live(string(p.SessionId)); live != nil {
		live.cancel()
	}
}

func (s *server) initialize(p *sdk.InitializeRequest) (work, error) {
	s.ready = true
	s.mu.Lock()
	s.client = p.ClientCapabilities
	s.mu.Unlock()
	return func(ctx context.Context) (answer, error) {
		return answer{result: initialized{
			ProtocolVersion: version, // the only one: an editor that does not speak it closes the connection
			AgentInfo:       &sdk.Implementation{Name: s.Name, Version: s.Version},
			AuthMethods:     []sdk.AuthMethod{},
			AgentCapabilities: capabilities{
				LoadSession:        true,
				PromptCapabilities: sdk.PromptCapabilities{EmbeddedContext: true, Image: s.Host.Sees(ctx)},
				McpCapabilities:    sdk.McpCapabilities{Http: true, Sse: true},
				SessionCapabilities: map[string]struct{}{
					"list": {}, "resume": {}, "close": {}, "delete": {},
				},
			},
		}}, nil
	}, nil
}

// initialized is sdk.InitializeResponse without what is no part of version 1.
type initialized struct {
	ProtocolVersion   int                 `json:"protocolVersion"`
	AgentInfo         *sdk.Implementation `json:"agentInfo"`
	AuthMethods       []sdk.AuthMethod    `json:"authMethods"`
	AgentCapabilities capabilities        `json:"agentCapabilities"`
}

type capabilities struct {
	LoadSession         bool                   `json:"loadSession"`
	PromptCapabilities  sdk.PromptCapabilities `json:"promptCapabilities"`
	McpCapabilities     sdk.McpCapabilities    `json:"mcpCapabilities"`
	SessionCapabilities map[string]struct{}    `json:"sessionCapabilities"`
}

// methodDelete and its parameters are younger than the types of the library.
const methodDelete = "session/delete"

type deleteRequest struct {
	SessionID string `json:"sessionId"`
}

// Validate is like that of the library's types.
func (r *deleteRequest) Validate() error {
	if r.SessionID == "" {
		return Errorf(CodeInvalidParams, "sessionId is required")
	}
	return nil
}

// live is an open session, or nil.
func (s *server) live(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

// find is an open session.
func (s *server) find(id sdk.SessionId) (*session, error) {
	if live := s.live(string(id)); live != nil {
		return live, nil
	}
	return nil, Errorf(CodeNotFound, "there is no open session %q", id)
}

func (s *server) newSession(p *sdk.NewSessionRequest) (work, error) {
	return s.opens("", p.Cwd, p.McpServers, p.AdditionalDirectories, func(live *session) any {
		return sdk.NewSessionResponse{SessionId: sdk.SessionId(live.id), Modes: live.modes(), ConfigOptions: live.options()}
	})
}

func (s *server) loadSession(p *sdk.LoadSessionRequest) (work, error) {
	return s.opens(string(p.SessionId), p.Cwd, p.McpServers, p.AdditionalDirectories, func(live *session) any {
		live.replay()
		return sdk.LoadSessionResponse{Modes: live.modes(), ConfigOptions: live.options()}
	})
}

func (s *server) resumeSession(p *sdk.ResumeSessionRequest) (work, error) {
	return s.opens(string(p.SessionId), p.Cwd, p.McpServers, p.AdditionalDirectories, func(live *session) any {
		return sdk.ResumeSessionResponse{Modes: live.modes(), ConfigOptions: live.options()}
	})
}

// listed is how many sessions a page of a list has.
const listed = 50

func (s *server) listSessions(p *sdk.ListSessionsRequest) (work, error) {
	page := Page{Limit: listed + 1}
	if p.Cwd != nil {
		if !filepath.IsAbs(*p.Cwd) {
			return nil, Errorf(CodeInvalidParams, "cwd must be an absolute path, and %q is none", *p.Cwd)
		}
		page.Dir = filepath.Clean(*p.Cwd)
	}
	if p.Cursor != nil {
		var err error
		if page.Before, err = readCursor(*p.Cursor); err != nil {
			return nil, Errorf(CodeInvalidParams, "the cursor %q is none of this agent", *p.Cursor)
		}
	}
	return func(ctx context.Context) (answer, error) {
		all, err := s.Host.List(ctx, page)
		if err != nil {
			return answer{}, err
		}
		r := sdk.ListSessionsResponse{Sessions: []sdk.SessionInfo{}}
		for i, info := range all {
			if i == listed {
				r.NextCursor = sdk.Ptr(cursor(all[i-1].Changed))
				break
			}
			r.Sessions = append(r.Sessions, sdk.SessionInfo{
				SessionId: sdk.SessionId(info.ID), Cwd: info.Dir, Title: sdk.Ptr(info.Title), UpdatedAt: sdk.Ptr(info.Changed.UTC().Format(time.RFC3339Nano)),
			})
		}
		return answer{result: r}, nil
	}, nil
}

// cursor is where a page ended.
func cursor(last time.Time) string {
	return base64.RawURLEncoding.EncodeToString([]byte(last.UTC().Format(time.RFC3339Nano)))
}

func readCursor(text string) (time.Time, error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return time.Time{}, err
	}
	return time.Parse(time.RFC3339Nano, string(b))
}

func (s *server) closeSession(p *sdk.CloseSessionRequest) (work, error) {
	live, err := s.find(p.SessionId)
	if err != nil {
		return nil, err
	}
	end := s.drop(live)
	return func(ctx context.Context) (answer, error) {
		end(ctx)
		return answer{result: sdk.CloseSessionResponse{}}, nil
	}, nil
}

func (s *server) deleteSession(p *deleteRequest) (work, error) {
	end := func(context.Context) {}
	if live := s.live(p.SessionID); live != nil {
		end = s.drop(live)
	}
	return func(ctx context.Context) (answer, error) {
		end(ctx)
		return answer{result: struct{}{}}, s.Host.Delete(ctx, p.SessionID)
	}, nil
}

// drop forgets a session, so that what waits for it does not begin, and cancels it. The
// function that it returns closes it.
func (s *server) drop(live *session) (end func(context.Context)) {
	s.mu.Lock()
	gone := s.sessions[live.id] != live
	delete(s.sessions, live.id)
	s.mu.Unlock()
	live.cancel()
	return func(ctx context.Context) {
		if !gone {
			live.wait(ctx)
			live.conversation.Close()
		}
	}
}

func (s *server) setMode(p *sdk.SetSessionModeRequest) (work, error) {
	live, err := s.find(p.SessionId)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (answer, error) {
		if err := live.conversation.SetMode(ctx, string(p.ModeId)); err != nil {
			return answer{}, err
		}
		return answer{result: sdk.SetSessionModeResponse{}, after: func() {
			if _, now := live.conversation.Modes(); now != string(p.ModeId) {
				live.update(sdk.SessionUpdate{CurrentModeUpdate: &sdk.SessionCurrentModeUpdate{CurrentModeId: sdk.SessionModeId(now)}})
			}
		}}, nil
	}, nil
}

// close ends all sessions.
func (s *server) close() {
	s.mu.Lock()
	all := s.sessions
	s.sessions = map[string]*session{}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), endPatience)
	defer cancel()
	for _, live := range all {
		live.cancel()
	}
	for _, live := range all {
		live.wait(ctx)
		live.conversation.Close()
	}
}
