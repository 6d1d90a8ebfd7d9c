package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strconv"
	"sync"

	sdk "github.com/coder/acp-go-sdk"
)

// maxMessage bounds a message of the editor. The largest hold pictures and files,
// in base64.
const maxMessage = 128 << 20

// Error is an error with a code of JSON-RPC or of the protocol.
type Error = sdk.RequestError

// The codes of errors.
const (
	CodeParse         = -32700
	CodeInvalid       = -32600 // the message comes at the wrong time, or is no message
	CodeNoMethod      = -32601
	CodeInvalidParams = -32602
	CodeInternal      = -32603
	CodeNotFound      = -32002 // a session, or a file
	CodeCancelled     = -32800
)

// Errorf makes an error for the editor.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// errClosed is why a request is not answered any more.
var errClosed = errors.New("the editor has closed the connection")

// message is a request, a notification or a response.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// answer is the result of a request, and what is done once it was sent.
type answer struct {
	result any
	after  func()
}

// work is what remains to be done for a request, in a goroutine of its own.
type work func(ctx context.Context) (answer, error)

// router takes the messages in the order in which they come, so that a request
// to cancel finds what came before it.
type router interface {
	request(method string, params json.RawMessage) (work, error)
	notification(method string, params json.RawMessage)
}

// conn is JSON-RPC 2.0 over two streams, one message a line.
type conn struct {
	in  *bufio.Reader
	to  router
	log func(string)

	writing sync.Mutex
	out     io.Writer

	mu      sync.Mutex
	last    int                                // the id of our last request
	pending map[string]chan message            // our requests that have no response yet
	running map[string]context.CancelCauseFunc // the editor's requests that have none
	works   sync.WaitGroup
}

func newConn(in io.Reader, out io.Writer, to router, log func(string)) *conn {
	return &conn{in: bufio.NewReaderSize(in, 64<<10), out: out, to: to, log: log, pending: map[string]chan message{}, running: map[string]context.CancelCauseFunc{}}
}

// serve reads messages until the stream ends or ctx is done. What runs then is
// cancelled, and waited for.
func (c *conn) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer c.works.Wait()
	defer cancel(errClosed)
	ended := make(chan error, 1)
	go func() { ended <- c.read(ctx) }() // ends with the process, if nothing comes any more
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *conn) read(ctx context.Context) error {
	for {
		line, err := c.line()
		if line = bytes.TrimSpace(line); len(line) > 0 && ctx.Err() == nil {
			c.take(ctx, line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil && !errors.Is(err, errTooLong) {
			return err
		}
	}
}

var errTooLong = errors.New("the message is too long")

// line reads a line. One that is too long is skipped, and answered.
func (c *conn) line() (line []byte, err error) {
	tooLong := false
	for {
		piece, err := c.in.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(piece) > maxMessage; tooLong {
			line = nil
		} else {
			line = append(line, piece...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if tooLong {
			c.fail(nil, Errorf(CodeInvalid, "the message has more than %d bytes", maxMessage))
			if err == nil {
				err = errTooLong
			}
		}
		return line, err
	}
}

// take handles one message.
func (c *conn) take(ctx context.Context, line []byte) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		code := CodeParse
		if json.Valid(line) {
			code = CodeInvalid
		}
		c.fail(nil, Errorf(code, "the line is no message of JSON-RPC: %v", err))
		return
	}
	switch {
	case m.Method == "" && m.ID == nil:
		c.fail(nil, Errorf(CodeInvalid, "the message has neither a method nor an id"))
	case m.Method == "":
		c.respond(m)
	case m.Method == "$/cancel_request":
		c.cancel(m.Params)
	case m.ID == nil:
		c.to.notification(m.Method, m.Params)
	default:
		c.start(ctx, m)
	}
}

// start carries out a request of the editor.
func (c *conn) start(ctx context.Context, m message) {
	do, err := c.to.request(m.Method, m.Params)
	if err != nil {
		c.fail(m.ID, errorOf(err))
		return
	}
	ctx, cancel := context.WithCancelCause(ctx)
	id := string(m.ID)
	c.mu.Lock()
	c.running[id] = cancel
	c.mu.Unlock()
	c.works.Go(func() {
		a, err := c.carry(ctx, do)
		c.mu.Lock()
		delete(c.running, id)
		c.mu.Unlock()
		cancel(nil)
		if err != nil {
			c.fail(m.ID, errorOf(err))
			return
		}
		result, err := json.Marshal(a.result)
		if err != nil {
			c.fail(m.ID, errorOf(err))
			return
		}
		c.send(message{ID: m.ID, Result: result})
		if a.after != nil {
			a.after()
		}
	})
}

// carry carries out the work of a request. A panic in it is an error: the other
// sessions go on.
func (c *conn) carry(ctx context.Context, do work) (a answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.log(fmt.Sprintf("internal error: %v\n%s", p, debug.Stack()))
			err = fmt.Errorf("internal error: %v", p)
		}
	}()
	return do(ctx)
}

// errorOf is an error as the editor gets it.
func errorOf(err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled):
		return Errorf(CodeCancelled, "the request was cancelled")
	}
	return Errorf(CodeInternal, "%v", err)
}

// errAsked is the cause of a cancel that the editor asked for with
// $/cancel_request.
var errAsked = fmt.Errorf("the editor cancelled the request: %w", context.Canceled)

// cancel cancels a request of the editor.
func (c *conn) cancel(params json.RawMessage) {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		c.log("$/cancel_request: " + err.Error())
		return
	}
	c.mu.Lock()
	cancel := c.running[string(p.RequestID)]
	c.mu.Unlock()
	if cancel != nil {
		cancel(errAsked)
	}
}

// respond takes a response of the editor.
func (c *conn) respond(m message) {
	c.mu.Lock()
	waiting := c.pending[string(m.ID)]
	delete(c.pending, string(m.ID))
	c.mu.Unlock()
	if waiting != nil { // otherwise nobody waits any more
		waiting <- m
	}
}

// call sends a request to the editor, and waits for its response.
func (c *conn) call(ctx context.Context, method string, params, result any) error {
	b, err := json.Marshal(params)
	if err != nil {
		return err
	}
	response := make(chan message, 1)
	c.mu.Lock()
	c.last++
	id := strconv.Itoa(c.last)
	c.pending[id] = response
	c.mu.Unlock()
	c.send(message{ID: json.RawMessage(id), Method: method, Params: b})
	select {
	case m := <-response:
		if m.Error != nil {
			return m.Error
		}
		if result == nil || len(m.Result) == 0 {
			return nil
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return fmt.Errorf("%s: the editor's response cannot be read: %w", method, err)
		}
		return nil
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.pending, id)
		c.mu.Unlock()
		if errors.Is(context.Cause(ctx), errAsked) { // an editor that does not know it would not have sent it
			c.notify("$/cancel_request", map[string]json.RawMessage{"requestId": json.RawMessage(id)})
		}
		return context.Cause(ctx)
	}
}

// notify sends a notification.
func (c *conn) notify(method string, params any) {
	b, err := json.Marshal(params)
	if err != nil {
		c.log(method + ": " + err.Error())
		return
	}
	c.send(message{Method: method, Params: b})
}

// fail answers a request with an error; without an id it is about a line that is
// none.
func (c *conn) fail(id json.RawMessage, err *Error) {
	if id == nil {
		id = json.RawMessage("null")
	}
	c.send(message{ID: id, Error: err})
}

// send writes a message. If that fails, reading is about to end as well.
func (c *conn) send(m message) {
	m.JSONRPC = "2.0"
	var b bytes.Buffer
	enc := json.NewEncoder(&b) // which ends it with a newline, and has none in it
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		c.log(err.Error())
		return
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	_, _ = c.out.Write(b.Bytes())
}
