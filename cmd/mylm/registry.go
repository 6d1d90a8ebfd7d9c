package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"mylm/agent"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools"
	"mylm/tools/ask"
	"mylm/tools/files"
	"mylm/tools/files/undo"
	"mylm/tools/sandbox"
	"mylm/tools/shell"
	"mylm/tools/web"

	"github.com/urfave/cli/v2"
)

// toolbox is what the tools of a run are made of.
type toolbox struct {
	settings settings
	memories *memories
	session  *agent.Session
	journal  *undo.Journal // keeps what files were before they are written; nil: none is written
	sandbox  *sandbox.Policy
	question []*tools.Tool // asks a person, where there is one
}

// registry makes the tools, or those of them that are named.
func (b toolbox) registry() (*tools.Registry, error) {
	only := b.settings.Tools
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("the working directory is gone: %w", err)
	}
	inFiles, err1 := fileTools(dir, b.journal)
	execute, err2 := shell.New(shell.Options{Dir: dir, Sandbox: b.sandbox, AlwaysRuns: !b.settings.Sandbox.possible()})
	fetch, err3 := web.New(web.Options{AllowHosts: b.settings.AllowHosts})
	remembering, err4 := b.memories.tools(b.session)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	tellAbout(execute, b.settings.Sandbox, b.sandbox, b.memories.screen)
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

// allTools are the tools of mylm ask, to be looked at. None of them is run.
func allTools() (*tools.Registry, error) {
	question, err := ask.New((&person{}).answer)
	if err != nil {
		return nil, err
	}
	return toolbox{memories: newMemories(nil), session: agent.NewSession(), question: []*tools.Tool{question}}.registry()
}

// wrongTools says where the list of tools that is wrong stands.
func wrongTools(c *cli.Context, err error) error {
	if !c.IsSet("tools") {
		return failure.Config(fmt.Errorf("tools in the configuration: %w", err)).WithHint("mylm config edit opens it")
	}
	source := "--tools"
	if slices.Equal(splitList(c.StringSlice("tools")), splitList([]string{os.Getenv("MYLM_TOOLS")})) {
		source = "MYLM_TOOLS"
	}
	msg := err.Error()
	for _, name := range splitList(c.StringSlice("tools")) {
		msg = strings.ReplaceAll(msg, name, term.Echoed(name))
	}
	return failure.Usage("%s: %s", source, msg)
}

func splitList(values []string) []string {
	out := []string{}
	for _, v := range values {
		for name := range strings.SplitSeq(v, ",") {
			if name = strings.TrimSpace(name); name != "" {
				out = append(out, name)
			}
		}
	}
	return out
}
