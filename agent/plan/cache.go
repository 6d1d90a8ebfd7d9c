package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2/maybe"
)

// Cached is how many plans a Cache keeps: those that were used last.
const Cached = 100

// MaxCached is how large a plan may be that a Cache keeps, in bytes of JSON: far
// more than a list that a person reads.
const MaxCached = 64 << 10

// Cache keeps plans in a file, for goals that come again. Two processes that
// write at the same moment lose one of the two plans, and nothing else.
type Cache struct {
	Path string // made when the first plan is kept, readable for its owner alone
}

// cached is a plan in the file, the one used last at the end.
type cached struct {
	Key   string `json:"key"`
	Tasks []Task `json:"tasks"`
}

// CacheKey is what a plan is found by: another goal, other tools or another
// model make another plan.
func CacheKey(goal, model string, tools []string) string {
	tools = slices.Clone(tools)
	slices.Sort(tools)
	b, _ := json.Marshal([]any{goal, model, tools}) // strings
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Get returns the tasks of a plan; ok is false if there is none. The plan
// counts as used. An error is that of a file that cannot be read or written;
// a damaged one counts as empty.
func (c Cache) Get(key string) (tasks []Task, ok bool, err error) {
	all, err := c.load()
	if err != nil {
		return nil, false, err
	}
	i := slices.IndexFunc(all, func(e cached) bool { return e.Key == key })
	if i < 0 {
		return nil, false, nil
	}
	e := all[i]
	return e.Tasks, true, c.store(append(slices.Delete(all, i, i+1), e))
}

// Put keeps the tasks of a plan, as they were before anything was done. A plan
// that rests on what strangers wrote, or is larger than MaxCached, is not kept.
func (c Cache) Put(key string, tasks []Task) error {
	all, err := c.load()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(tasks, func(t Task) bool { return t.has(taintedKey) }) {
		return nil
	}
	e := cached{Key: key}
	for _, t := range tasks {
		e.Tasks = append(e.Tasks, Task{ID: t.ID, Description: t.Description, Status: Pending, Dependencies: t.Dependencies, Tools: t.Tools})
	}
	if b, err := json.Marshal(e); err != nil || len(b) > MaxCached {
		return err
	}
	all = append(slices.DeleteFunc(all, func(o cached) bool { return o.Key == key }), e)
	return c.store(all[max(0, len(all)-Cached):])
}

// Forget removes a plan, if it is there: it did not lead to the goal.
func (c Cache) Forget(key string) error {
	all, err := c.load()
	if err != nil {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(all), func(e cached) bool { return e.Key == key })
	if len(left) == len(all) {
		return nil
	}
	return c.store(left)
}

// Clear removes all plans, with their file, and returns how many there were.
func (c Cache) Clear() (n int, err error) {
	all, err := c.load()
	if err != nil {
		return 0, err
	}
	if err := os.Remove(c.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	return len(all), nil
}

func (c Cache) load() (all []cached, err error) {
	b, err := os.ReadFile(c.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(b, &all) != nil {
		return nil, nil
	}
	return all, nil
}

func (c Cache) store(all []cached) error {
	b, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o700); err != nil {
		return err
	}
	return maybe.WriteFile(c.Path, b, 0o600)
}

// Mermaid is a plan as a flow chart in the language of Mermaid.
func Mermaid(tasks []Task) string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	names := map[string]string{} // ids may hold anything
	for i, t := range tasks {
		names[t.ID] = fmt.Sprintf("n%d", i+1)
		text := strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;", "`", "'").Replace(oneLine(t.ID + ": " + t.Description))
		fmt.Fprintf(&b, "    %s[\"%s\"]\n", names[t.ID], text)
	}
	for _, t := range tasks {
		for _, d := range t.Dependencies {
			fmt.Fprintf(&b, "    %s --> %s\n", names[d], names[t.ID])
		}
	}
	return b.String()
}
