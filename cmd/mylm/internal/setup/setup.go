package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"mylm/agent"
	"mylm/agent/remember"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/prompts"
	"mylm/protocol"
	"mylm/providers/ollama"
	"mylm/tools"
	"mylm/tools/files"
	"mylm/tools/files/undo"
	"mylm/tools/mcp"
	"mylm/tools/policy"
	"mylm/tools/sandbox"
)

// Notify gets what the user should know. A term.Screen is one.
type Notify interface {
	Say(text string)                 // whole lines
	Dim(text string)                 // whole lines, of less weight
	Busy(label string) (done func()) // shown while something takes long
}

// Request is the input of a setup.
type Request struct {
	Config  *config.Config
	Session *agent.Session
	Person  *Person
	Notify  Notify
	Asks    bool         // the model is going to be asked
	Editor  files.Editor // has files of the workspace open; nil: none

	Recorder *Recorder // of the resumed session; nil: a new session
	Servers  *Servers  // of the conversation; nil: the run has its own
	Before   *Setup    // of the run before in the same conversation: its model, and what a person has allowed; may be nil

	// Of a workflow: it can take tools away, and ask for more questions.
	Workflow string   // its name; "" is none
	Tools    []string // nil: all
	Confirm  string   // "": as it is set
}

// Setup holds what a run needs.
type Setup struct {
	Request
	Options agent.Options // without a model until OpenModel
	Model   *Model        // may be nil until OpenModel
	Guard   *Guard
	Memory  *Memory
	Notes   []string // paths of the AGENTS.md files that the model is shown

	journal    *undo.Journal
	ownServers bool // end with the run
}

// New makes the setup of a run, without a model if none is named. It has to be
// closed.
func New(ctx context.Context, r Request) (made *Setup, err error) {
	if err := r.Config.ApplyProject(ctx); err != nil {
		return nil, err
	}
	c := r.Config
	s := &Setup{Request: r, Memory: NewMemory(c, r.Notify)}
	if b := r.Before; b != nil && b.Model != nil && b.Model.Name == config.ModelName.Of(c.Settings) {
		s.Model = b.Model
	} else if r.Asks && config.ModelName.Of(c.Settings) != "" {
		if err := s.chooseModel(ctx); err != nil {
			return nil, err
		}
		if m, ok := s.Model.Model.(*ollama.Model); ok {
			m.Prepare(ctx) // its server answers while the rest is made
		}
	}
	s.journal = UndoStore().Begin(realPath(c.Workspace), r.Session.ID)
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	box := SandboxPolicy(c)
	var hub *mcp.Hub
	if len(c.MCP) > 0 || len(c.ProjectMCP) > 0 || s.Servers != nil && len(s.Servers.Further) > 0 {
		if hub, err = s.servers(ctx); err != nil {
			return nil, err
		}
	}
	registry, err := s.tools(box, hub)
	if err != nil {
		return nil, err
	}
	if err := checkDeny(c, hub); err != nil {
		return nil, err
	}
	if err := s.compose(ctx, registry, s.Memory.remembering()); err != nil {
		return nil, err
	}
	if s.Guard, err = NewGuard(c, box, r.Confirm, r.Person); err != nil {
		return nil, err
	}
	if r.Before != nil && r.Before.Guard != nil {
		s.Guard.adopt(r.Before.Guard)
	}
	s.Options.Approve = s.Guard.Approve
	if s.Options.DryRun {
		s.Options.Hooks.BeforeToolCall = s.Guard.approveDryRun
	}
	return s, nil
}

// compose makes the options of the agent from the settings, with tools, and with what the
// system prompt says about the memory, the project and its files.
func (s *Setup) compose(ctx context.Context, registry *tools.Registry, m *remember.Memory) error {
	set, err := Prompts()
	if err != nil {
		return err
	}
	if err := set.Check(); err != nil {
		return failure.Config(err)
	}
	memory, err := m.Section(set, registry)
	if err != nil {
		return failure.Config(err)
	}
	tree, err := treeSection(ctx, set, s.Config)
	if err != nil {
		return err
	}
	project, err := s.projectSection(set)
	if err != nil {
		return err
	}
	s.Options = AgentOptions(s.Config.Settings)
	s.Options.Tools, s.Options.Prompts, s.Options.Sections = registry, set, slices.Concat(memory, project, tree)
	s.Options.Environment = environment(s.Config.Workspace)
	return nil
}

// Close ends what the setup has begun.
func (s *Setup) Close() {
	if s.ownServers {
		s.Servers.Close()
	}
	s.journal.End()
	s.Memory.Close()
}

// tools are those that the settings, the session and the workflow leave.
func (s *Setup) tools(box *sandbox.Policy, hub *mcp.Hub) (*tools.Registry, error) {
	c := s.Config
	names, named := config.Tools.Lookup(c.Settings)
	origin := config.Tools.From(c.Settings)
	ofSession := named && origin.Kind == config.Session
	only := names
	if !named || ofSession {
		only = nil
	}
	question, err := s.Person.tool(only)
	var registry *tools.Registry
	if err == nil {
		registry, err = toolbox{c: c, box: box, memory: s.Memory, notify: s.Notify, session: s.Session, journal: s.journal, editor: s.Editor, question: question, hub: hub}.registry(only)
	}
	if err != nil && named {
		return nil, toolsError(c, names, err)
	}
	if err != nil {
		return nil, err
	}
	if s.Request.Tools != nil {
		if registry, err = registry.Only(s.Request.Tools...); err != nil {
			return nil, failure.Usage("the workflow %s: %v", s.Workflow, err)
		}
	}
	if ofSession {
		return onlyOf(registry, names)
	}
	return registry, nil
}

func environment(workspace string) *prompts.Environment {
	shell := "sh"
	if runtime.GOOS == "windows" {
		shell = "cmd"
	}
	return &prompts.Environment{OS: runtime.GOOS, Shell: shell, Directory: workspace}
}

func (s *Setup) chooseModel(ctx context.Context) (err error) {
	s.Model, err = OpenModel(ctx, s.Config, s.Notify, &s.Person.Prompter)
	return err
}

// OpenModel opens the model that the settings name, or else a default, and begins
// to record the session.
func (s *Setup) OpenModel(ctx context.Context) error {
	if s.Model == nil {
		if err := s.chooseModel(ctx); err != nil {
			return err
		}
	}
	if err := s.suit(ctx); err != nil {
		return err
	}
	s.Options.Labels = map[string]string{"project": s.Config.Project, "dir": s.Config.Workspace, "model": s.Model.Name}
	if p := config.ProfileName.Of(s.Config.Settings); p != "" {
		s.Options.Labels["profile"] = p
	}
	if s.Memory.NoSave != "" {
		return nil
	}
	if s.Recorder == nil {
		s.Recorder = NewRecorder(s.Notify)
	}
	if s.Recorder != nil {
		s.Options.Recorder = s.Recorder
	}
	return nil
}

// stricter is the stricter of two modes, "" being the default.
func stricter(a, b string) (policy.Mode, error) {
	mode, err := policy.ParseMode(a)
	if err != nil || b == "" {
		return mode, err
	}
	return mode.Stricter(policy.Mode(b)), nil
}

// Bounds of the tree in the system prompt: about 1,000 tokens at most, an eighth
// of a window of 8,192, the smallest in common use.
const (
	treeEntries = 200
	treeBytes   = 4 << 10
)

// treeTime bounds the reading of directories: a sleeping disk wakes up in less.
const treeTime = 10 * time.Second

// treeSection is the part of the system prompt that shows what files there are,
// none unless it is wanted. It stays as it was at the beginning of a run, so that
// the prompt keeps its beginning.
func treeSection(ctx context.Context, set *prompts.Set, c *config.Config) ([]prompts.Section, error) {
	if !config.Tree.Of(c.Settings) {
		return nil, nil
	}
	limited, cancel := context.WithTimeout(ctx, treeTime)
	defer cancel()
	text, whole, err := files.Tree(limited, files.Options{Root: c.Workspace, MaxEntries: treeEntries, MaxBytes: treeBytes, Closed: config.OwnDirs()})
	if err != nil {
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return nil, err
		}
		err = fmt.Errorf("the tree of the workspace took longer than %v", treeTime)
		return nil, (&failure.Error{Code: failure.ExitError, Name: "internal", Err: err}).WithHint("Go without it: --tree=false")
	}
	text, err = set.Files(prompts.TreeData{Tree: protocol.Neutralise(text), Cut: !whole})
	if err != nil {
		return nil, failure.Config(err)
	}
	return []prompts.Section{{Title: "FILES", Text: text}}, nil
}

// agentsFile is where projects keep notes for agents (https://agents.md). The model
// is shown maxNotes bytes of them at most, about 2,000 tokens.
const (
	agentsFile = "AGENTS.md"
	maxNotes   = 8 << 10
)

// projectSection is the part of the system prompt with the notes of the project: of
// the workspace and of the directories above it in its repository, the nearest
// first. A link out of the project is not followed.
func (s *Setup) projectSection(set *prompts.Set) ([]prompts.Section, error) {
	c := s.Config
	if !config.Notes.Or(c.Settings, true) {
		return nil, nil
	}
	at, err := filepath.Rel(c.Project, realPath(c.Workspace))
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(c.Project)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var data prompts.ProjectData
	for left := maxNotes; ; at = filepath.Dir(at) {
		for _, path := range []string{filepath.Join(at, agentsFile), filepath.Join(at, ".mylm", agentsFile)} {
			text, size, err := readNotes(root, path, left)
			switch {
			case config.IsMissing(err):
				continue
			case err != nil:
				s.Notify.Say(fmt.Sprintf("mylm: the model is not shown %s: %s", term.OneLine(path, 200), term.OneLine(err.Error(), 200)))
				continue
			case len(text) < size:
				s.Notify.Dim(fmt.Sprintf("mylm: the model is shown the first %d of the %d bytes of %s", len(text), size, term.OneLine(path, 200)))
			}
			if strings.TrimSpace(text) == "" {
				continue
			}
			left -= len(text)
			s.Notes = append(s.Notes, path)
			data.Files = append(data.Files, prompts.ProjectFile{Path: protocol.Neutralise(term.OneLine(path, 200)), Text: indented(protocol.Neutralise(text)), Omitted: size - len(text)})
		}
		if at == "." {
			break
		}
	}
	if data.Files == nil {
		return nil, nil
	}
	text, err := set.Project(data)
	if err != nil {
		return nil, failure.Config(err)
	}
	return []prompts.Section{{Title: "PROJECT NOTES", Text: text}}, nil
}

// indented text forges no heading.
func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}

// readNotes returns the beginning of a file, most bytes of it at most and cut at
// the end of a line, and its size. A device or a pipe is not opened.
func readNotes(root *os.Root, path string, most int) (text string, size int, err error) {
	info, err := root.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		return "", 0, err
	}
	f, err := root.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	read, err := io.ReadAll(io.LimitReader(f, int64(most)))
	text, size = string(read), int(info.Size())
	if len(text) < size {
		text = text[:strings.LastIndexByte(text, '\n')+1]
	}
	return text, size, err
}
