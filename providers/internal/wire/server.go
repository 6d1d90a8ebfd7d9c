package wire

import (
	"fmt"
	"strings"

	"mylm/providers"
)

// Server describes who is asked. Messages and hints are built from it.
type Server struct {
	Name  string // providers.Error.Backend
	Title string // how messages call it
	IsNot string // completes "what answers at HOST is not …"
	Base  string // its address, without credentials

	Secret string // never part of a message

	Local   bool // the user runs it: its log can be read, and it can be started
	Given   bool // the address was configured, so that it may be misspelt
	Lists   bool // it can list its models
	Objects bool // every answer is a JSON object

	// Hints, each one or more sentences.
	Start   string // how to start it
	Address string // what to check about the address
	Log     string // "Look into …", when it failed
	Key     func(status int) string
}

// retry is the hint for what may pass.
func (s *Server) retry() string {
	if s.Local {
		return "Ask again. If it happens each time, l" + strings.TrimPrefix(s.Log, "L")
	}
	return "Ask again."
}

func (s *Server) fault() string {
	if s.Local {
		return s.Log
	}
	return "Ask again in a moment."
}

// another is the advice to take another model.
func (s *Server) another() (param, hint string) {
	if s.Lists {
		return providers.ParamModel, ""
	}
	return "", fmt.Sprintf("Look for the model's name in the documentation of %s.", s.Title)
}

func (s *Server) unreachable() string {
	if !s.Local && !s.Given {
		return "Check the network."
	}
	return s.Start
}
