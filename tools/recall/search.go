package recall

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"mylm/memory"
	"mylm/tools"
)

// Bounds of search_memory. More than 20 hits are no answer but a heap.
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
	Query  string `json:"query" jsonschema:"words that were probably used; names and dates help"`
	Limit  int    `json:"limit,omitempty" jsonschema:"5 unless given, at most 20"`
	Scope  string `json:"scope,omitempty" jsonschema:"project unless given"`
	After  string `json:"after,omitempty" jsonschema:"only from this date on: 2026-01-31"`
	Before string `json:"before,omitempty" jsonschema:"only before this date"`
}

// SearchMemory makes the tool search_memory. It only reads. A call shows at
// most 20 memories, best first, each with its id, date, session and who spoke;
// what does not fit Options.MaxBytes is cut text by text, so that many short
// memories are shown rather than few long ones.
func SearchMemory(o Options) (*tools.Tool, error) {
	t, err := newTool(o, SearchMemoryName, "Search what was said and done in earlier conversations, word for word.", tools.Reads, (*recaller).search)
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

// Nothing reports whether the text of a result of search_memory says that nothing
// was found.
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
	Around int    `json:"around,omitempty" jsonschema:"how many before and after it, at most 10"`
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
