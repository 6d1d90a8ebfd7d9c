package wire

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"mylm/providers"
)

// IsTLS reports whether err is about the secure connection.
func IsTLS(err error) bool {
	var record tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	var alert tls.AlertError
	return errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &record) || errors.As(err, &certificate) ||
		errors.As(err, &alert) || strings.Contains(err.Error(), "tls: ")
}

// Reason is the innermost cause of err, in one line: the outer ones repeat the
// address.
func Reason(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return OneLine(err.Error())
		}
		err = inner
	}
}

// StaysHere is a CheckRedirect that keeps a POST from being repeated as a GET,
// and what it holds from going to another host: net/http drops only the headers
// that it knows. The redirect is then the response.
func StaysHere(req *http.Request, via []*http.Request) error {
	if len(via) >= 5 || req.Method != via[0].Method || req.URL.Host != via[0].URL.Host ||
		req.URL.Scheme != via[0].URL.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

// longestWait replaces every longer time to wait.
const longestWait = 366 * 24 * time.Hour

// RetryAfter reads the header Retry-After in its two forms, seconds or a date.
// It is 0 if there is none, and a year at most.
func RetryAfter(h http.Header) time.Duration {
	s := strings.TrimSpace(h.Get("Retry-After"))
	n, err := strconv.ParseUint(s, 10, 64)
	switch {
	case err == nil && n < uint64(longestWait/time.Second):
		return time.Duration(n) * time.Second
	case err == nil, errors.Is(err, strconv.ErrRange):
		return longestWait
	}
	if at, err := http.ParseTime(s); err == nil {
		return min(longestWait, max(0, time.Until(at)))
	}
	return 0
}

// escapeSequence is one of ECMA-48: a control sequence, a string, which may lack its
// end, or a shorter one.
var escapeSequence = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b(?:\\[[ -?]*[@-~]?|[\\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\\\)?|[ -/]*[0-~])")
})

func withoutEscapes(s string) string { return escapeSequence().ReplaceAllString(s, "") }

// longestText is how many characters of a foreign text a message shows.
const longestText = 500

// OneLine makes a foreign text fit a message: one line, no escape sequences, no
// control or other invisible characters, not too long.
func OneLine(s string) string {
	s = withoutEscapes(s)
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "�")), " ")
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
	n := 0
	for i := range s {
		if n++; n > longestText {
			return s[:i] + "…"
		}
	}
	return s
}

// DescribeOverflow adds the known sizes of prompt and window to the message of
// an error of the kind providers.Overflow.
func DescribeOverflow(e *providers.Error) {
	e.Message = "the conversation does not fit the model's context window"
	switch {
	case e.PromptTokens > 0 && e.Window > 0:
		e.Message = fmt.Sprintf("the conversation (%d tokens) does not fit the model's context window (%d tokens)",
			e.PromptTokens, e.Window)
	case e.Window > 0:
		e.Message = fmt.Sprintf("the conversation does not fit the model's context window (%d tokens)", e.Window)
	}
}
