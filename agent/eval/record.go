package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gofrs/flock"

	"mylm/agent/journal"
	"mylm/providers"
)

// Log keeps an exam in a directory: what is asked, each reply as it comes, and each
// outcome. An exam that was interrupted, also by the end of the process, goes on
// where it stopped: the model is asked nothing that it has answered. One process
// at a time writes to a Log.
//
// The directory holds exam.json, suite.yaml, log.jsonl with one line a reply or
// outcome, and the sessions of the tasks, in the form of the package journal.
type Log struct {
	Exam Exam

	dir      string
	sessions *journal.Store

	mu       sync.Mutex
	lock     *flock.Flock
	file     *os.File
	failed   error
	replies  map[string][]reply
	outcomes []Outcome
	has      map[string]bool // an outcome, by task and run
	stopped  string          // why the exam is not complete, though each task may have an outcome; "" if nothing stopped it
}

// reply is one reply of the model, as it came.
type reply struct {
	Task    string  `json:"task"`
	Run     int     `json:"run"`
	Request string  `json:"request"` // digest of what was asked
	Chunks  []piece `json:"chunks"`
	Seconds float64 `json:"seconds"`
}

type piece struct {
	Text     string                `json:"text,omitempty"`
	Thought  string                `json:"thought,omitempty"`
	Call     *providers.ServerCall `json:"call,omitempty"`
	CallPart string                `json:"call_part,omitempty"`
	Stop     providers.StopReason  `json:"stop,omitempty"`
	Usage    *providers.Usage      `json:"usage,omitempty"`
}

// line is one line of log.jsonl.
type line struct {
	Reply   *reply   `json:"reply,omitempty"`
	Outcome *Outcome `json:"outcome,omitempty"`
	Stop    *stop    `json:"stop,omitempty"`
}

// stop is the end of a run of an exam.
type stop struct {
	Reason string `json:"reason,omitempty"` // "": the exam is complete
}

const (
	examFile  = "exam.json"
	suiteFile = "suite.yaml"
	logFile   = "log.jsonl"
	lockFile  = "lock" // held by who resumes the exam
)

// Create begins a log in a directory that does not exist, or in which it began when its
// process was killed. The error of one that holds an exam is fs.ErrExist.
func Create(dir string, e Exam, s *Suite) (l *Log, err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, examFile)
	made := os.Mkdir(dir, 0o700)
	if _, err := os.Lstat(path); made != nil && (!errors.Is(made, fs.ErrExist) || !errors.Is(err, fs.ErrNotExist)) {
		return nil, made
	}
	defer func() {
		if err != nil && made == nil {
			_ = os.RemoveAll(dir)
		}
	}()
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, suiteFile), s.source, 0o600); err != nil {
		return nil, err
	}
	// Last and at once, since a directory without it is no exam.
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o600); err != nil {
		return nil, err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return nil, err
	}
	return Open(dir)
}

// ErrNoExam is the error of a directory that holds no exam.
var ErrNoExam = errors.New("there is no exam")

// Open reads a log. A last line that was cut short, as by a kill, is removed when
// the exam goes on.
func Open(dir string) (*Log, error) {
	text, err := os.ReadFile(filepath.Join(dir, examFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", dir, ErrNoExam)
	}
	if err != nil {
		return nil, err
	}
	l := &Log{dir: dir, replies: map[string][]reply{}, has: map[string]bool{}}
	if err = json.Unmarshal(text, &l.Exam); err == nil {
		err = l.Exam.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, examFile), err)
	}
	l.Exam.ID = filepath.Base(dir) // also if it was copied or renamed
	_, err = l.read()
	return l, err
}

// read reads log.jsonl and returns how much of it is whole.
func (l *Log) read() (whole int64, err error) {
	path := filepath.Join(l.dir, logFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	l.replies, l.outcomes, l.has, l.stopped = map[string][]reply{}, nil, map[string]bool{}, ""
	for n := 1; ; n++ {
		row, rest, ok := bytes.Cut(text, []byte("\n"))
		if !ok {
			return whole, nil
		}
		var in line
		if err := json.Unmarshal(row, &in); err != nil {
			return whole, fmt.Errorf("%s:%d is damaged: %w", path, n, err)
		}
		if r := in.Reply; r != nil {
			key := taskKey(r.Task, r.Run)
			l.replies[key] = append(l.replies[key], *r)
		}
		if in.Outcome != nil {
			l.add(*in.Outcome)
		}
		if in.Stop != nil {
			l.stopped = in.Stop.Reason
		}
		whole += int64(len(row)) + 1
		text = rest
	}
}

// Outcomes are those recorded so far, in the order in which they came.
func (l *Log) Outcomes() []Outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.outcomes)
}

// Suite is the suite of the exam, as it was when the exam began.
func (l *Log) Suite() (*Suite, error) {
	text, err := os.ReadFile(filepath.Join(l.dir, suiteFile))
	if err != nil {
		return nil, err
	}
	if len(text) == 0 && l.Exam.Suite == smoke { // by a version that did not keep it
		return Smoke(), nil
	}
	if len(text) == 0 {
		return nil, fmt.Errorf("the suite %s was made in Go, and only its program has it", l.Exam.Suite)
	}
	s, err := parse(text, false)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(l.dir, suiteFile), err)
	}
	if l.Exam.Suite == smoke && s.Name == Core().Name {
		s = s.short()
	}
	return s, nil
}

// SessionPath is the file of the session of an outcome.
func (l *Log) SessionPath(o Outcome) string {
	return journal.New(filepath.Join(l.dir, "sessions")).Path(o.Session)
}

// Dir is the directory of the log.
func (l *Log) Dir() string { return l.dir }

// ErrInUse is the error of Run if another process resumes the exam.
var ErrInUse = errors.New("the exam is in use by another process")

// begin opens the log for writing.
func (l *Log) begin() (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lock = flock.New(filepath.Join(l.dir, lockFile), flock.SetPermissions(0o600))
	defer func() {
		if err != nil {
			err = errors.Join(err, l.lock.Close())
		}
	}()
	if ok, err := l.lock.TryLock(); err != nil {
		return err
	} else if !ok {
		return fmt.Errorf("exam %s: %w", l.Exam.ID, ErrInUse)
	}
	whole, err := l.read()
	if err != nil {
		return err
	}
	if l.file, err = os.OpenFile(filepath.Join(l.dir, logFile), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return err
	}
	if err = l.file.Truncate(whole); err == nil {
		_, err = l.file.Seek(0, io.SeekEnd)
	}
	l.sessions = journal.New(filepath.Join(l.dir, "sessions"))
	return err
}

// end closes what begin opened.
func (l *Log) end() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.failed, l.file.Close(), l.sessions.Close(), l.lock.Close())
}

// write adds a line. After a failure nothing more is written: a reply that is not
// kept must not be followed by one that is.
func (l *Log) write(in line, sync bool) error {
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		_, err = l.file.Write(append(text, '\n'))
		if err == nil && sync {
			err = l.file.Sync()
		}
		l.failed = err
	}
	return l.failed
}

func (l *Log) addOutcome(o Outcome) error {
	if err := l.write(line{Outcome: &o}, true); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(o)
	return nil
}

// notEnded is why an exam is not complete whose process was killed.
const notEnded = "the exam has not come to its end"

// whyStopped is why the exam is not complete, "" if it is: done of its tasks have an
// outcome.
func (l *Log) whyStopped(done, all int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped == "" && done < all {
		return notEnded
	}
	return l.stopped
}

// finish keeps how a run of the exam ended, and its summary.
func (l *Log) finish(r *Report) error {
	err := l.write(line{Stop: &stop{r.Stopped}}, true)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.stopped = r.Stopped
		err = l.summarize(r)
	}
	return err
}

// add adds an outcome, and drops an earlier one: a task on which the backend failed is
// asked again.
func (l *Log) add(o Outcome) {
	key := taskKey(o.Task, o.Run)
	if l.has[key] {
		l.outcomes = slices.DeleteFunc(l.outcomes, func(old Outcome) bool { return taskKey(old.Task, old.Run) == key })
	}
	if l.has[key] = true; l.stopped != "" {
		l.stopped = notEnded
	}
	l.outcomes = append(l.outcomes, o)
}

func taskKey(task string, run int) string { return fmt.Sprintf("%s\x00%d", task, run) }
