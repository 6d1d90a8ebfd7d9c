package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

var (
	errLongLine = fmt.Errorf("a line of more than %d MiB", longestLine>>20)
	errLongBody = fmt.Errorf("a reply of more than %d MiB in one piece", LongestBody>>20)
	errNoField  = errors.New("a line that belongs to no stream")
	errHalfLine = errors.New("half a line")
	errNoObject = errors.New("a line that is not a JSON object")
	errOddShape = errors.New("a JSON object in an unknown form")

	// ErrGarbled is what a Reader returns for an event that may hold a piece of the
	// reply, but cannot be decoded.
	ErrGarbled = errors.New("a line that is not valid JSON")
	// ErrOddContent is what it returns for one whose text has an unknown form.
	ErrOddContent = errors.New("text in an unknown form")
)

// headLength is how much is kept of a body that is not a reply of a model.
const headLength = 512

// drainTime is how long a server may keep a reply open after its end. Reading
// so far lets the connection serve the next call.
const drainTime = 200 * time.Millisecond

// lingerTime is how long the usage of a reply is waited for after its finish
// reason. Servers send both at once.
const lingerTime = 2 * time.Second

// stream reads one reply. Its text goes straight to the caller: langchaingo
// adds each piece to one string, so that the cost of a long reply is quadratic,
// and Ollama's client holds 8 MB for each.
type stream struct {
	x      *Exchange
	body   io.ReadCloser
	in     *bufio.Reader
	reader Reader
	values *json.Decoder     // of a reply that is written as JSON values
	limit  *io.LimitedReader // of the next of them
	kind   string            // Content-Type
	step   func() error      // reads on, until an error ends the reply
	begun  bool              // a line was read
	cr     bool              // the last line ended with CR: an LF belongs to it
	name   string            // of the event in the making
	data   []byte            // of the same
	linger *time.Timer       // ends the wait for what may follow the finish reason
}

// read reads a reply and passes its pieces on, which blocks while the caller is
// busy. It notes why nothing more comes.
func (x *Exchange) read(body io.ReadCloser, kind string) {
	r := &stream{x: x, body: body, in: bufio.NewReader(body), reader: x.Format.Reader(), kind: kind}
	r.step = r.begin
	var err error
	for err == nil {
		err = r.step()
		err = cmp.Or(x.passOn(), err)
	}
	if r.linger != nil {
		r.linger.Stop()
	}
	switch {
	case err != io.EOF:
		x.readErr = err
	case !x.reply.understood() && kind != "" && !strings.Contains(kind, "event-stream") &&
		!strings.Contains(kind, "ndjson"):
		x.foreign = true
	}
	if x.reply.Over && x.ctx.Err() == nil { // read to its last byte, so that the connection remains
		limit := time.AfterFunc(drainTime, func() { body.Close() })
		defer limit.Stop()
		_, _ = io.Copy(io.Discard, io.LimitReader(body, longestFault)) // what follows the end means nothing
	}
	body.Close()
}

// begin finds out how the reply is written: servers that cannot stream, or do
// not know how to fail in a stream, answer with one JSON value, and what is no
// API at all with a page.
func (r *stream) begin() error {
	if strings.Contains(r.kind, "event-stream") {
		r.step = r.line
		return nil
	}
	for {
		b, err := r.in.ReadByte()
		if err != nil {
			return err
		}
		if strings.IndexByte(beforeJSON, b) >= 0 {
			continue
		}
		if err := r.in.UnreadByte(); err != nil {
			return err
		}
		switch {
		case b == '<':
			return r.page()
		case b == '{' && !r.x.Format.Lines:
			r.readValues(r.in)
		case b == '[':
			r.step = r.all
		default:
			r.step = r.line
		}
		return nil
	}
}

// page keeps the beginning of a body that is not a reply.
func (r *stream) page() error {
	head, err := io.ReadAll(io.LimitReader(r.in, headLength))
	return cmp.Or(err, r.foreign(head))
}

// foreign records that the body is not a reply.
func (r *stream) foreign(body []byte) error {
	r.x.foreign, r.x.body = true, body
	return io.EOF
}

// all reads a reply in one piece.
func (r *stream) all() error {
	body, err := io.ReadAll(io.LimitReader(r.in, LongestBody+1))
	switch {
	case err != nil:
		return err
	case len(body) > LongestBody:
		return errLongBody
	}
	return r.whole(body)
}

// whole takes a reply in one piece.
func (r *stream) whole(body []byte) error {
	err := r.reader.Whole(&r.x.reply, body)
	switch {
	// what is half JSON may be half a reply
	case !r.x.reply.understood() && json.Valid(bytes.TrimLeft(body, beforeJSON)):
		return r.foreign(body)
	case err != nil:
		return err
	}
	return io.EOF
}

// readValues makes the rest of the reply one of JSON values, however they are
// broken into lines.
func (r *stream) readValues(rest io.Reader) {
	r.limit = &io.LimitedReader{R: rest}
	r.values = json.NewDecoder(r.limit)
	r.step = r.first
}

// nextValue reads one value.
func (r *stream) nextValue() (v json.RawMessage, err error) {
	r.limit.N = LongestBody
	err = r.values.Decode(&v)
	var syntax *json.SyntaxError
	switch {
	case err != nil && r.limit.N <= 0:
		return nil, errLongBody
	case err != nil && r.x.reply.Settled:
		return nil, io.EOF
	case errors.As(err, &syntax), err == io.ErrUnexpectedEOF:
		return nil, ErrGarbled
	}
	return v, err
}

// first reads the first of the values. It may be the whole reply.
func (r *stream) first() error {
	v, err := r.nextValue()
	if err != nil {
		return err
	}
	if !r.values.More() {
		if _, err := r.values.Token(); err != io.EOF {
			return cmp.Or(err, ErrGarbled)
		}
		return r.whole(v)
	}
	r.step = r.value
	return r.dispatch(v)
}

// value reads the next of the values.
func (r *stream) value() error {
	v, err := r.nextValue()
	if err != nil {
		return err
	}
	return r.dispatch(v)
}

// line reads one line of a stream, the first without a byte order mark.
func (r *stream) line() error {
	line, err := r.readLine()
	switch {
	case err == nil, err == io.EOF:
	case err != errLongLine && r.x.reply.Settled: // only the cost of the reply can be missing
		return io.EOF
	default:
		return err
	}
	failed := r.take(line)
	if failed == nil && err == io.EOF { // the last event may lack its empty line
		failed = r.dispatch(r.data)
	}
	switch {
	case failed != ErrGarbled || err != io.EOF:
		return cmp.Or(failed, err)
	case r.x.reply.Settled: // only the cost of the reply can be missing
		return io.EOF
	}
	return errHalfLine
}

// take handles a line: of JSON, or of a server-sent event.
func (r *stream) take(line []byte) error {
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	if string(line) == "{" { // Google writes errors over several lines, some gateways all replies of Ollama
		r.readValues(io.MultiReader(strings.NewReader("{"), r.in))
		return nil
	}
	if r.x.Format.Lines {
		return r.dispatch(line)
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	switch {
	case len(line) == 0:
		data := r.data
		r.data = nil
		err := r.dispatch(data)
		r.name = ""
		return err
	case line[0] == '{':
		return r.dispatch(line)
	}
	return r.field(string(name), bytes.TrimPrefix(value, []byte(" ")), line)
}

// field handles a field of a server-sent event. The value of "error" is what
// llama.cpp before 2025 wrote in the place of data. What is none at all may
// have been a piece of the reply.
func (r *stream) field(name string, value, line []byte) error {
	before := r.x.reply.Known
	r.x.reply.Known = true
	switch name {
	case "", "id", "retry": // "" begins a comment
	case "event":
		r.name = string(value)
	case "data":
		for bytes.HasPrefix(value, []byte("data:")) { // a proxy that takes each line for data
			value = bytes.TrimPrefix(value[len("data:"):], []byte(" "))
		}
		if len(r.data) == 0 && (json.Valid(value) || IsMark(value)) { // some servers send no empty lines
			return r.dispatch(value)
		}
		if len(r.data)+len(value) > longestLine {
			return errLongLine
		}
		r.data = append(append(r.data, value...), '\n')
	case "error":
		return r.dispatch(fmt.Appendf(nil, `{"error":%s}`, value))
	default:
		if before {
			return errNoField
		}
		r.x.reply.Known = false
		return r.foreign(line)
	}
	return nil
}

// IsMark reports whether data is a word in brackets, such as [DONE].
func IsMark(data []byte) bool {
	return len(data) > 2 && data[0] == '[' && data[len(data)-1] == ']'
}

// dispatch takes an event, of one or more lines. Gateways join several in one.
func (r *stream) dispatch(data []byte) error {
	data = bytes.Trim(data, beforeJSON)
	if len(data) == 0 {
		return nil
	}
	if r.name == "error" {
		if !r.x.reply.takeFrom(data) {
			r.x.reply.Fail(data)
		}
		return io.EOF
	}
	if r.name != "" && r.name != "message" && data[0] != '{' && data[0] != '[' { // the event "ping" of some proxies
		return nil
	}
	for {
		rest, err := r.event(data)
		if err != nil || rest == nil {
			return err
		}
		if err := r.x.ctx.Err(); err != nil {
			return err
		}
		data = rest
	}
}

// event takes the first value of an event.
func (r *stream) event(data []byte) (rest []byte, err error) {
	settled, fault := r.x.reply.Settled, r.x.reply.Fault
	if err = r.reader.Event(&r.x.reply, data); err == ErrGarbled {
		var first []byte
		if first, rest = firstOf(data); rest != nil {
			data, err = first, r.reader.Event(&r.x.reply, first)
		}
	}
	if settled && (err != nil || r.x.reply.Fault != fault) { // only the cost of the reply can be missing
		r.x.reply.Fault = fault
		return nil, io.EOF
	}
	if r.x.Format.Lines && !r.x.reply.understood() && (json.Valid(data) || data[0] != '{') {
		return nil, r.foreign(data)
	}
	if err == ErrGarbled && json.Valid(data) {
		if err = errNoObject; data[0] == '{' {
			err = errOddShape
		}
	}
	switch {
	case !r.x.reply.Settled:
	case r.linger == nil:
		r.linger = time.AfterFunc(lingerTime, func() { r.body.Close() })
	default:
		r.linger.Reset(lingerTime)
	}
	if err == nil && (r.x.reply.Over || r.x.reply.Fault != nil) {
		err = io.EOF
	}
	return rest, err
}

// readLine returns the next line without its end: LF, and in server-sent events CR
// or both, too. It waits for nothing behind a CR, whose LF may come much later.
func (r *stream) readLine() ([]byte, error) {
	var line []byte
	for {
		if _, err := r.in.Peek(1); err != nil {
			return bytes.TrimSuffix(line, []byte("\r")), err
		}
		part, _ := r.in.Peek(r.in.Buffered())
		if r.cr && part[0] == '\n' {
			part = part[1:]
			_, _ = r.in.Discard(1)
		}
		r.cr = false
		end := bytes.IndexByte(part, '\n')
		if end >= 0 {
			part = part[:end]
		}
		if cr := bytes.IndexByte(part, '\r'); cr >= 0 && !r.x.Format.Lines {
			part, end, r.cr = part[:cr], cr, true
		}
		if len(line)+len(part) > longestLine {
			return nil, errLongLine
		}
		line = append(line, part...)
		if _, err := r.in.Discard(min(len(part)+1, r.in.Buffered())); err != nil || end >= 0 {
			return bytes.TrimSuffix(line, []byte("\r")), err
		}
	}
}
