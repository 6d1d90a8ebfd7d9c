package eval

import (
	"fmt"
	"time"
)

// Exam is what an exam is about: what must not change when it is resumed.
type Exam struct {
	ID      string    `json:"id"`
	Started time.Time `json:"started,omitzero"`
	Version string    `json:"version,omitempty"` // of the program
	Model   string    `json:"model"`             // as it is shown
	Backend string    `json:"backend,omitempty"` // the provider and the model that Model stood for
	Address string    `json:"address,omitempty"` // of its server, without secrets
	Suite   string    `json:"suite"`
	Tasks   int       `json:"tasks"`
	Form    string    `json:"form,omitempty"`          // in which calls are shown to the model
	Compact bool      `json:"compact,omitempty"`       // the prompt is that for a small window
	Prompt  string    `json:"prompt,omitempty"`        // the file of a system template; "": the default one
	Digest  string    `json:"prompt_digest,omitempty"` // of the prompts, by which they can be told apart
	Runs    int       `json:"runs"`
	Seed    *int      `json:"seed,omitempty"`
	// Args are the arguments of the command line that began the exam, for who
	// resumes it.
	Args map[string]string `json:"args,omitempty"`
	// Series are the exams that it was started with, for who resumes them; nil: it is alone.
	Series *Series `json:"series,omitempty"`
}

// Series are exams that one command starts, one after the other.
type Series struct {
	Place int    `json:"place"` // of the exam in Exams
	Exams []Exam `json:"exams"` // each as it begins, also before it has begun
}

// MaxRuns is how often an exam that is kept can ask each task, at most.
const MaxRuns = 1000

// check finds what no exam can have, as in a file that is damaged.
func (e Exam) check() error {
	if e.Runs < 0 || e.Runs > MaxRuns {
		return fmt.Errorf("runs is %d; it must be from 1 to %d", e.Runs, MaxRuns)
	}
	if e.Tasks < 0 || e.Tasks > maxSuite {
		return fmt.Errorf("tasks is %d; it must be from 1 to %d", e.Tasks, maxSuite)
	}
	if e.Series == nil {
		return nil
	}
	if at := e.Series.Place; at < 0 || at >= len(e.Series.Exams) {
		return fmt.Errorf("the series has no place %d", at)
	}
	for _, of := range e.Series.Exams {
		of.Series = nil
		if err := of.check(); err != nil {
			return fmt.Errorf("the series: %w", err)
		}
	}
	return nil
}
