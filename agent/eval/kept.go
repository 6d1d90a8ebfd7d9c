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
	Stopped string `json:"stopped,omitempty"` // why the exam is not complete; "": it is
	Total   Row    `json:"total"`

	// LogSize is how much of the log it is of, in bytes: it holds as long as the log has
	// no more.
	LogSize int64 `json:"log_size"`
}

const summaryFile = "summary.json"

// summarize keeps the result in the log's directory, where List finds it.
func (l *Log) summarize(r *Report) error {
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(Summary{r.Exam, r.Done, r.All, r.Stopped, r.Total, info.Size()}, "", "  ")
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

// summaryOf reads the summary of an exam, or makes it if that is not of the whole log, as
// after a kill.
func summaryOf(dir string) (s Summary, err error) {
	text, err := os.ReadFile(filepath.Join(dir, summaryFile))
	info, failed := os.Stat(filepath.Join(dir, logFile))
	if err == nil && failed == nil && json.Unmarshal(text, &s) == nil && s.LogSize == info.Size() && s.LogSize > 0 && s.fits(dir) {
		s.Exam.ID = filepath.Base(dir)
		return s, nil
	}
	l, err := Open(dir)
	if err != nil {
		return s, err
	}
	s = Summary{Exam: l.Exam, Done: len(l.outcomes), All: l.Exam.Tasks * max(1, l.Exam.Runs), Total: Row{Name: "all", High: 1}}
	for _, o := range l.outcomes {
		s.Total.add(o)
	}
	s.Stopped = l.whyStopped(s.Done, s.All)
	return s, nil
}

// fits reports whether the counts can be those of the exam in a directory.
func (s Summary) fits(dir string) bool {
	var e Exam
	text, err := os.ReadFile(filepath.Join(dir, examFile))
	return err == nil && json.Unmarshal(text, &e) == nil && e.check() == nil &&
		s.All == e.Tasks*max(1, e.Runs) && s.Done <= s.All && s.Total.Of == s.Done && 0 <= s.Total.Passed && s.Total.Passed <= s.Total.Of
}

// ErrAmbiguous is the error of Find if several exams begin with the prefix.
var ErrAmbiguous = errors.New("several exams begin with")

// Find returns the id of the exam that is called so, or else of the only one that begins
// with a prefix, or of the one that began last for "last". It may be damaged.
func Find(dir, prefix string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var ids []string
	var last Exam
	for _, e := range entries {
		path := filepath.Join(dir, e.Name(), examFile)
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if e.Name() == prefix {
			return prefix, nil
		}
		var x Exam
		if text, err := os.ReadFile(path); err == nil {
			_ = json.Unmarshal(text, &x) // of one that is damaged nobody knows when it began
		}
		if x.ID = e.Name(); cmp.Or(x.Started.Compare(last.Started), cmp.Compare(x.ID, last.ID)) > 0 {
			last = x
		}
		if strings.HasPrefix(e.Name(), prefix) {
			ids = append(ids, e.Name())
		}
	}
	if prefix == "last" && last.ID != "" {
		return last.ID, nil
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
