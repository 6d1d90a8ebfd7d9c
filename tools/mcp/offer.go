package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mylm/tools"
)

// Offer makes tools of ours an MCP server for other programs.
type Offer struct {
	Name, Version string
	// Instructions tell a model what the tools are for.
	Instructions string
	// Listed are the tools as every client is shown them. None of them is run.
	Listed *tools.Registry
	// Tools are those that run for a caller. It is called for every call.
	Tools func(ctx context.Context, c Caller) (*tools.Registry, error)
	// Timeout bounds a call of a tool that sets no time itself; 0: 30 s.
	Timeout time.Duration
}

// Caller is who calls a tool.
type Caller struct {
	Client string // the program, as it calls itself; "" if it does not
	Root   string // the first directory that it works in; "" if it does not say
}

// server makes the SDK's server.
func (o Offer) server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: o.Name, Version: o.Version}, &mcp.ServerOptions{Instructions: o.Instructions, Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
	s.AddReceivingMiddleware(negotiated)
	for _, t := range o.Listed.Tools() {
		effect := tools.Runs
		if t.Effect != nil {
			effect = t.Effect(nil)
		}
		no := false
		s.AddTool(&mcp.Tool{
			Name: t.Name, Description: t.Description, InputSchema: t.Schema,
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: effect&^tools.Reads == 0, DestructiveHint: &no, OpenWorldHint: &no},
		}, o.call)
	}
	return s
}

// call runs a tool for a client. What is wrong with a call is a result, so that the
// client's model can correct it.
func (o Offer) call(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	failed := func(err error) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}, nil
	}
	caller, ask := callerOf(ctx, r)
	if ask {
		//lint:ignore SA1019 clients of today name their directories in this way
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"roots": &mcp.ListRootsParams{}}}, nil
	}
	registry, err := o.Tools(ctx, caller)
	if err != nil {
		return failed(err)
	}
	inv, err := registry.Prepare(r.Params.Name, r.Params.Arguments)
	if err != nil {
		return failed(err)
	}
	timeout := o.Timeout
	if timeout == 0 {
		timeout = 30 * time.Second
	}
	outcome := inv.Run(ctx, timeout)
	if !outcome.Success() {
		return failed(errors.New(outcome.Body()))
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: outcome.Text}}}, nil
}

const (
	// rootsPatience is how long a client may take to name its directories.
	rootsPatience = 2 * time.Second

	// callsAgain is the first revision in which a server asks by having a call made again.
	callsAgain = "2026-07-28"

	// initializes is the last one that begins with initialize.
	initializes = "2025-11-25"
)

// negotiated has a client that asks for a later revision by initialize treated as one of
// the revision that it is offered: the SDK goes by what was asked for.
func negotiated(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		if p, ok := r.GetParams().(*mcp.InitializeParams); ok && p != nil && p.ProtocolVersion > initializes {
			p.ProtocolVersion = initializes
		}
		return next(ctx, method, r)
	}
}

// callerOf is the client of a call. In the newest revision it names itself with each
// call, in the others once. There it cannot be asked for its directories either: ask is
// true if the call is to be made again with them.
func callerOf(ctx context.Context, r *mcp.CallToolRequest) (c Caller, ask bool) {
	var info mcp.Implementation
	if b, err := json.Marshal(r.Params.Meta[mcp.MetaKeyClientInfo]); err == nil && json.Unmarshal(b, &info) == nil {
		c.Client = info.Name
	}
	p := r.Session.InitializeParams()
	if p == nil {
		return c, false
	}
	if c.Client == "" && p.ClientInfo != nil {
		c.Client = p.ClientInfo.Name
	}
	c.Client = plainLine(c.Client)
	//lint:ignore SA1019 as above
	if p.Capabilities == nil || p.Capabilities.RootsV2 == nil {
		return c, false
	}
	//lint:ignore SA1019 as above
	roots, ok := r.Params.InputResponses["roots"].(*mcp.ListRootsResult)
	switch {
	case ok:
	case p.ProtocolVersion >= callsAgain:
		return c, r.Params.InputResponses == nil
	default:
		ctx, cancel := context.WithTimeout(ctx, rootsPatience)
		defer cancel()
		var err error
		//lint:ignore SA1019 as above
		if roots, err = r.Session.ListRoots(ctx, nil); err != nil {
			return c, false
		}
	}
	for _, root := range roots.Roots {
		if root == nil { // what a client sends
			continue
		}
		if u, err := url.Parse(root.URI); err == nil && u.Scheme == "file" && filepath.IsAbs(filepath.FromSlash(u.Path)) {
			c.Root = filepath.FromSlash(u.Path)
			break
		}
	}
	return c, false
}

// Serve serves one client over a pair of streams, until the input ends or ctx is done.
// Nothing but messages of the protocol is written.
func (o Offer) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := o.server().Run(ctx, &streams{in: in, out: out})
	if errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed) || ctx.Err() != nil {
		return nil
	}
	return err
}

// Handler serves clients over streamable HTTP. Who may ask is for the caller to decide.
func (o Offer) Handler() http.Handler {
	s := o.server()
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{SessionTimeout: time.Hour})
}

// streams is a connection over a pair of streams, which passes over what is no
// message; the SDK's own ends with it.
type streams struct {
	in  io.Reader
	out io.Writer

	mu     sync.Mutex    // held while writing
	open   int           // questions that were read and not answered
	last   chan struct{} // closed when the last one is; nil: nobody waits for it
	once   sync.Once
	closed chan struct{}
	read   chan jsonrpc.Message
	err    error // valid once read is closed
}

// Connect implements mcp.Transport.
func (s *streams) Connect(context.Context) (mcp.Connection, error) {
	s.closed, s.read = make(chan struct{}), make(chan jsonrpc.Message)
	go func() {
		defer close(s.read)
		in := bufio.NewReaderSize(s.in, 64<<10)
		for {
			line, err := readLine(in)
			for _, m := range messages(line) {
				if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
					s.mu.Lock()
					s.open++
					s.mu.Unlock()
				}
				select {
				case s.read <- m:
				case <-s.closed:
					return
				}
			}
			if err != nil {
				s.err = err
				s.idle() // a program may close its end and wait for the answers
				return
			}
		}
	}()
	return s, nil
}

// idle waits until everything is answered, or the connection is closed.
func (s *streams) idle() {
	s.mu.Lock()
	if s.open == 0 {
		s.mu.Unlock()
		return
	}
	last := make(chan struct{})
	s.last = last
	s.mu.Unlock()
	select {
	case <-last:
	case <-s.closed:
	}
}

// SessionID implements mcp.Connection.
func (s *streams) SessionID() string { return "" }

// Read implements mcp.Connection.
func (s *streams) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m, ok := <-s.read:
		if !ok {
			return nil, s.err
		}
		return m, nil
	case <-s.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements mcp.Connection.
func (s *streams) Write(_ context.Context, m jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.out.Write(append(text, '\n'))
	if _, ok := m.(*jsonrpc.Response); ok && s.open > 0 {
		if s.open--; s.open == 0 && s.last != nil {
			close(s.last)
			s.last = nil
		}
	}
	return err
}

// Close implements mcp.Connection.
func (s *streams) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}
