package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mylm/memory"
	"mylm/tools"
)

// Names of the tools.
const (
	SearchMemoryName = "search_memory"
	ReadMemoryName   = "read_memory"
	RememberName     = "remember"
)

// DefaultMaxBytes is how much text one call shows: about 1,500 tokens of
// English, a fifth of a window of 8,192.
const DefaultMaxBytes = 6 << 10

// Options set which memory the tools use, and for whom.
type Options struct {
	// Open gives the store when the first call needs it. It is called by every
	// call, and may return the same store each time. The tools do not close it.
	Open func(context.Context) (*memory.Store, error)
	// Project is what the conversation is about. Notes are kept under it.
	Project string
	// Session names the conversation. Notes are kept under it.
	Session func() string
	// Source names who keeps the notes; "": RememberName.
	Source string
	// Foreign: all notes get the tag memory.ForeignTag, as those of a call do that
	// is tools.Tainted.
	Foreign bool
	// NoSave is why nothing may be kept, as a sentence for the model; "" if
	// notes are kept.
	NoSave string
	// MaxBytes bounds the text that one call shows; 0: DefaultMaxBytes.
	MaxBytes int
	// Location is the zone of the times that are shown and read; nil: time.Local.
	Location *time.Location
}

// recaller is a checked Options.
type recaller struct{ Options }

func newRecaller(o Options) (*recaller, error) {
	switch {
	case o.Open == nil:
		return nil, errors.New("there is no memory: Open is nil")
	case o.MaxBytes < 0:
		return nil, fmt.Errorf("MaxBytes is %d; it must be 0 (for %d) or more", o.MaxBytes, DefaultMaxBytes)
	case o.MaxBytes == 0:
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Location == nil {
		o.Location = time.Local
	}
	if o.Session == nil {
		o.Session = func() string { return "" }
	}
	return &recaller{o}, nil
}

// newTool puts a tool together.
func newTool[In any](o Options, name, description string, e tools.Effect, run func(*recaller, context.Context, In) (tools.Result, error)) (*tools.Tool, error) {
	r, err := newRecaller(o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return tools.New(name, description, e, func(ctx context.Context, in In) (tools.Result, error) { return run(r, ctx, in) })
}

type rememberInput struct {
	Text string   `json:"text" jsonschema:"one fact, clear by itself"`
	Tags []string `json:"tags,omitempty" jsonschema:"words to find it by"`
}

// Remember makes the tool remember. Its effect is tools.Remembers: a call adds
// to the store and touches nothing else. With Options.NoSave every call fails
// with that reason.
func Remember(o Options) (*tools.Tool, error) {
	t, err := newTool(o, RememberName, "Keep a note for later conversations.", tools.Remembers, (*recaller).remember)
	if err != nil {
		return nil, err
	}
	tags := t.Schema.Properties["tags"]
	tags.Type, tags.Types = "array", nil // a slice may be nil in Go; the model need not know
	return t, nil
}

func (r *recaller) remember(ctx context.Context, in rememberInput) (tools.Result, error) {
	if strings.TrimSpace(in.Text) == "" {
		return tools.Result{}, errors.New("the text is empty; give the sentence to remember")
	}
	if r.NoSave != "" {
		return tools.Result{}, errors.New(r.NoSave)
	}
	store, err := r.Open(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	tags := in.Tags
	if r.Foreign || tools.Tainted(ctx) {
		tags = append(slices.Clone(tags), memory.ForeignTag)
	}
	kept, err := store.Add(ctx, memory.Document{
		Text: strings.TrimSpace(in.Text), Kind: memory.Note, Role: "assistant", Project: r.Project, Session: r.Session(), Source: cmp.Or(r.Source, RememberName), Tags: tags,
	})
	if err != nil {
		return tools.Result{}, err
	}
	text := "Remembered as " + kept[0].ID + "."
	if kept[0].Count > 1 {
		text = "It was remembered already, as " + kept[0].ID + "."
	}
	if _, found := memory.Redact(in.Text); len(found) > 0 {
		text += " Secrets are not kept; left out: " + strings.Join(found, ", ") + "."
	}
	return tools.Result{Text: text}, nil
}

// parseTime reads a date or a time as a model writes it.
func (r *recaller) parseTime(field, s string) (time.Time, error) {
	if s = strings.TrimSpace(s); s == "" {
		return time.Time{}, nil
	}
	if t, err := memory.ParseTime(s, r.Location); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%s is %.40q; write a date like 2026-01-31", field, s)
}

// Bounds of search_memory. More than 20 hits do not help a model.
const (
	defaultLimit = 5
	maxLimit     = 20
)

// The scopes of a search.
const (
	scopeProject = "project"
	scopeSession = "session"
	scopeAll     = "all"
)

type searchInput struct {
	Query  string `json:"query" jsonschema:"words that were probably used"`
	Limit  int    `json:"limit,omitempty" jsonschema:"default 5, at most 20"`
	Scope  string `json:"scope,omitempty" jsonschema:"default project"`
	After  string `json:"after,omitempty" jsonschema:"from this date on: 2026-01-31"`
	Before string `json:"before,omitempty" jsonschema:"before this date"`
}

// SearchMemory makes the tool search_memory. It only reads. A call shows at
// most 20 memories, best first, each with its id, date, session and who spoke;
// what does not fit Options.MaxBytes is cut text by text, so that many short
// memories are shown rather than few long ones.
func SearchMemory(o Options) (*tools.Tool, error) {
	t, err := newTool(o, SearchMemoryName, "Search what was said and done in earlier conversations.", tools.Reads, (*recaller).search)
	if err != nil {
		return nil, err
	}
	t.Schema.Properties["scope"].Enum = []any{scopeProject, scopeSession, scopeAll}
	return t, nil
}

func (r *recaller) search(ctx context.Context, in searchInput) (tools.Result, error) {
	if strings.TrimSpace(in.Query) == "" {
		return tools.Result{}, errors.New("the query is empty; say what to look for")
	}
	q := memory.Query{Text: in.Query, Limit: defaultLimit}
	if in.Limit > 0 {
		q.Limit = min(in.Limit, maxLimit)
	}
	switch in.Scope {
	case "", scopeProject:
		q.Projects = []string{r.Project}
	case scopeSession:
		q.Sessions = []string{r.Session()}
	case scopeAll:
	default:
		return tools.Result{}, fmt.Errorf("scope is %.40q; it is %s, %s or %s", in.Scope, scopeProject, scopeSession, scopeAll)
	}
	var err error
	if q.After, err = r.parseTime("after", in.After); err != nil {
		return tools.Result{}, err
	}
	if q.Before, err = r.parseTime("before", in.Before); err != nil {
		return tools.Result{}, err
	}
	store, err := r.Open(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	hits, err := store.Search(ctx, q)
	if err != nil {
		return tools.Result{}, err
	}
	if len(hits) == 0 {
		return tools.Result{Text: nothing(in.Scope)}, nil
	}
	texts := make([]shown, len(hits))
	for i, h := range hits {
		texts[i] = shown{h.Document, h.Found.Terms, h.Older}
	}
	return r.show("best first", texts), nil
}

// nothingFound begins the text of a search without a hit.
const nothingFound = "Nothing that was remembered matches."

// Nothing reports whether the text of a result of search_memory reports that nothing was found.
func Nothing(text string) bool { return strings.HasPrefix(text, nothingFound) }

func nothing(scope string) string {
	text := nothingFound + " Try other words: names, or words that were probably used"
	if scope != scopeAll {
		text += `; or {"scope": "all"} for all projects`
	}
	return text + ". If there is none, say that it is not remembered."
}

type readInput struct {
	ID     string `json:"id" jsonschema:"as search_memory shows it"`
	Around int    `json:"around,omitempty" jsonschema:"how many, at most 10"`
}

// maxAround bounds read_memory: twice ten and one fill the budget.
const maxAround = 10

// ReadMemory makes the tool read_memory, which shows a memory by its id, and
// its neighbours in the conversation if asked for. It only reads.
func ReadMemory(o Options) (*tools.Tool, error) {
	return newTool(o, ReadMemoryName, "Show one memory, and what was said before and after it.", tools.Reads, (*recaller).read)
}

func (r *recaller) read(ctx context.Context, in readInput) (tools.Result, error) {
	id := strings.TrimSpace(in.ID)
	if id == "" {
		return tools.Result{}, errors.New("the id is empty; search_memory shows ids")
	}
	store, err := r.Open(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	found, err := store.Around(ctx, id, min(max(in.Around, 0), maxAround))
	if errors.Is(err, memory.ErrNotFound) {
		return tools.Result{}, fmt.Errorf("there is no memory %.80q; search_memory shows ids", id)
	}
	if err != nil {
		return tools.Result{}, err
	}
	texts := make([]shown, len(found))
	for i, d := range found {
		texts[i] = shown{Document: d}
	}
	return r.show("in the order in which they were said", texts), nil
}
