package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of a server on the other end of a pipe.
const (
	maxMessage = 16 << 20 // bytes of one message; the SDK has the same bound for HTTP
	maxStderr  = 4 << 10  // bytes of its last words that are kept
	maxOpen    = 1000     // requests of the server that have no response

	// endPatience is how long a server may take to end when its input has: the
	// specification wants it to be given a chance. Then it is killed.
	endPatience = 500 * time.Millisecond

	// discoverShare is the part of the time for starting after which a server that
	// does not answer the newest revision's server/discover is asked for an older
	// one. Servers that ignore unknown methods would otherwise never be reached.
	discoverShare = 3
)

// stdio starts a program and speaks with it over its standard input and output.
// The SDK's own transport leaves grandchildren, passes on every variable and ends
// with the first line that is no message.
type stdio struct {
	server   *Server
	link     *link
	patience time.Duration // for an answer to server/discover
	pipes    *pipes        // nil before Connect
}

// late reports whether server/discover was answered after patience had ended. Such a
// server knows the newest revision, and may refuse an older one on the same connection.
func (t *stdio) late() bool {
	if t.pipes == nil {
		return false
	}
	t.pipes.mu.Lock()
	defer t.pipes.mu.Unlock()
	return t.pipes.late
}

// close ends the program.
func (t *stdio) close() {
	if t.pipes != nil {
		_ = t.pipes.Close()
	}
}

// why is the end of the program, where that is why err came, and else err.
func (t *stdio) why(err error) error {
	if t.pipes == nil {
		return err
	}
	<-t.pipes.incomingDone
	var ended *Ended
	if errors.As(t.pipes.failed, &ended) {
		return ended
	}
	return err
}

// Connect implements mcp.Transport. The program outlives ctx.
func (t *stdio) Connect(context.Context) (mcp.Connection, error) {
	p, err := start(t.server)
	if err != nil {
		return nil, err
	}
	c := &pipes{process: p, link: t.link, patience: t.patience, waiting: map[jsonrpc.ID]string{}, incoming: make(chan jsonrpc.Message), incomingDone: make(chan struct{}), closed: make(chan struct{}), answered: make(chan struct{})}
	t.pipes = c
	go c.read()
	return c, nil
}

// pipes is a connection with a program.
type pipes struct {
	*process
	link     *link
	patience time.Duration

	incoming     chan jsonrpc.Message
	incomingDone chan struct{} // closed when nothing more comes
	failed       error         // why; valid then

	writing sync.Mutex
	once    sync.Once
	closed  chan struct{}

	answer   sync.Once
	answered chan struct{} // closed when the program has sent its first message

	mu       sync.Mutex
	waiting  map[jsonrpc.ID]string // methods of the requests whose answer is still wanted
	open     int                   // requests of the program that have no response
	last     int64                 // the id of the last request: the SDK counts them
	discover jsonrpc.ID            // the server/discover that was given up
	late     bool                  // it had a result after all
	notified bool                  // a notification was sent, which some programs answer
}

// SessionID implements mcp.Connection.
func (c *pipes) SessionID() string { return "" }

// Read implements mcp.Connection.
func (c *pipes) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.incoming:
		return m, nil
	case <-c.incomingDone:
		return nil, c.failed
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// read passes on the messages among what the program prints.
func (c *pipes) read() {
	defer close(c.incomingDone)
	in := bufio.NewReaderSize(c.stdout, 64<<10)
	for {
		line, err := readLine(in)
		if err != nil {
			select {
			case <-c.closed:
				c.failed = io.EOF // by us: it says nothing about why
			default:
				c.failed = c.ended(err)
			}
			return
		}
		for _, m := range messages(line) {
			c.answer.Do(func() { close(c.answered) })
			switch r := m.(type) {
			case *jsonrpc.Response:
				c.match(r)
			case *jsonrpc.Request:
				if r.IsCall() && c.asks(1) > maxOpen {
					c.failed = c.ended(errFlood)
					return
				}
			}
			select {
			case c.incoming <- m:
			case <-c.closed:
				c.failed = io.EOF
				return
			}
		}
	}
}

// errTooLong ends the connection: the rest of such a message cannot be passed over
// without reading it, and nothing says how long it is.
var errTooLong = fmt.Errorf("it sent a message of more than %d MB", maxMessage>>20)

// errFlood ends the connection with a server that asks and does not read the responses.
var errFlood = fmt.Errorf("it asked for more than %d things at once", maxOpen)

// asks counts requests of the program, and returns how many have no response.
func (c *pipes) asks(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open += n
	return c.open
}

// readLine returns the next line, at most maxMessage bytes of it.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxMessage {
			return nil, errTooLong
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// messages are those in a line: one, or in revision 2025-03-26 a list of them.
// What is none is passed over: programs print banners and logs. An answer that is none
// is an error at once for what waits for it.
func messages(line []byte) (found []jsonrpc.Message) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' && line[0] != '[' {
		return nil
	}
	parts := [][]byte{line}
	if line[0] == '[' {
		parts = elements(line)
	}
	for _, part := range parts {
		if m, err := jsonrpc.DecodeMessage(part); err == nil {
			found = append(found, m)
		} else if r := broken(part); r != nil {
			found = append(found, r)
		}
	}
	return found
}

// match finds the request that an answer belongs to. One with an id that no request
// ever had is an error of the only one that waits, unless it may be for a notification.
func (c *pipes) match(r *jsonrpc.Response) {
	if text, ok := r.ID.Raw().(string); ok { // other clients read a number in quotes, too
		if n, err := strconv.ParseInt(text, 10, 32); err == nil {
			r.ID, _ = jsonrpc.MakeID(float64(n))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ours := r.ID.Raw().(int64)
	switch method := c.waiting[r.ID]; {
	case method != "":
		delete(c.waiting, r.ID)
		if method == methodList {
			r.Result = c.link.sift(r.Result)
		}
	case ours && 0 < n && n <= c.last: // twice, or too late
		c.late = c.late || r.ID == c.discover && r.Error == nil
	case len(c.waiting) == 1 && (!c.notified || len(r.Result) > len("{}")):
		shown, _ := json.Marshal(r.ID.Raw()) // a number, a string or nil is always written
		for id := range c.waiting {
			*r = *noAnswer(id, "its answer has the id "+plainLine(string(shown))+", which no request has")
			delete(c.waiting, id)
		}
	}
}

// expect notes what is going to be sent.
func (c *pipes) expect(m jsonrpc.Message) {
	r, ok := m.(*jsonrpc.Request)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.IsCall() {
		if c.last, _ = r.ID.Raw().(int64); r.Method != methodListen {
			c.waiting[r.ID] = r.Method
		}
		return
	}
	c.notified = true
	if r.Method == methodCancelled {
		var of struct{ RequestID float64 }
		_ = json.Unmarshal(r.Params, &of) // the SDK's own
		id, _ := jsonrpc.MakeID(of.RequestID)
		delete(c.waiting, id)
	}
}

// noAnswer is an error in place of an answer.
func noAnswer(id jsonrpc.ID, why string) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: why}}
}

// broken stands for an answer that cannot be read; nil: it was to be none. Without
// "jsonrpc", an answer has nothing else: records of logs do.
func broken(part []byte) jsonrpc.Message {
	var r struct {
		JSONRPC, ID   any
		Result, Error json.RawMessage
	}
	d := json.NewDecoder(bytes.NewReader(part))
	if !bytes.Contains(part, []byte(`"jsonrpc"`)) {
		d.DisallowUnknownFields()
	}
	if d.Decode(&r) != nil || r.Result == nil && r.Error == nil {
		return nil
	}
	id, err := jsonrpc.MakeID(r.ID)
	switch {
	case err != nil:
		return nil
	case r.JSONRPC == nil && id.IsValid():
		return noAnswer(id, `its answer lacks "jsonrpc": "2.0"`)
	case id.IsValid():
		return noAnswer(id, "its answer is no message of JSON-RPC 2.0")
	}
	return &jsonrpc.Response{Result: r.Result}
}

// Write implements mcp.Connection.
func (c *pipes) Write(ctx context.Context, m jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	c.expect(m)
	// A program that does not read fills the pipe.
	fired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(fired)
		if c.stdin.SetWriteDeadline(time.Now()) != nil { // not on Windows
			c.kill()
		}
	})
	n, err := c.stdin.Write(append(text, '\n'))
	if !stop() {
		<-fired
		_ = c.stdin.SetWriteDeadline(time.Time{})
	}
	switch {
	case err != nil && ctx.Err() != nil && n > 0:
		_ = c.Close() // no other message can follow a part of one
		return ctx.Err()
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return c.ended(err)
	}
	switch r := m.(type) {
	case *jsonrpc.Response:
		c.asks(-1)
	case *jsonrpc.Request:
		if r.Method == methodDiscover {
			go c.impatient(r.ID)
		}
	}
	return nil
}

const (
	methodDiscover  = "server/discover"
	methodList      = "tools/list"
	methodListen    = "subscriptions/listen" // which has no answer before the end
	methodCancelled = "notifications/cancelled"
)

// impatient answers server/discover for a program that says nothing at all.
func (c *pipes) impatient(id jsonrpc.ID) {
	timer := time.NewTimer(c.patience)
	defer timer.Stop()
	select {
	case <-c.answered:
	case <-c.incomingDone:
	case <-c.closed:
	case <-timer.C:
		c.mu.Lock()
		answered := c.waiting[id] == ""
		if !answered {
			delete(c.waiting, id)
			c.discover = id
		}
		c.mu.Unlock()
		if answered { // just now
			return
		}
		no := &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no answer"}}
		select {
		case c.incoming <- no:
		case <-c.incomingDone:
		case <-c.closed:
		}
	}
}

// Close implements mcp.Connection. When it returns, nothing of the program is left.
func (c *pipes) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.end()
	})
	return nil
}
