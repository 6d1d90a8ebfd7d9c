package setup

import (
	"errors"
	"slices"

	"mylm/agent"
	"mylm/cmd/mylm/internal/config"
	"mylm/tools"
	"mylm/tools/ask"
	"mylm/tools/files"
	"mylm/tools/files/undo"
	"mylm/tools/sandbox"
	"mylm/tools/shell"
	"mylm/tools/web"
)

// toolbox is what the tools of a run are made of.
type toolbox struct {
	c        *config.Config
	box      *sandbox.Policy // nil: none of the tools is run
	memory   *Memory
	notify   Notify
	session  *agent.Session
	journal  *undo.Journal // keeps what files were before they are written; nil: none is written
	question []*tools.Tool // asks a person, where there is one
}

// registry makes the tools, or those of them that are named.
func (b toolbox) registry(only []string) (*tools.Registry, error) {
	inFiles, err1 := fileTools(b.c.Workspace, b.journal)
	execute, err2 := shell.New(shell.Options{Dir: b.c.Workspace, Sandbox: b.box})
	fetch, err3 := web.New(web.Options{AllowHosts: config.AllowHosts.Of(b.c.Settings)})
	remembering, err4 := b.memory.tools(b.session)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	tellAbout(execute, b.c, b.box, b.notify)
	registry, err := tools.NewRegistry(slices.Concat(inFiles, []*tools.Tool{execute, fetch}, b.question, remembering)...)
	if err != nil || only == nil {
		return registry, err
	}
	if len(only) == 1 && only[0] == "none" {
		return tools.NewRegistry()
	}
	return registry.Only(only...)
}

// fileTools are the tools for the files of a workspace.
func fileTools(dir string, journal *undo.Journal) ([]*tools.Tool, error) {
	o := files.Options{Root: dir, Journal: journal}
	var all []*tools.Tool
	for _, make := range []func(files.Options) (*tools.Tool, error){
		files.ListDir, files.ReadFile, files.FindFiles, files.SearchFiles, files.WriteFile, files.EditFile,
	} {
		t, err := make(o)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// AllTools are the tools of mylm ask, to be looked at. None of them is run.
func AllTools(workspace string) (*tools.Registry, error) {
	question, err := ask.New((&Person{}).Answer)
	if err != nil {
		return nil, err
	}
	return toolbox{c: &config.Config{Workspace: workspace}, memory: &Memory{config: &config.Config{}, read: true}, session: agent.NewSession(), question: []*tools.Tool{question}}.registry(nil)
}
