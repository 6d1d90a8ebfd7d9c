package plan

import (
	"context"
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
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2/maybe"
)

// Cached is how many plans a Cache keeps: those that were used last.
const Cached = 100

// MaxCached is how large a plan may be that a Cache keeps, in bytes of JSON: far
// more than a list that a person reads.
const MaxCached = 64 << 10

// Cache keeps plans in a file, for goals that come again. Processes that use it
// wait for each other.
type Cache struct {
	Path string // made when the first plan is kept, readable for its owner alone
}

// cacheVersion is that of the format of the file. Before it the file was the list.
const cacheVersion = 1

type cacheFile struct {
	Version int      `json:"version"`
	Plans   []cached `json:"plans"`
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

// Get returns the tasks of a plan; ok is false if none is stored. The plan
// counts as used. An error is that of a file that cannot be read or written, or
// that a later version wrote; a damaged one counts as empty.
func (c Cache) Get(key string) (tasks []Task, ok bool, err error) {
	err = c.update(func(all []cached) []cached {
		i := slices.IndexFunc(all, func(e cached) bool { return e.Key == key })
		if ok = i >= 0; !ok {
			return all
		}
		e := all[i]
		tasks = e.Tasks
		return append(slices.Delete(all, i, i+1), e)
	})
	return tasks, ok && err == nil, err
}

// Put keeps the tasks of a plan, as they were before anything was done. A plan
// that rests on text from outside the workspace, or is larger than MaxCached, is not kept.
func (c Cache) Put(key string, tasks []Task) error {
	if slices.ContainsFunc(tasks, func(t Task) bool { return t.hasNote(taintedKey) }) {
		return nil
	}
	e := cached{Key: key}
	for _, t := range tasks {
		e.Tasks = append(e.Tasks, Task{ID: t.ID, Description: t.Description, Status: Pending, Dependencies: t.Dependencies, Tools: t.Tools})
	}
	if b, err := json.Marshal(e); err != nil || len(b) > MaxCached {
		return err
	}
	return c.update(func(all []cached) []cached {
		all = append(removeKey(all, key), e)
		return all[max(0, len(all)-Cached):]
	})
}

// Forget removes a plan, if it exists: it did not lead to the goal.
func (c Cache) Forget(key string) error {
	return c.update(func(all []cached) []cached { return removeKey(all, key) })
}

// Clear removes all plans and returns how many there were.
func (c Cache) Clear() (n int, err error) {
	err = c.update(func(all []cached) []cached {
		n = len(all)
		return nil
	})
	return n, err
}

func removeKey(all []cached, key string) []cached {
	return slices.DeleteFunc(all, func(e cached) bool { return e.Key == key })
}

// lockPatience bounds the wait for other processes.
const lockPatience = 10 * time.Second

// update changes the plans in the file while no other process does.
func (c Cache) update(change func([]cached) []cached) error {
	if _, err := os.Stat(c.Path); errors.Is(err, fs.ErrNotExist) && len(change(nil)) == 0 {
		return nil // there is nothing to lock
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o700); err != nil {
		return err
	}
	lock := flock.New(c.Path+".lock", flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return fmt.Errorf("%s is locked by another process: %w", c.Path, err)
	}
	defer lock.Close()
	b, err := os.ReadFile(c.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var file cacheFile
	if json.Unmarshal(b, &file) != nil {
		_ = json.Unmarshal(b, &file.Plans) // of the format before
	}
	if file.Version > cacheVersion {
		return fmt.Errorf("%s was written by a newer version of mylm", c.Path)
	}
	file = cacheFile{cacheVersion, change(file.Plans)}
	if len(file.Plans) == 0 {
		if err := os.Remove(c.Path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if b, err = json.Marshal(file); err != nil {
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
