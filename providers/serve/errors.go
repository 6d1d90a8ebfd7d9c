package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"mylm/providers"
	"mylm/providers/calling"
)

// apiError is an error that has a form in each API.
type apiError struct {
	status     int
	code       string // OpenAI's, or one of our own
	message    string
	full       string // what the log has instead of the message; "": the message
	param      string
	retryAfter time.Duration
	final      bool           // the same request fails again
	details    map[string]any // Anthropic's error.details
	prompt     int            // of an overflow, in tokens; 0: unknown
	window     int
}

// Error returns the message.
func (e *apiError) Error() string { return e.message }

// refuse is an error of the request: the same again fails again.
func refuse(status int, code, format string, args ...any) *apiError {
	return &apiError{status: status, code: code, message: fmt.Sprintf(format, args...), final: true}
}

func invalid(param, format string, args ...any) *apiError {
	e := refuse(http.StatusBadRequest, "invalid_request", format, args...)
	e.param = param
	if param != "" {
		e.message = param + ": " + e.message
	}
	return e
}

func unsupported(param, format string, args ...any) *apiError {
	e := invalid(param, format, args...)
	e.code = "unsupported_parameter"
	return e
}

// noRoute says that a path does not exist, or not for this method.
func (x *exchange) noRoute(mux *http.ServeMux) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		other := *x.r
		other.Method = method
		if _, pattern := mux.Handler(&other); pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	if allow := strings.Join(allowed, ", "); allow != "" {
		x.w.Header().Set("Allow", allow)
		x.fail(refuse(http.StatusMethodNotAllowed, "method_not_allowed", "method %s is not allowed at %s; use %s", x.r.Method, x.r.URL.Path, allow))
		return
	}
	x.fail(refuse(http.StatusNotFound, "not_found", "there is no route %s %s", x.r.Method, x.r.URL.Path))
}

const overflowCode = "context_length_exceeded"

// statuses are those of the kinds of a backend's error.
var statuses = map[providers.Kind]struct {
	status int
	code   string
	final  bool
}{
	providers.Unreachable:  {http.StatusBadGateway, "upstream_unreachable", false},
	providers.ModelMissing: {http.StatusNotFound, "model_not_found", true},
	providers.CannotChat:   {http.StatusBadRequest, "model_cannot_chat", true},
	providers.Auth:         {http.StatusBadGateway, "upstream_auth", true},
	providers.RateLimited:  {http.StatusTooManyRequests, "rate_limit_exceeded", false},
	providers.Overflow:     {http.StatusBadRequest, overflowCode, true},
	providers.Filtered:     {http.StatusBadRequest, "content_filter", true},
	providers.BadRequest:   {http.StatusBadRequest, "upstream_bad_request", true},
	providers.ServerFault:  {http.StatusBadGateway, "upstream_error", false},
	providers.Interrupted:  {http.StatusBadGateway, "upstream_interrupted", false},
	providers.Stalled:      {http.StatusGatewayTimeout, "upstream_timeout", false},
	providers.OutOfMemory:  {http.StatusServiceUnavailable, "upstream_out_of_memory", true},
}

// asAPI gives an error its form. model is the name that the client used.
func (x *exchange) asAPI(err error, model string) *apiError {
	if errors.Is(context.Cause(x.r.Context()), ErrStopping) { // whatever else came of that
		return &apiError{status: http.StatusServiceUnavailable, code: "server_stopping", message: "the server is shutting down", retryAfter: time.Second}
	}
	var own *apiError
	var request *calling.RequestError
	var output *calling.OutputError
	var backend *providers.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &request):
		if errors.As(request.Err, &backend) {
			return invalid(request.Param, "%s", withoutAddresses(x.h.redacted(request.Message), backend))
		}
		return invalid(request.Param, "%s", request.Message)
	case errors.As(err, &output):
		return refuse(http.StatusUnprocessableEntity, "model_output_unusable", "%s", output.Error())
	case errors.As(err, &backend):
		e := x.h.ofBackend(backend, model)
		if e.status >= http.StatusInternalServerError {
			x.record.Cause = err
		}
		return e
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &apiError{status: 499, code: "cancelled", message: "the request was cancelled"}
	}
	return &apiError{status: http.StatusInternalServerError, code: "internal_error", message: "internal error"}
}

// redacted is what a backend says, without secrets.
func (h *Handler) redacted(text string) string {
	if h.opts.Redact == nil {
		return text
	}
	return h.opts.Redact(text)
}

func (h *Handler) ofBackend(b *providers.Error, model string) *apiError {
	k, known := statuses[b.Kind]
	if !known {
		k.status, k.code = http.StatusBadGateway, "upstream_error"
	}
	e := &apiError{status: k.status, code: k.code, final: k.final || b.Permanent, retryAfter: b.RetryAfter, message: h.redacted(strings.TrimSpace(b.Error()))}
	e.full, e.message = e.message, withoutAddresses(e.message, b)
	switch {
	case b.Kind == providers.Auth: // what the backend says of its key is not the client's
		e.message, e.full = "the backend refuses this server's key for it", ""
	case b.Kind == providers.ModelMissing && !strings.Contains(e.message, model):
		e.message = fmt.Sprintf("model %q: %s", model, e.message)
	case b.Kind == providers.Overflow:
		e.prompt, e.window = b.PromptTokens, b.Window
	case b.Kind == providers.RateLimited && e.retryAfter == 0, b.Busy && e.retryAfter == 0:
		e.retryAfter = time.Second
	}
	if b.Busy && b.Kind == providers.ServerFault {
		e.status, e.code = http.StatusServiceUnavailable, "upstream_busy"
	}
	return e
}

// kinds are the types of errors by their status, where it says more than whose fault
// it was. Anthropic has some of its own.
var (
	kinds = map[int]string{
		http.StatusUnauthorized: "authentication_error", http.StatusForbidden: "permission_error", http.StatusTooManyRequests: "rate_limit_error",
	}
	anthropicKinds = map[int]string{
		http.StatusNotFound: "not_found_error", http.StatusRequestEntityTooLarge: "request_too_large", http.StatusServiceUnavailable: "overloaded_error",
		http.StatusGatewayTimeout: "timeout_error",
	}
)

func (e *apiError) kind(own map[int]string) string {
	other := "api_error"
	if e.status < 500 {
		other = "invalid_request_error"
	}
	return cmp.Or(own[e.status], kinds[e.status], other)
}

// openAI is an error in the form of both of OpenAI's APIs.
func (e *apiError) openAI() map[string]any {
	body := map[string]any{"message": e.message, "type": e.kind(nil), "code": e.code, "param": nil}
	if e.param != "" {
		body["param"] = e.param
	}
	return map[string]any{"error": body}
}

// inResponse is the code of a response that failed. The API has a list of them; an overflow is
// not in it, and clients look for its code all the same. One that means that the prompt is at
// fault is not retried.
func (e *apiError) inResponse() string {
	switch {
	case e.code == overflowCode || e.code == statuses[providers.RateLimited].code:
		return e.code
	case e.final:
		return "invalid_prompt"
	}
	return "server_error"
}

// anthropic is an error in the form of Anthropic's API.
func (e *apiError) anthropic(id string) map[string]any {
	message := e.message
	if e.code == overflowCode { // the words that clients look for before they compact
		message = "prompt is too long: " + message
		if e.prompt > 0 && e.window > 0 {
			message = fmt.Sprintf("prompt is too long: %d tokens > %d maximum", e.prompt, e.window)
		}
	}
	body := map[string]any{"type": e.kind(anthropicKinds), "message": message}
	if e.details != nil {
		body["details"] = e.details
	}
	return map[string]any{"type": "error", "error": body, "request_id": id}
}

// ollama is an error in the form of Ollama's API.
func (e *apiError) ollama() map[string]any { return map[string]any{"error": e.message} }
