package eval

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mylm/tools"
)

// Summary is an exam in a line of a list.
type Summary struct {
	Exam    Exam   `json:"exam"`
	Done    int    `json:"done"`
	All     int    `json:"all"`
	Stopped string `json:"stopped,omitempty"`
	Total   Row    `json:"total"`
}

const summaryFile = "summary.json"

// Summarize keeps the result in the log's directory, where List finds it.
func (l *Log) Summarize(r *Report) error {
	text, err := json.MarshalIndent(Summary{r.Exam, r.Done, r.All, r.Stopped, r.Total}, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(l.dir, summaryFile)
	if err = os.WriteFile(path+".new", append(text, '\n'), 0o600); err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		_ = os.Remove(path + ".new")
	}
	return err
}

// List returns the exams that are kept below a directory, the last one first. What
// cannot be read is skipped, and returned as an error with the rest.
func List(dir string) (all []Summary, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		s, failed := summaryOf(filepath.Join(dir, e.Name()))
		switch {
		case errors.Is(failed, ErrNoExam):
		case failed != nil:
			err = errors.Join(err, failed)
		default:
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b Summary) int {
		return cmp.Or(b.Exam.Started.Compare(a.Exam.Started), cmp.Compare(b.Exam.ID, a.Exam.ID))
	})
	return all, err
}

// summaryOf reads the summary of an exam, or makes it if the exam was killed or the
// summary cannot be read.
func summaryOf(dir string) (s Summary, err error) {
	text, err := os.ReadFile(filepath.Join(dir, summaryFile))
	if err == nil && json.Unmarshal(text, &s) == nil {
		s.Exam.ID = filepath.Base(dir)
		return s, nil
	}
	l, err := Open(dir)
	if err != nil {
		return s, err
	}
	s = Summary{Exam: l.Exam, All: l.Exam.Tasks * max(1, l.Exam.Runs), Stopped: "the exam has not come to its end", Total: Row{Name: "all", High: 1}}
	for _, o := range l.outcomes {
		s.Total.add(o)
	}
	s.Done = len(l.outcomes)
	return s, nil
}

// ErrAmbiguous is the error of Find if several exams begin with the prefix.
var ErrAmbiguous = errors.New("several exams begin with")

// Find returns the id of an exam that begins with a prefix, be it damaged, or of the
// last one that can be read for "last".
func Find(dir, prefix string) (string, error) {
	if prefix == "last" {
		switch all, err := List(dir); {
		case len(all) > 0:
			return all[0].Exam.ID, nil
		case err != nil:
			return "", err
		}
		return "", fmt.Errorf("%w %q", ErrNoExam, prefix)
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var ids []string
	for _, e := range entries {
		if _, err := os.Lstat(filepath.Join(dir, e.Name(), examFile)); err == nil && strings.HasPrefix(e.Name(), prefix) {
			ids = append(ids, e.Name())
		}
	}
	switch len(ids) {
	case 1:
		return ids[0], nil
	case 0:
		return "", fmt.Errorf("%w %q", ErrNoExam, prefix)
	}
	const shown = 5
	if len(ids) > shown {
		ids = append(ids[:shown], "…")
	}
	return "", fmt.Errorf("%w %q: %s", ErrAmbiguous, prefix, strings.Join(ids, ", "))
}

// Describe returns the tools of a task, to be looked at: none of them can be run.
func (s *Suite) Describe(id string) (*tools.Registry, error) {
	i := slices.IndexFunc(s.Tasks, func(t *Task) bool { return t.ID == id })
	if i < 0 {
		return nil, fmt.Errorf("the suite %s has no task %q", s.Name, id)
	}
	w, err := newWorld(s.Tasks[i])
	if err != nil {
		return nil, err
	}
	defer w.close()
	return w.registry(s, s.Tasks[i], nil)
}
