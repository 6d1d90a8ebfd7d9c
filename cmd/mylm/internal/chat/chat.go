package chat

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	xterm "golang.org/x/term"

	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools/ask"
)

// Options of a Chat. Screen, Send and Status are required.
type Options struct {
	Screen   *term.Screen
	Send     func(ctx context.Context, text string) error // answers a message; see Unsent
	Status   func() Status                                // called after each message and command
	Commands []Command
	Paths    func(ctx context.Context, prefix string) []string // completes a path behind @; may be nil
	Shell    func(ctx context.Context, line string) error      // runs a line on the terminal itself; may be nil
	Edit     func(ctx context.Context, text string) (string, error)
	Further  func(name, args string) func(context.Context) error // a command that is not listed; nil: there is none of the name
	History  string                                              // the file of what was typed; "" keeps none
	Intro    string                                              // shown first
	Answer   string                                              // the rows below it, as they are
	First    string                                              // a message that is sent first, if it is not empty
}

// Status is what the last line shows. Empty fields are left out.
type Status struct {
	Model    string
	Project  string
	Sandbox  string
	Yolo     bool // nothing is asked about
	Context  int  // tokens of the last prompt
	Window   int  // of the model; 0 is unknown
	Messages int  // that were sent
	Tokens   int  // generated
	Rate     float64
}

// Command is a line that begins with a slash.
type Command struct {
	Name, Args, Usage string
	// Run carries it out; what it prints on the screen appears in the conversation.
	Run func(ctx context.Context, args string) error
	// Now reports whether it need not wait for a reply that is coming, since it only
	// reads. It then runs beside that; nil: it always waits.
	Now func(args string) bool
	// Complete lists what the arguments may be; may be nil.
	Complete func(ctx context.Context) []Candidate
}

// Candidate is what a word may become, and what it is, for the menu.
type Candidate struct{ Word, Note string }

// Chat is a conversation. Its methods may be called by any goroutine.
type Chat struct {
	o       Options
	feed    feed
	program *tea.Program
	out     *output
	jobs    sync.WaitGroup
	end     context.CancelFunc
	crash   string // of a job
}

// New makes a conversation.
func New(o Options) *Chat { return &Chat{o: o} }

// ErrLeft is the error of Run if the terminal was taken away.
var ErrLeft = errors.New("the conversation ended with its terminal")

// Run holds the conversation until the person leaves or ctx is done. It leaves the
// terminal as it was.
func (c *Chat) Run(ctx context.Context) error {
	ctx, c.end = context.WithCancel(ctx)
	defer c.end()
	columns, rows := c.o.Screen.Size()
	m := newModel(ctx, c, columns, rows)
	if c.o.Intro != "" {
		c.o.Screen.Dim(wrapWords(c.o.Intro, columns-1))
		c.o.Screen.Rows(c.o.Answer, "", false)
	}
	c.out = &output{File: c.o.Screen.Out, drawn: func() { c.feed.push(item{begun: true}) }}
	options := []tea.ProgramOption{
		tea.WithContext(ctx), tea.WithoutSignalHandler(), tea.WithInput(&input{c.o.Screen.In}), tea.WithOutput(c.out), tea.WithWindowSize(columns, rows), tea.WithFPS(120), // a key is on the screen within 16 ms
	}
	if !c.o.Screen.Color() {
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	}
	before, err := xterm.GetState(int(c.o.Screen.In.Fd()))
	if err != nil {
		return fmt.Errorf("the terminal: %w", err)
	}
	c.program = tea.NewProgram(m, options...)
	c.feed.start(func() { c.program.Send(wake{}) })
	detach := c.o.Screen.Attach(&host{c, before})
	_, err = c.program.Run()
	c.out.end()
	c.end() // and with it the job that runs
	c.jobs.Wait()
	detach()
	c.leftover(m)
	if c.crash != "" {
		panic(c.crash)
	}
	switch {
	case errors.Is(err, tea.ErrProgramPanic):
		return errors.New("the conversation crashed; the lines above say where. This is a bug in mylm")
	case err == nil, errors.Is(err, context.Canceled):
		return nil
	}
	return fmt.Errorf("%w: %w", ErrLeft, err)
}

// leftover prints what came after the terminal was given back.
func (c *Chat) leftover(m *model) {
	m.take(c.feed.take())
	m.endAnswer()
	for _, l := range m.lines {
		fmt.Fprintln(c.o.Screen.Out, l)
	}
}

// Copy puts a text into the clipboard of the terminal.
func (c *Chat) Copy(text string) { c.feed.push(item{copy: text}) }

// Clear empties the screen.
func (c *Chat) Clear() { c.feed.push(item{clear: true}) }

// Approve implements setup.Dialog.
func (c *Chat) Approve(ctx context.Context, a setup.Approval) (setup.Answer, error) {
	r, err := c.ask(ctx, &dialog{approval: &a})
	return r.answer, err
}

// Question implements setup.Dialog.
func (c *Chat) Question(ctx context.Context, q ask.Question) (string, error) {
	r, err := c.ask(ctx, &dialog{question: &q})
	if err == nil && r.none {
		return "", ask.ErrNoAnswer
	}
	return r.text, err
}

// ask shows a dialog and waits for its answer.
func (c *Chat) ask(ctx context.Context, d *dialog) (reply, error) {
	d.reply = make(chan reply, 1)
	c.feed.push(item{dialog: d})
	select {
	case r := <-d.reply:
		return r, nil
	case <-ctx.Done():
		c.feed.push(item{dismiss: d})
		return reply{}, ctx.Err()
	}
}

// host is the conversation as the screen knows it.
type host struct {
	*Chat
	before *xterm.State
}

// Answer implements term.Host.
func (h *host) Answer(text string) { h.feed.push(item{answer: text}) }

// Rows implements term.Host.
func (h *host) Rows(final, open []string, within bool) {
	h.feed.push(item{final: final, open: open, within: within, answers: true})
}

// EndAnswer implements term.Host.
func (h *host) EndAnswer() { h.feed.push(item{end: true}) }

// Lines implements term.Host.
func (h *host) Lines(text string, faint bool) {
	h.feed.push(item{lines: text, faint: faint, whole: true})
}

// Draw implements term.Host.
func (h *host) Draw(rows []string) { h.feed.push(item{rows: rows, draws: true}) }

// Absent implements term.Host.
func (h *host) Absent() term.Nobody { return "" }

// Ask implements term.Host.
func (h *host) Ask(ctx context.Context, question string, secret bool) (string, error) {
	r, err := h.ask(ctx, &dialog{prompt: question, secret: secret})
	return r.text, err
}

// restore turns off what the conversation turns on: bracketed paste, the keyboard
// protocols, a hidden cursor.
const restore = "\x1b[?2004l\x1b[>4;0m\x1b[<1u\x1b[?25h\x1b[0m\r\n"

// Release implements term.Host.
func (h *host) Release() {
	h.out.end()
	_ = xterm.Restore(int(h.o.Screen.In.Fd()), h.before)
	_, _ = os.Stdout.WriteString(restore)
}

// Capture runs a command whose output becomes part of the conversation, also what it
// writes to stdout without the screen. A reply may be coming meanwhile.
func (c *Chat) Capture(run func(*term.Screen) error) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	s := c.o.Screen.On(w)
	h := &aside{host: host{Chat: c}}
	defer s.Attach(h)()
	read := make(chan struct{})
	go func() {
		defer close(read)
		for in := bufio.NewReader(r); ; {
			line, err := in.ReadString('\n') // no character is cut
			h.Answer(term.Printable(line))
			if err != nil {
				return
			}
		}
	}()
	err = run(s)
	w.Close()
	<-read
	h.EndAnswer()
	return err
}

// aside shows what a command says as lines of its own, which may come while a reply
// does.
type aside struct {
	host
	mu   sync.Mutex
	open string // the beginning of a line
}

// Answer implements term.Host.
func (a *aside) Answer(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	text = a.open + text
	i := strings.LastIndexByte(text, '\n')
	if a.open = text[i+1:]; i >= 0 {
		a.host.Lines(text[:i], false)
	}
}

// Rows implements term.Host.
func (a *aside) Rows(final, open []string, _ bool) {
	a.EndAnswer()
	a.feed.push(item{beside: slices.Concat(final, open)})
}

// EndAnswer implements term.Host.
func (a *aside) EndAnswer() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open != "" {
		a.host.Lines(a.open, false)
		a.open = ""
	}
}

// Lines implements term.Host.
func (a *aside) Lines(text string, faint bool) {
	a.EndAnswer()
	a.host.Lines(text, faint)
}

// Draw implements term.Host: the place belongs to the reply.
func (*aside) Draw([]string) {}
