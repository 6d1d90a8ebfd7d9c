package serve

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"mylm/providers/calling"
)

// exchange is one request and its response.
type exchange struct {
	h       *Handler
	w       http.ResponseWriter
	r       *http.Request
	control *http.ResponseController
	start   time.Time
	first   time.Time // when the model began to reply
	status  int       // 0: nothing has been sent
	record  Record

	promptTokens func() int // of what the model is asked, estimated

	mu sync.Mutex // held by who writes to a stream
}

// request is what all surfaces make of theirs.
type request struct {
	calling.Request
	model  string
	stream bool
}

// surface is the API that a path belongs to.
func (x *exchange) surface() string {
	switch path := x.r.URL.Path; {
	case strings.HasPrefix(path, "/v1/messages"):
		return "anthropic"
	case strings.HasPrefix(path, "/v1/responses"):
		return "responses"
	case strings.HasPrefix(path, "/v1/chat/"):
		return "openai"
	case strings.HasPrefix(path, "/api/"):
		return "ollama"
	case x.r.Header.Get("Anthropic-Version") != "":
		return "anthropic"
	case strings.HasPrefix(path, "/v1/models"):
		return "models"
	}
	return "other"
}

// bodyTime is how long a client may take to send a request.
const bodyTime = time.Minute

// maxDepth bounds the nesting of a request. Those of real clients nest less than thirty
// deep, schemas included, and reading very deep ones takes more than linear time.
const maxDepth = 500

// read reads the body of the request.
func (x *exchange) read(into any) error {
	_ = x.control.SetReadDeadline(time.Now().Add(bodyTime))
	from := http.MaxBytesReader(x.w, x.r.Body, x.h.opts.MaxBody)
	var err error
	switch encoding := x.r.Header.Get("Content-Encoding"); strings.ToLower(encoding) {
	case "", "identity":
	case "gzip":
		var zip *gzip.Reader
		if zip, err = gzip.NewReader(from); err == nil {
			from = http.MaxBytesReader(x.w, zip, x.h.opts.MaxBody)
		}
	default:
		return refuse(http.StatusUnsupportedMediaType, "unsupported_encoding", "Content-Encoding %q is not supported, only gzip", encoding)
	}
	var body []byte
	if err == nil {
		body, err = io.ReadAll(from)
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return refuse(http.StatusRequestEntityTooLarge, "request_too_large", "the request has more than %d bytes", large.Limit)
	case err != nil:
		return invalid("", "the request could not be read")
	}
	_ = x.control.SetReadDeadline(time.Time{}) // else its end would look as if the client had left
	if x.h.opts.LogContents {
		x.record.Body = string(body)
	}
	fields, nulls, deep := outline(body)
	if deep {
		return invalid("", "the request is nested more than %d deep", maxDepth)
	}
	if err := json.Unmarshal(body, into); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return invalid(kind.Field, "it is a JSON %s, which cannot be used here", kind.Value)
		}
		return invalid("", "the request is not valid JSON: %v", err)
	}
	if nulls {
		if err := x.refuseNull(body); err != nil {
			return err
		}
	}
	return x.once(fields)
}

// field is a member of a request.
type field struct {
	name string
	null bool
}

// once refuses what is given twice, of which one would be left out in silence, and the
// format of an answer as other APIs have it.
func (x *exchange) once(fields []field) error {
	own := map[string]string{"openai": "response_format", "responses": "text.format", "anthropic": "output_config.format", "ollama": "format"}[x.surface()]
	names := map[string]bool{}
	for _, f := range fields {
		name := strings.ToLower(f.name) // encoding/json takes either
		switch {
		case names[name]:
			return invalid(name, "it is given twice")
		case name == own, f.null, name == "output_format" && own == "output_config.format": // its older place
		case name == "response_format", name == "format", name == "output_format":
			return unsupported(name, "it is no field of this API: the format of an answer is its %s", own)
		}
		names[name] = true
	}
	return nil
}

// outline lists the members of a request, and reports whether a list in it has a null, and
// whether it is nested too deep.
func outline(body []byte) (fields []field, nulls, deep bool) {
	depth, quoted, begin := 0, false, 0
	before := byte(0) // what stands before this, white space aside
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
			continue
		case c == '"':
			if quoted = !quoted; quoted {
				begin = i
			} else if depth == 1 {
				var f field
				value, named := bytes.CutPrefix(bytes.TrimLeft(body[i+1:], " \t\r\n"), []byte(":"))
				if named && json.Unmarshal(body[begin:i+1], &f.name) == nil {
					f.null = bytes.HasPrefix(bytes.TrimLeft(value, " \t\r\n"), []byte("null"))
					fields = append(fields, f)
				}
			}
		case quoted, c == ' ', c == '\n', c == '\t', c == '\r':
			continue
		case c == '[' || c == '{':
			if depth++; depth > maxDepth {
				return nil, false, true
			}
		case c == ']' || c == '}':
			depth--
		case c == 'n' && (before == '[' || before == ','): // what follows a comma in an object is a name
			nulls = true
		}
		before = body[i]
	}
	return fields, nulls, false
}

// encode writes JSON on one line. What it is given can always be written.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n")
}

func (x *exchange) json(status int, v any) {
	x.send(status, "application/json", append(encode(v), '\n'))
}

func (x *exchange) text(s string) { x.send(http.StatusOK, "text/plain; charset=utf-8", []byte(s)) }

func (x *exchange) send(status int, kind string, body []byte) {
	x.status = status
	head := x.w.Header()
	head.Set("Content-Type", kind)
	head.Set("Content-Length", strconv.Itoa(len(body)))
	head.Set("X-Content-Type-Options", "nosniff")
	_ = x.control.SetWriteDeadline(time.Now().Add(x.h.opts.WriteTimeout))
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body)
}

// fail answers with an error in the form of the surface. It is only called before
// anything was sent.
func (x *exchange) fail(e *apiError) {
	x.note(e)
	head := x.w.Header()
	if e.retryAfter > 0 {
		head.Set("Retry-After", strconv.Itoa(int((e.retryAfter+time.Second-1)/time.Second)))
	}
	if e.final {
		head.Set("X-Should-Retry", "false") // the SDKs of OpenAI and Anthropic look at it
	}
	if e.status == http.StatusUnauthorized {
		head.Set("WWW-Authenticate", `Bearer realm="mylm"`)
	}
	switch x.surface() {
	case "anthropic":
		id := newID("req_")
		head.Set("Request-Id", id)
		x.json(e.status, e.anthropic(id))
	case "ollama":
		x.json(e.status, e.ollama())
	default:
		x.json(e.status, e.openAI())
	}
}

func (x *exchange) note(e *apiError) {
	x.record.Error, x.record.Code = cmp.Or(e.full, e.message), e.code
}

// finish counts the request. A panic becomes an error, or a connection that breaks off:
// the end of a stream must not look like one.
func (x *exchange) finish(panicked any) {
	abort := panicked != nil && x.status != 0
	if panicked != nil {
		e := &apiError{status: http.StatusInternalServerError, code: "internal_error", message: "internal error"}
		if x.note(e); !abort {
			x.fail(e)
		}
	}
	r := &x.record
	r.Time, r.Method, r.Path, r.Status, r.Duration = x.start, x.r.Method, x.r.URL.Path, x.status, time.Since(x.start)
	x.h.metrics.count(r, x.surface())
	if x.h.opts.Log != nil {
		x.h.opts.Log(*r)
	}
	if abort {
		panic(http.ErrAbortHandler)
	}
}

func newID(prefix string) string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // it never fails
	return prefix + hex.EncodeToString(b[:])
}
