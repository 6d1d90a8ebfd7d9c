package ask

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mylm/tools"
)

// Name is the name of the tool.
const Name = "ask_user"

// Bounds of a question: what fits on a screen of 24 lines of 80 characters.
const (
	MaxText    = 1500 // bytes of the question
	MaxOptions = 10
	MaxOption  = 150 // bytes of each
)

// patience is how long a question waits. Engines bound a tool by seconds, and a
// person may be at lunch, or asleep.
const patience = 24 * time.Hour

// Question is what a person is asked.
type Question struct {
	Text    string
	Options []string // to choose from; none if any answer will do
	Who     string   // asks it, as the beginning of "WHO asks:"; "": the model
}

// Asks is the line above the question.
func (q Question) Asks() string { return cmp.Or(q.Who, "The model") + " asks:" }

// Func puts a question to a person. It returns the answer, ErrNoAnswer if the
// person gives none, or soon after ctx is done its error. It is not called
// again before it has returned.
type Func func(ctx context.Context, q Question) (string, error)

// ErrNoAnswer is the error of a Func whose person does not want to answer.
var ErrNoAnswer = errors.New("the user gave no answer")

type input struct {
	Question string   `json:"question" jsonschema:"one question, with all that is needed to answer it"`
	Options  []string `json:"options,omitempty" jsonschema:"answers to choose from"`
}

// New makes the tool ask_user. Its calls have no effect, so they need no
// approval. The number of an option is an answer that selects it. It is an
// error if put is nil.
func New(put Func) (*tools.Tool, error) {
	if put == nil {
		return nil, fmt.Errorf("%s: no function that asks", Name)
	}
	a := &asker{put: put, turn: make(chan struct{}, 1)}
	t, err := tools.New(Name, "Ask the user when only they can know or decide; never for permission to use a tool.", tools.None, a.run)
	if err != nil {
		return nil, err
	}
	t.Timeout = patience
	t.Preview = preview
	return t, nil
}

func preview(args json.RawMessage) string {
	in, err := tools.Decode[input](args)
	if err != nil {
		return string(args)
	}
	return in.Question
}

// asker is a Func with its turn: there is one person.
type asker struct {
	put  Func
	turn chan struct{}
}

func (in input) check() error {
	switch {
	case strings.TrimSpace(in.Question) == "":
		return errors.New("the question is empty")
	case len(in.Question) > MaxText:
		return fmt.Errorf("the question is %d bytes long; ask in at most %d", len(in.Question), MaxText)
	case len(in.Options) > MaxOptions:
		return fmt.Errorf("there are %d options; give at most %d", len(in.Options), MaxOptions)
	}
	for i, o := range in.Options {
		switch {
		case strings.TrimSpace(o) == "":
			return fmt.Errorf("option %d is empty; leave it out", i+1)
		case len(o) > MaxOption:
			return fmt.Errorf("option %d is %d bytes long; give at most %d", i+1, len(o), MaxOption)
		case slices.Contains(in.Options[:i], o):
			return fmt.Errorf("option %d is a duplicate; remove it", i+1)
		}
	}
	return nil
}

func (a *asker) run(ctx context.Context, in input) (tools.Result, error) {
	if err := in.check(); err != nil {
		return tools.Result{}, err
	}
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return tools.Result{}, fmt.Errorf("the user was not asked: %w", context.Cause(ctx))
	}
	answer, err := a.put(ctx, Question{Text: in.Question, Options: slices.Clone(in.Options)})
	answer = strings.TrimSpace(answer)
	switch {
	case errors.Is(err, ErrNoAnswer), err == nil && answer == "":
		return tools.Result{Text: "(the user gave no answer; continue with what is known, or state what is missing)"}, nil
	case err != nil:
		return tools.Result{}, fmt.Errorf("the user could not be asked: %w", err)
	}
	return tools.Result{Text: Chosen(answer, in.Options)}, nil
}

// Chosen is the option that an answer names by its number, else the answer.
func Chosen(answer string, options []string) string {
	for i, o := range options {
		if answer == fmt.Sprint(i+1) && !slices.Contains(options, answer) {
			return o
		}
	}
	return answer
}
