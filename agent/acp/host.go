package acp

import (
	"context"
	"encoding/json"
	"time"

	"mylm/agent"
	"mylm/providers"
)

// Host is what an editor gets from an agent. Its methods may be called from several
// goroutines at once. An *Error that they return goes to the editor as it is.
type Host interface {
	// Open makes a conversation, or opens one that was recorded. If there is none
	// the error has CodeNotFound, and CodeInvalidParams if the request cannot be met.
	Open(context.Context, Opening) (Conversation, error)
	// Sees reports whether prompts may have pictures. It is asked once, and does not
	// take long.
	Sees(context.Context) bool
	// List lists the recorded conversations, the last changed first.
	List(context.Context, Page) ([]Info, error)
	// Delete deletes a recorded conversation. It is no error if there is none.
	Delete(ctx context.Context, id string) error
}

// Opening is a conversation that an editor wants.
type Opening struct {
	ID      string // of the recorded one; "": a new one
	Dir     string // absolute
	Editor  *Editor
	Servers []Server // of the Model Context Protocol, which the editor wants to be used
}

// Server is a server of the Model Context Protocol: one that is started, or one at
// an address.
type Server struct {
	Name    string
	Command string // absolute
	Args    []string
	Env     map[string]string
	URL     string
	SSE     bool // the address is of the older transport
	Headers map[string]string
}

// Page selects conversations of a list.
type Page struct {
	Dir    string    // of which they are; "": of any
	Before time.Time // when they were last changed; zero: whenever
	Limit  int
}

// Info describes a recorded conversation.
type Info struct {
	ID      string
	Dir     string // absolute
	Title   string
	Changed time.Time
}

// Conversation is a session of the protocol. Its methods are called one at a time,
// except Modes, SetMode, Model and Describe.
type Conversation interface {
	ID() string
	// Entries are what was said so far, as agent.Session.Joined returns them.
	Entries() []agent.Entry
	// Modes are those that the session can be in, and the one that it is in.
	Modes() (all []Mode, current string)
	// SetMode puts the session into a mode, also while a prompt is answered. A stricter
	// one may come of it.
	SetMode(ctx context.Context, id string) error
	// Model is the name of the model that answers; "": that is not known yet.
	Model() string
	// Models are the names of those that can be chosen, as far as they are known soon. It
	// is asked once.
	Models(context.Context) []string
	// SetModel has another model answer from the next prompt on.
	SetModel(ctx context.Context, name string) error
	// Commands are what the user can type behind a slash.
	Commands() []Command
	// Describe is how a call is shown. One of the past is about files that may have
	// changed since.
	Describe(name string, args json.RawMessage, past bool) View
	// Prompt answers a prompt, and returns how that ended.
	Prompt(context.Context, Prompt, *Turn) (agent.StopReason, error)
	// Close ends the session. Its record stays.
	Close()
}

// Mode is a way to work that the user can choose.
type Mode struct{ ID, Name, Description string }

// Command is a command of the user.
type Command struct {
	Name, Description string
	Hint              string // of what follows it; "": nothing does
}

// Prompt is a message of the user.
type Prompt struct {
	Text   string
	Files  []File // that Text mentions by name
	Images []providers.Image
}

// File is a file or another text that goes with a prompt.
type File struct {
	Name   string // as Text mentions it
	Path   string // absolute; "" if it is no file of this machine
	Text   string
	Linked bool // Text is not given
}

// View is how a call is shown.
type View struct {
	Title string
	Kind  Kind
	Paths []Location
	Diff  *Diff // what it writes; nil: nothing that can be shown so
}

// Kind is what sort of thing a call does.
type Kind string

// The kinds of calls.
const (
	KindRead    Kind = "read"
	KindEdit    Kind = "edit"
	KindSearch  Kind = "search"
	KindExecute Kind = "execute"
	KindFetch   Kind = "fetch"
	KindOther   Kind = "other"
)

// Location is a place in a file that a call is about.
type Location struct {
	Path string // absolute
	Line int    // from 1; 0: the file
}

// Diff is what a call makes of a file.
type Diff struct {
	Path string  // absolute
	Old  *string // nil: the file is new, or what was there is not known
	New  string
}

// Choice is an answer that the user can give to a question about a call.
type Choice struct {
	ID     string
	Name   string
	Allows bool
	Always bool // it holds for later calls, too
}
