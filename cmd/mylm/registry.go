package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"mylm/agent"
	"mylm/tools"
	"mylm/tools/ask"
	"mylm/tools/files"
	"mylm/tools/shell"
	"mylm/tools/web"
)

// registryOf makes the tools of a run, or those of them that are named.
func registryOf(s settings, m *memories, session *agent.Session, question ...*tools.Tool) (*tools.Registry, error) {
	only := s.Tools
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("the working directory is gone: %w", err)
	}
	list, err1 := files.ListDir(files.Options{Root: dir})
	read, err2 := files.ReadFile(files.Options{Root: dir})
	execute, err3 := shell.New(shell.Options{Dir: dir})
	remembering, err4 := m.tools(session)
	fetch, err5 := web.New(web.Options{AllowHosts: s.AllowHosts})
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return nil, err
	}
	registry, err := tools.NewRegistry(slices.Concat([]*tools.Tool{list, read, execute, fetch}, question, remembering)...)
	if err != nil || only == nil {
		return registry, err
	}
	if len(only) == 1 && only[0] == "none" {
		return tools.NewRegistry()
	}
	return registry.Only(only...)
}

// allTools are the tools of mylm ask, to be looked at. None of them is run.
func allTools() (*tools.Registry, error) {
	question, err := ask.New((&person{}).answer)
	if err != nil {
		return nil, err
	}
	return registryOf(settings{}, newMemories(nil), agent.NewSession(), question)
}

// wrongTools says where the list of tools that is wrong stands.
func wrongTools(c *cli.Context, err error) error {
	if !c.IsSet("tools") {
		return configError(fmt.Errorf("tools in the configuration: %w", err)).withHint("mylm config edit opens it")
	}
	source := "--tools"
	if slices.Equal(splitList(c.StringSlice("tools")), splitList([]string{os.Getenv("MYLM_TOOLS")})) {
		source = "MYLM_TOOLS"
	}
	msg := err.Error()
	for _, name := range splitList(c.StringSlice("tools")) {
		msg = strings.ReplaceAll(msg, name, echoed(name))
	}
	return usageError("%s: %s", source, msg)
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
