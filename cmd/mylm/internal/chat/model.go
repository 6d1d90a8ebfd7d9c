package chat

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// model is the state of the terminal. Only its goroutine uses it.
type model struct {
	ctx           context.Context
	chat          *Chat
	color         bool
	width, height int
	method        ansi.Method // how the terminal measures characters

	editor  editor
	typed   time.Time // when the editor changed last
	history *history
	search  *search // nil: not searching
	menu    *menu   // nil: nothing is completed
	leaving bool    // Ctrl-C again leaves
	hint    string  // below the editor until the next key

	lines    []string // to be printed above
	printing bool
	holding  bool // until what was printed is released
	away     bool // another program has the terminal
	begun    bool // something is drawn
	tallest  int  // rows that were drawn at most
	left     bool

	open        string   // the line of an answer that is not over
	openRows    []string // the rows of an answer that will be replaced
	answered    []string // what is drawn of the answer: the rows that open and openRows were
	within      bool     // a block of the answer goes on
	held        []string // rows that wait for its end
	drawn       []string // in place, by a spinner
	queue       []string // typed ahead
	job         *job     // nil: idle
	last        string   // the last message
	dialogs     []*dialog
	shownStatus Status
}

func newModel(ctx context.Context, c *Chat, columns, rows int) *model {
	m := &model{ctx: ctx, chat: c, color: c.o.Screen.Color(), width: columns, height: rows, method: ansi.WcWidth, history: openHistory(c.o.History)}
	m.shownStatus = c.o.Status()
	return m
}

// Init implements tea.Model.
func (m *model) Init() tea.Cmd {
	if m.chat.o.First == "" {
		return nil
	}
	return func() tea.Msg { return send(m.chat.o.First) }
}

// send is the message that a text is sent as if it had been typed.
type send string

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmds []tea.Cmd
	add := func(c tea.Cmd) {
		if c != nil {
			cmds = append(cmds, c)
		}
	}
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.ModeReportMsg:
		if msg.Mode == ansi.ModeUnicodeCore && (msg.Value == ansi.ModeReset || msg.Value == ansi.ModeSet || msg.Value == ansi.ModePermanentlySet) {
			m.method = ansi.GraphemeWidth
		}
	case wake:
		cmds = append(cmds, m.take(m.chat.feed.take())...)
	case printed:
		m.chat.out.printed()
		replaces := len(m.answered) > 0
		add(func() tea.Msg { return released{replaces} })
		if m.printing = false; len(m.lines) > 0 { // what was drawn of them is not the last
			m.answered = nil
		}
	case released:
		m.chat.out.release(msg.replaces)
		m.holding = false
	case armed: // the dialog is drawn again
	case alone:
		if d := msg.d; !d.since.IsZero() && time.Since(d.since) >= moment && d == m.dialog() && (m.job == nil || !m.job.canceled) {
			m.act(d)
		}
	case send:
		m.history.add(string(msg))
		add(m.submit(string(msg)))
	case returned:
		add(m.back(msg))
	case tea.PasteMsg:
		m.pasted(msg.Content)
	case tea.KeyPressMsg:
		add(m.key(msg))
	}
	add(m.next())
	if d := m.dialog(); d != nil && !m.armed(d) {
		add(tea.Tick(pause, func(time.Time) tea.Msg { return armed{} }))
	}
	add(m.flush())
	if m.left && len(m.lines) == 0 && !m.printing {
		cmds = append(cmds, tea.Quit)
	}
	switch len(cmds) {
	case 0:
		return m, nil
	case 1:
		return m, cmds[0]
	}
	return m, tea.Batch(cmds...)
}

// pasted takes a pasted text. It never answers a question by its line ends.
func (m *model) pasted(text string) {
	m.touch()
	switch d := m.dialog(); {
	case m.search != nil:
		m.search.query += strings.Join(strings.Fields(text), " ")
		m.search.find(m.history, len(m.history.all))
	case d != nil && d.typing():
		d.editor.paste(text)
	default:
		m.keep(d)
		m.editor.paste(text)
	}
}

// touch notes that the person is typing.
func (m *model) touch() {
	m.typed, m.leaving, m.hint = time.Now(), false, ""
}

// key carries a key out.
func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	if name == "ctrl+c" {
		return m.ctrlC()
	}
	if name == "ctrl+z" {
		return tea.Suspend
	}
	if d := m.dialog(); d != nil {
		return m.dialogKey(d, k)
	}
	if m.search != nil && m.searchKey(k) {
		return nil
	}
	if name == "tab" || name == "shift+tab" {
		m.complete(name == "tab")
		return nil
	}
	if m.menu != nil && name == "esc" {
		m.menu = nil
		return nil
	}
	m.menu = nil
	m.touch()
	switch name {
	case "enter":
		return m.enter()
	case "alt+enter", "shift+enter", "ctrl+j":
		m.editor.insert("\n")
	case "ctrl+d":
		if m.editor.empty() {
			return m.leave()
		}
		m.editor.edit(name)
	case "ctrl+l":
		m.lines = nil
		return clearScreen()
	case "ctrl+r":
		m.search = &search{at: len(m.history.all), before: m.editor.text()}
	case "up", "ctrl+p":
		if !m.editor.step(m.method, m.columns(), promptWidth, -1) {
			m.older()
		}
	case "down", "ctrl+n":
		if !m.editor.step(m.method, m.columns(), promptWidth, 1) {
			m.newer()
		}
	default:
		if !m.editor.edit(name) && k.Text != "" {
			m.editor.insert(k.Text)
		}
	}
	return nil
}

// ctrlC cancels what is going on, empties the editor, or leaves.
func (m *model) ctrlC() tea.Cmd {
	m.menu = nil
	switch {
	case m.search != nil:
		m.editor.set(m.search.before)
		m.search = nil
	case m.job != nil && (!m.job.canceled || len(m.queue) > 0):
		m.interrupt()
	case !m.editor.empty():
		m.editor.set("")
	case m.leaving:
		return m.leave()
	default:
		m.leaving, m.hint = true, "Ctrl-C again, or Ctrl-D, leaves."
	}
	return nil
}

// leave ends the conversation, and the job that runs.
func (m *model) leave() tea.Cmd {
	if m.job != nil {
		m.job.canceled = true
		m.job.cancel()
	}
	m.left, m.queue, m.dialogs = true, nil, nil
	return nil
}

// enter sends what is in the editor, or puts it behind what is being answered. Behind
// a backslash it begins another line.
func (m *model) enter() tea.Cmd {
	if e := &m.editor; e.at == len(e.cells) && e.at > 0 && e.cells[e.at-1].text == `\` {
		e.remove(e.at-1, e.at, false)
		e.insert("\n")
		return nil
	}
	text := m.editor.text()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	m.history.add(text)
	m.editor.set("")
	m.typed = time.Time{}
	if m.job != nil || m.dialog() != nil {
		typed := strings.TrimSpace(text)
		if slices.Contains(leaves, typed) {
			return m.leave()
		}
		if m.now(typed) {
			return nil
		}
		m.queue = append(m.queue, text)
		return nil
	}
	return m.submit(text)
}

// older and newer go through the history.
func (m *model) older() {
	if text, ok := m.history.older(m.editor.text()); ok {
		m.editor.set(text)
	}
}

func (m *model) newer() {
	if text, ok := m.history.newer(); ok {
		m.editor.set(text)
	}
}
