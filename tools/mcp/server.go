package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"mylm/tools"
	"mylm/tools/sandbox"
)

// Server describes a server: how it is reached, and what it may do. Either Command
// or URL is set.
type Server struct {
	// Name is one word of lower-case letters, digits and single -, at most 24 bytes.
	Name string

	Command []string // a program and its arguments
	Env     []string // its whole environment, as NAME=value
	Dir     string   // where it runs; absolute
	// Sandbox returns what it may do, each time it starts. Nil, or a nil policy: anything,
	// but nothing of it outlives it.
	Sandbox func() *sandbox.Policy
	Log     io.Writer // gets what it prints on stderr; nil: the end of it is kept for errors

	URL     string            // of a streamable HTTP endpoint, or of the older event stream
	Headers map[string]string // sent with every request
	SSE     bool              // URL is one of the transport of 2024-11-05
	HTTP    http.RoundTripper // nil: http.DefaultTransport
	Login   *Login            // nil: a server that wants a login is an error

	// Tools are patterns as path.Match reads them: a tool is offered if one of them
	// matches its name and none that begins with ! does. Without a pattern that does
	// not begin with ! every tool matches.
	Tools []string
	// Effect is what a call of a tool may do. Nil: it runs something and uses the network.
	Effect func(tool string) tools.Effect

	Timeout time.Duration // of a call; 0: 60 s
	Start   time.Duration // until it is ready; 0: 30 s

	Roots  []string // directories that it is told about; nil: it is told that there are none
	Elicit Elicit   // answers its questions; nil: they are refused
	Sample Sample   // lets it ask the model; nil: it may not
}

// Elicit answers a question of a server with values for the fields that it wants.
// The schema is of a flat object. ok is false if the user refuses.
type Elicit func(ctx context.Context, server, message string, schema json.RawMessage) (values map[string]any, ok bool, err error)

// Sample answers a prompt of a server with the model.
type Sample func(ctx context.Context, server string, prompt Prompt) (text string, err error)

// Prompt is what a server wants a model to answer.
type Prompt struct {
	System    string
	Messages  []Message
	MaxTokens int
}

// Message is one message of a prompt.
type Message struct {
	Role string // user or assistant
	Text string
}

// Bounds of a Server.
const (
	maxServerName  = 24
	defaultTimeout = 60 * time.Second
	defaultStart   = 30 * time.Second
)

var serverName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`) })

// CheckName reports why a server cannot have a name.
func CheckName(name string) error {
	if len(name) > maxServerName || !serverName().MatchString(name) {
		return fmt.Errorf("the name %q: want a lower-case letter, then lower-case letters, digits and single -, at most %d in all", name, maxServerName)
	}
	return nil
}

// Check reports what is wrong with a description of a server.
func (s *Server) Check() error {
	if err := CheckName(s.Name); err != nil {
		return err
	}
	switch {
	case len(s.Command) > 0 && s.URL != "":
		return errors.New("command and url are both set; a server has one of them")
	case len(s.Command) == 0 && s.URL == "":
		return errors.New("command or url is missing")
	case len(s.Command) > 0 && s.Command[0] == "":
		return errors.New("the command is empty")
	case len(s.Command) > 0 && s.Dir != "" && !filepath.IsAbs(s.Dir):
		return fmt.Errorf("the directory %q is not absolute", s.Dir)
	case s.Timeout < 0 || s.Start < 0:
		return errors.New("a time is negative")
	}
	if s.URL != "" {
		if err := checkURL(s.URL); err != nil {
			return err
		}
	}
	for _, pattern := range s.Tools {
		if _, err := path.Match(strings.TrimPrefix(pattern, "!"), ""); err != nil {
			return fmt.Errorf("the pattern %q cannot be read", pattern)
		}
	}
	return nil
}

// checkURL wants encryption for everything but this machine.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("url must begin with https:// or http:// and name a host")
	case u.User != nil:
		return errors.New("url holds a name or password; they go into a header")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return errors.New("url is not encrypted; http:// is for this machine only")
	}
	return nil
}

// offers reports whether the patterns offer a tool.
func (s *Server) offers(tool string) bool {
	matched, positive := false, false
	for _, pattern := range s.Tools {
		denied := strings.HasPrefix(pattern, "!")
		ok, _ := path.Match(strings.TrimPrefix(pattern, "!"), tool)
		switch {
		case denied && ok:
			return false
		case !denied:
			positive, matched = true, matched || ok
		}
	}
	return matched || !positive
}

func (s *Server) effect(tool string) tools.Effect {
	if s.Effect == nil {
		return tools.Runs | tools.Network
	}
	return s.Effect(tool)
}

func (s *Server) timeout() time.Duration { return cmp.Or(s.Timeout, defaultTimeout) }

func (s *Server) startTime() time.Duration { return cmp.Or(s.Start, defaultStart) }

// callTime bounds a call together with what may come before it: a start, and questions.
func (s *Server) callTime() time.Duration {
	t := s.startTime() + s.timeout()
	if s.Elicit != nil || s.Sample != nil {
		t += askTime
	}
	return t
}

const identityLen = 16

// identity is a short hash of what the server is: its command and arguments, or its
// URL. Another server of the same name has definitions of its own.
func (s *Server) identity() string {
	b, _ := json.Marshal([]any{s.Command, s.URL}) // strings are always written
	return fmt.Sprintf("%x", sha256.Sum256(b))[:identityLen]
}

// Place is the command line or the URL, for messages.
func (s *Server) Place() string {
	if s.URL != "" {
		return s.URL
	}
	return strings.Join(s.Command, " ")
}
