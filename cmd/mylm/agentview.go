package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"mylm/agent"
	"mylm/agent/plan"
	"mylm/cmd/mylm/internal/term"
)

// planView shows a plan as it is carried out: on a terminal as a tree that is
// drawn again in place, elsewhere as lines. It may be used by several
// goroutines at once.
type planView struct {
	screen         *term.Screen
	quiet, verbose bool
	live           bool

	mu      sync.Mutex
	goal    string
	tasks   []plan.Task
	turn    int // iteration
	of      int
	thought string
	action  map[string]string // what each task does
	waiting string            // what the backend does
	held    []string          // lines that came while a question stood
	asking  bool
	start   time.Time
	stop    chan struct{} // closed to end the drawing
	done    chan struct{}
}

func newPlanView(s *term.Screen, goal string, quiet, verbose bool) *planView {
	v := &planView{screen: s, goal: goal, quiet: quiet, verbose: verbose, live: !s.Still && !quiet, action: map[string]string{}, start: time.Now()}
	if v.live {
		v.stop, v.done = make(chan struct{}), make(chan struct{})
		go v.run()
	}
	return v
}

// run draws the tree until the view is closed.
func (v *planView) run() {
	defer close(v.done)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for frame := 0; ; frame++ {
		v.mu.Lock()
		if !v.asking {
			v.screen.DrawRows(v.rows(frame))
		}
		v.mu.Unlock()
		select {
		case <-v.stop:
			return
		case <-tick.C:
		}
	}
}

// close ends the drawing, and leaves the tree as it stands.
func (v *planView) close() {
	if v.stop == nil {
		return
	}
	close(v.stop)
	<-v.done
	v.stop = nil
	v.screen.Erase()
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.tasks) > 0 {
		v.screen.Dim(strings.Join(v.tree(len(v.tasks)), "\n"))
	}
}

// Pause gets out of the way of a question, until resume.
func (v *planView) Pause() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asking = true
	v.screen.Erase()
}

func (v *planView) Resume() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asking = false
	for _, l := range v.held {
		v.screen.Dim(l)
	}
	v.held = nil
}

// say prints a line above the tree.
func (v *planView) say(text string) {
	switch {
	case v.quiet:
	case v.asking:
		v.held = append(v.held, text)
	default:
		v.screen.Dim(text)
	}
}

// line prints a line where there is no tree.
func (v *planView) line(text string) {
	if !v.live {
		v.say(text)
	}
}

// event shows one event.
func (v *planView) event(ev agent.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	task := label(ev.Task)
	switch p := ev.Payload.(type) {
	case plan.Planned:
		v.planned(p)
	case plan.Reasoned:
		v.think(p.Thought)
	case plan.Reflected:
		v.think(p.Progress)
	case plan.Observed:
		v.think(p.Progress)
	case plan.TaskStart:
		v.turn, v.of = p.Iteration, p.MaxIterations
		v.set(p.ID, plan.InProgress, "")
		v.line(fmt.Sprintf("[%d/%d] %s: %s", p.Iteration, p.MaxIterations, label(p.ID), term.OneLine(term.Visible(p.Description), 200)))
	case plan.TaskEnd:
		delete(v.action, p.ID)
		v.set(p.ID, p.Status, p.Error)
		text := fmt.Sprintf("%s %s %s", sign(p.Status), label(p.ID), p.Status)
		if p.Error != "" {
			text += ": " + term.OneLine(term.Visible(p.Error), 200)
		}
		v.line(text)
	case plan.Recovery:
		v.say(fmt.Sprintf("%s failed (%s): %s", label(p.ID), term.OneLine(term.Visible(p.Reason), 200), recoveries[p.Step]))
	case agent.Notice:
		if ev.Task == "" || p.Code == plan.NoticeUnreadable {
			v.say("plan: " + term.OneLine(term.Visible(p.Text), 300))
		}
	case agent.TurnStart:
		v.waiting, v.action[ev.Task] = "", "thinking"
	case agent.Waiting:
		v.waiting = p.Text
	case agent.ToolCall:
		v.waiting = ""
		v.action[ev.Task] = callLine(p.Name, p.Args)
		v.line(prefixed(task, callLine(p.Name, p.Args)))
	case agent.ToolOutput:
		v.output(task, p)
	case agent.Thought:
		v.thoughts(p.Text)
	case agent.Retry:
		v.say(prefixed(task, fmt.Sprintf("retry %d in %v: %s", p.Attempt, p.Wait.Round(100*time.Millisecond), term.OneLine(p.Reason, 200))))
	case agent.Error:
		if p.Source == "format" {
			v.say(prefixed(task, unusable(p)))
		}
	}
}

// recoveries says what is done about a task that failed.
var recoveries = map[plan.Step]string{
	plan.StepAgain: "it is tried again", plan.StepSimplify: "it is tried in a simpler form", plan.StepOtherTool: "it is tried with other tools",
	plan.StepAsk: "you are asked", plan.StepSkip: "it is skipped, and all that wait for it",
}

func label(task string) string { return term.OneLine(term.Visible(task), 30) }

// prefixed puts the name of a task before each line, so that those of several
// can be told apart.
func prefixed(task, text string) string {
	if task == "" {
		return text
	}
	return task + "  " + strings.ReplaceAll(text, "\n", "\n"+task+"  ")
}

func (v *planView) planned(p plan.Planned) {
	was := v.tasks
	v.goal, v.tasks = p.Goal, p.Tasks
	if v.of == 0 {
		v.of = max(10, 2*len(p.Tasks))
	}
	if p.Why == plan.Adjusted {
		v.changed(was)
		return
	}
	v.line("plan: " + term.Plural(len(p.Tasks), "task"))
	for _, t := range p.Tasks {
		v.line("  " + v.row(t))
	}
}

// changed prints the tasks that were not there, or not so, before.
func (v *planView) changed(was []plan.Task) {
	before := map[string]plan.Task{}
	for _, t := range was {
		before[t.ID] = t
	}
	v.line("the plan has changed: " + term.Plural(len(v.tasks), "task"))
	for _, t := range v.tasks {
		if old, known := before[t.ID]; !known || v.row(old) != v.row(t) {
			v.line("  " + v.row(t))
		}
	}
}

func (v *planView) set(id string, s plan.Status, failed string) {
	for i := range v.tasks {
		if v.tasks[i].ID == id {
			v.tasks[i].Status, v.tasks[i].Error = s, failed
		}
	}
}

func (v *planView) think(text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	v.thought = text
	if v.verbose {
		v.line("~ " + term.OneLine(term.Visible(text), 200))
	}
}

// thoughts keeps the last line of a thought that comes in pieces.
func (v *planView) thoughts(text string) {
	v.thought += text
	if i := strings.LastIndexByte(strings.TrimRight(v.thought, "\n"), '\n'); i >= 0 {
		v.thought = v.thought[i+1:]
	}
	if len(v.thought) > thoughtLine {
		v.thought = v.thought[len(v.thought)-thoughtLine:]
	}
}

func (v *planView) output(task string, p agent.ToolOutput) {
	switch {
	case p.DryRun:
		v.say(prefixed(task, "dry run, not run: "+callLine(p.Name, p.Args)))
	case p.Skipped:
		v.line(prefixed(task, "repeated, not run: "+callLine(p.Name, p.Args)))
	case !p.Success && !p.Denied:
		v.line(prefixed(task, "  "+term.OneLine(p.Name, 60)+": "+term.OneLine(p.Error, 200)))
	}
	if v.verbose && !p.Skipped && p.Output != "" {
		v.say(prefixed(task, "  "+strings.ReplaceAll(strings.TrimRight(p.Output, "\n"), "\n", "\n  ")))
	}
}

// sign is a status in one character.
func sign(s plan.Status) string {
	switch s {
	case plan.Completed:
		return "✓"
	case plan.InProgress:
		return "▶"
	case plan.Failed, plan.Blocked:
		return "✗"
	}
	return "⋯"
}

// row is a task in a line.
func (v *planView) row(t plan.Task) string {
	text := sign(t.Status) + " " + label(t.ID) + "  " + term.OneLine(term.Visible(t.Description), 200)
	if t.Status == plan.Blocked || t.Status == plan.Failed {
		text += " (" + string(t.Status) + ")"
	}
	return text
}

// progress is how far the plan is, in percent.
func (v *planView) progress() (done, percent int) {
	for _, t := range v.tasks {
		if t.Status == plan.Completed {
			done++
		}
	}
	return done, done * 100 / max(1, len(v.tasks))
}

// tree is the goal and at most n tasks: where there are more, those around the
// first that is not done.
func (v *planView) tree(n int) []string {
	done, percent := v.progress()
	rows := []string{
		"Goal: " + term.OneLine(term.Visible(v.goal), 300),
		fmt.Sprintf("iteration %d/%d, %d%% (%d of %d)", v.turn, v.of, percent, done, len(v.tasks)),
	}
	if len(v.tasks) == 0 {
		rows[1] = "planning"
		if v.waiting != "" {
			rows[1] = term.OneLine(term.Visible(v.waiting), 200)
		}
	}
	from := 0
	for from < len(v.tasks)-n && v.tasks[from].Status == plan.Completed {
		from++
	}
	to := min(len(v.tasks), from+max(1, n))
	if from > 0 {
		rows = append(rows, fmt.Sprintf("  … %d before", from))
	}
	for _, t := range v.tasks[from:to] {
		rows = append(rows, v.row(t))
	}
	if to < len(v.tasks) {
		rows = append(rows, fmt.Sprintf("  … %d more", len(v.tasks)-to))
	}
	return rows
}

// rows is the live view, as high as the terminal at most.
func (v *planView) rows(frame int) []string {
	var below []string
	if text := strings.TrimSpace(v.thought); text != "" {
		below = append(below, "~ "+term.OneLine(term.Visible(text), 200))
	}
	for _, t := range v.tasks {
		if what := v.action[t.ID]; what != "" {
			if v.waiting != "" {
				what = v.waiting
			}
			below = append(below, label(t.ID)+" "+term.OneLine(term.Visible(what), 200))
		}
	}
	_, height := v.screen.Size()
	room := height - 1 - len(below) - 2 // for tasks: goal and progress stand above them
	if room < len(v.tasks) {
		room -= 2 // how many are not shown
	}
	rows := v.tree(max(1, room))
	spin := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	rows[1] = fmt.Sprintf("%c %s, %ds", spin[frame%len(spin)], rows[1], int(time.Since(v.start).Seconds()))
	rows = append(rows, below...)
	return rows[:min(len(rows), max(2, height-1))]
}
