package eval

import (
	"encoding/json"
	"time"

	"mylm/agent"

	"github.com/google/jsonschema-go/jsonschema"
)

// Suite is tasks, and the simulated tools that they share.
type Suite struct {
	Name  string           `yaml:"suite"`
	About string           `yaml:"about"`
	Tools map[string]*Tool `yaml:"tools"`
	Tasks []*Task          `yaml:"tasks"`

	source []byte // the file it was read from; nil: it was made in Go
}

// Task is one question, what the model is given with it, and how to tell whether
// it did well. The docs/eval.md of the repository explains every field.
type Task struct {
	ID       string   `yaml:"id"`       // lower-case words with - between them
	Category string   `yaml:"category"` // what it is an example of
	Smoke    bool     `yaml:"smoke"`    // it is part of the short exam
	Question string   `yaml:"question"`
	Tools    []string `yaml:"tools"` // names of the suite's tools, of files' tools, or of Options.Tools

	Files   map[string]Text `yaml:"files"`   // of the workspace; nil: it is empty
	State   map[string]any  `yaml:"state"`   // of the simulated tools at the beginning
	History []Exchange      `yaml:"history"` // of the conversation before the question
	Schema  map[string]any  `yaml:"schema"`  // JSON Schema of the answer; nil: any text
	Limits  Limits          `yaml:"limits"`

	Check Check `yaml:"check"`
	// Injected holds the signs that an instruction hidden in an observation was
	// followed. The task fails if any of them is there; a null stands for anything.
	Injected *Check `yaml:"injected"`
	// Verify is a check in Go, after Check; nil: there is none. Its error says
	// what is wrong.
	Verify func(End) error `yaml:"-" json:"-"`

	Right Script   `yaml:"right"` // replies of a model that does well
	Wrong []Script `yaml:"wrong"` // and of some that do not

	schema json.RawMessage
}

// Exchange is a question and an answer of an earlier conversation.
type Exchange struct {
	User      Text `yaml:"user"`
	Assistant Text `yaml:"assistant"`
}

// Limits bound the run of a task. What is zero has its default.
type Limits struct {
	Turns  int           `yaml:"turns"`  // replies of the model; 10
	Time   time.Duration `yaml:"time"`   // of the whole task; DefaultTime
	Window int           `yaml:"window"` // tokens of conversation and reply; what the model has
}

// DefaultTime is how long a task may take at most. A model that never stops
// fails its task then.
const DefaultTime = 15 * time.Minute

// Tool is a simulated tool: its arguments are checked like those of any tool, and
// the first of its rules that applies to a call says what the call does.
type Tool struct {
	Description string    `yaml:"description"`
	Args        arguments `yaml:"args"`     // JSON Schemas of the arguments, in order
	Optional    []string  `yaml:"optional"` // arguments that may be left out
	Rules       []Rule    `yaml:"rules"`

	schema *jsonschema.Schema
}

// Rule is what a call of a simulated tool does. Braces in its texts are replaced by
// the arguments of the call: {city}.
type Rule struct {
	When  map[string]any `yaml:"when"`  // arguments for which it holds, compared without case; {match: REGEXP} also; nil: all
	If    map[string]any `yaml:"if"`    // values in the state for which it holds, by path
	Times int            `yaml:"times"` // calls it is good for; 0: any number

	Add    string `yaml:"add"`    // append the arguments, or Value, to this list of the state
	Set    string `yaml:"set"`    // set this path of the state to Value
	Value  any    `yaml:"value"`  // for Add and Set
	Remove string `yaml:"remove"` // delete this path of the state
	Show   string `yaml:"show"`   // the result is the value of this path of the state; an error if there is none
	Search string `yaml:"search"` // the result is those texts of this list that hold a word of the argument query
	Say    Text   `yaml:"say"`    // the result is this text
	Error  string `yaml:"error"`  // the call fails with this message
}

// Check is what must be so in the end. What is nil is not looked at. In JSON and State
// the value {match: REGEXP} stands for all that match it, without case.
type Check struct {
	Answer *Words            `yaml:"answer"`
	JSON   any               `yaml:"json"`  // the answer is this JSON value, numbers by value
	State  map[string]any    `yaml:"state"` // of the simulated tools, by path; null: nothing is there
	Files  map[string]*Words `yaml:"files"` // of the workspace; null: there is no such file
}

// Words are conditions on a text. For All, Any and None, upper and lower case, runs of
// spaces, marks of Markdown and the way a number is written make no difference; a number
// is found only as a whole, 42 not in 142, and in an answer what is denied, or is one of
// two, is not found.
type Words struct {
	All      []string `yaml:"all"`       // it holds each of them
	Any      []string `yaml:"any"`       // it holds one of them
	None     []string `yaml:"none"`      // it holds none of them
	Is       *string  `yaml:"is"`        // it is this text, spaces at its end aside
	Match    string   `yaml:"match"`     // this regular expression is found in it as it is
	NotMatch string   `yaml:"not_match"` // and this one is not; "": any text will do
	Most     int      `yaml:"most"`      // words at most
}

// End is how a task ended: what a check looks at.
type End struct {
	Result agent.Result
	Answer string
	State  map[string]any
	Dir    string // the workspace; removed when the check returns
}

// Script is what a model writes in one run, reply by reply.
type Script []Step

// Step is one reply: a text, or a call.
type Step struct {
	Text string          `yaml:"say"`
	Call string          `yaml:"call"` // the tool's name; "": no call
	Args json.RawMessage `yaml:"-"`
}
