package chat

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
)

// own are the commands of the conversation itself.
var own = []Command{
	{Name: "help", Usage: "list the commands and keys"},
	{Name: "edit", Usage: "write the message in your editor"},
	{Name: "retry", Usage: "send the last message again"},
	{Name: "quit", Usage: "leave; mylm chat --continue goes on"},
}

// leaves are the words that leave, in other conversations also; a model has no use for
// any of them.
var leaves = []string{"/quit", "/exit", "/bye", "/q", "exit", "quit", ":q"}

// elsewhere are the names that other conversations have for our commands.
var elsewhere = map[string]string{
	"new": "clear", "reset": "clear", "status": "stats", "cost": "stats", "usage": "stats", "export": "save", "editor": "edit", "compress": "compact", "summarize": "compact",
	"search": "memory", "history": "sessions", "regenerate": "retry", "redo": "retry", "models": "model", "continue": "resume", "load": "resume", "permissions": "yolo", "approvals": "yolo", "prompt": "system", "commands": "help",
}

// commands are all of them.
func (m *model) commands() []Command {
	all := append([]Command(nil), own[:3]...)
	return append(append(all, m.chat.o.Commands...), own[3])
}

// submit carries out what was typed: a command, a line for the shell, or a message.
func (m *model) submit(text string) tea.Cmd {
	typed := strings.TrimSpace(text)
	m.echo(text)
	switch {
	case slices.Contains(leaves, typed):
		return m.leave()
	case strings.HasPrefix(typed, "/") && !strings.Contains(strings.Fields(typed)[0][1:], "/"):
		return m.command(typed)
	case strings.HasPrefix(typed, "!") && m.chat.o.Shell != nil:
		line := strings.TrimSpace(typed[1:])
		if line == "" {
			return nil
		}
		return m.lend(func() (string, error) { return "", m.chat.o.Shell(m.ctx, line) })
	}
	m.last = text
	m.ask(text)
	return nil
}

// now carries out what need not wait for the reply that is coming, and reports
// whether it did.
func (m *model) now(typed string) bool {
	name, args, _ := strings.Cut(typed, " ")
	args = strings.TrimSpace(args)
	if name == "/help" {
		m.echo(typed)
		m.help(args)
		return true
	}
	for _, c := range m.chat.o.Commands {
		if "/"+c.Name == name && c.Now != nil && c.Now(args) {
			m.echo(typed)
			m.chat.jobs.Go(func() {
				defer m.chat.recover()
				m.chat.report(c.Run(m.ctx, args))
			})
			return true
		}
	}
	return false
}

// echo shows what was sent.
func (m *model) echo(text string) {
	e := editor{blocks: m.editor.blocks}
	e.set(text)
	m.say("", "")
	for i, line := range strings.Split(strings.TrimSpace(term.Printable(e.shown())), "\n") {
		lead := prompt
		if i > 0 {
			lead = "  "
		}
		m.say(bold, lead+line)
	}
}

// command carries a slash command out.
func (m *model) command(typed string) tea.Cmd {
	name, args, _ := strings.Cut(typed[1:], " ")
	args = strings.TrimSpace(args)
	switch name {
	case "help":
		m.help(args)
		return nil
	case "retry":
		if m.last == "" {
			m.say("", "There is no message to send again.")
			return nil
		}
		m.echo(m.last)
		m.ask(m.last)
		return nil
	case "edit":
		if m.chat.o.Edit == nil {
			break
		}
		return m.lend(func() (string, error) { return m.chat.o.Edit(m.ctx, args) })
	}
	for _, c := range m.commands() {
		if c.Name == name && c.Run != nil {
			m.start(func(ctx context.Context) error { return c.Run(ctx, args) })
			return nil
		}
	}
	if m.chat.o.Further != nil {
		if run := m.chat.o.Further(name, args); run != nil {
			m.start(run)
			return nil
		}
	}
	m.say("", m.unknown(name))
	return nil
}

// unknown says that there is no such command.
func (m *model) unknown(name string) string {
	var names []string
	for _, c := range m.commands() {
		names = append(names, c.Name)
	}
	text := "There is no command /" + term.Echoed(term.Printable(name))
	if near := cmp.Or(elsewhere[name], failure.Near(name, names)); near != "" {
		return text + ". Did you mean /" + near + "?"
	}
	return text + "; /help lists them."
}

// helpWidth is how many columns names take in the help. Where the rest is narrow, what
// they mean is below them.
const helpWidth = 24

// helpLine shows a name and what it means.
func (m *model) helpLine(name, usage string) {
	lead, indent := fmt.Sprintf("  %-*s", helpWidth-2, name)+" ", helpWidth+1
	if m.columns() < 3*helpWidth {
		m.say("", "  "+name)
		lead, indent = "      ", 6
	}
	for i, row := range strings.Split(wrapWords(usage, max(10, m.columns()-indent)), "\n") {
		if i > 0 {
			lead = strings.Repeat(" ", indent)
		}
		m.say("", lead+row)
	}
}

func (m *model) commandLine(c Command) {
	m.helpLine(strings.TrimSpace("/"+c.Name+" "+c.Args), c.Usage)
}

// help lists commands and keys, or one command.
func (m *model) help(name string) {
	if name = strings.TrimPrefix(name, "/"); name != "" {
		for _, c := range m.commands() {
			if c.Name == name {
				m.commandLine(c)
				return
			}
		}
		m.say("", m.unknown(name))
		return
	}
	for _, c := range m.commands() {
		m.commandLine(c)
	}
	for _, row := range [][2]string{
		{"!LINE", "run a line in your shell, outside the sandbox; the model does not see it"},
		{"@PATH, @SERVER:URI", "put a file, or a resource of an MCP server, along with the message"},
		{"/SERVER:PROMPT", "send a prompt of an MCP server, with NAME=VALUE or one text"},
		{"Alt-Enter, \\ Enter", "begin another line"},
		{"Up, Ctrl-R", "earlier messages; search in them"},
		{"Tab", "complete a command, its argument or a path behind @"},
		{"Ctrl-C", "cancel the reply and keep what came of it; empty the line; twice on an empty line leaves"},
		{"Ctrl-D, Ctrl-L", "leave; clear the screen"},
	} {
		m.helpLine(row[0], row[1])
	}
}

// returned is the message that the terminal is ours again.
type returned struct {
	text string
	err  error
}

// lent is work that has the terminal to itself.
type lent struct {
	work func() (string, error)
	text string
}

// lend gives the terminal to a program of the person's.
func (m *model) lend(work func() (string, error)) tea.Cmd {
	m.away = true
	l := &lent{work: work}
	m.chat.out.end()
	run := tea.Exec(l, func(err error) tea.Msg { return returned{l.text, err} })
	if len(m.lines) == 0 {
		return run
	}
	text := strings.Join(m.lines, "\n") + "\n"
	m.lines = nil
	l.work = func() (string, error) {
		_, _ = os.Stdout.WriteString(text)
		return work()
	}
	return run
}

// back takes the terminal back.
func (m *model) back(r returned) tea.Cmd {
	m.away = false
	if r.err != nil {
		m.say("", term.Printable("mylm: "+r.err.Error()))
	}
	if r.text != "" {
		m.editor.set(strings.TrimRight(r.text, "\n"))
	}
	return nil
}

// settle is longer than a goroutine of the library takes to stop its ticker once the
// terminal was given away. If it stopped it after the terminal was taken back, which
// a short program makes possible, nothing would be drawn any more (stopRenderer in
// bubbletea 2.1.1).
const settle = 50 * time.Millisecond

// Run implements tea.ExecCommand.
func (l *lent) Run() (err error) {
	time.Sleep(settle)
	l.text, err = l.work()
	return err
}

// SetStdin, SetStdout and SetStderr implement tea.ExecCommand: the work knows its
// streams.
func (*lent) SetStdin(io.Reader)  {}
func (*lent) SetStdout(io.Writer) {}
func (*lent) SetStderr(io.Writer) {}
