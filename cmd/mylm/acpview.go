package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"mylm/agent"
	"mylm/agent/acp"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools/files"
	"mylm/tools/recall"
	"mylm/tools/shell"
	"mylm/tools/web"
)

// Describe implements acp.Conversation.
func (t *editorTalk) Describe(name string, args json.RawMessage, past bool) acp.View {
	var in struct {
		Path, Pattern, Command, URL, Query string
		Old, New, Content                  string
		StartLine                          int `json:"start_line"`
	}
	_ = json.Unmarshal(args, &in) // what is no text is not shown
	line := func(parts ...string) string {
		return term.OneLine(term.Visible(strings.TrimSpace(strings.Join(parts, " "))), 200)
	}
	place := in.Path
	if place == "" {
		place = "."
	}
	at := []acp.Location{{Path: t.absolute(place), Line: in.StartLine}}
	switch name {
	case files.ReadFileName:
		return acp.View{Title: line("Read", in.Path), Kind: acp.KindRead, Paths: at}
	case files.ListDirName:
		return acp.View{Title: line("List", place), Kind: acp.KindRead, Paths: at}
	case files.FindFilesName:
		return acp.View{Title: line("Find", in.Pattern), Kind: acp.KindSearch}
	case files.SearchFilesName:
		return acp.View{Title: line("Search", in.Pattern), Kind: acp.KindSearch, Paths: at}
	case files.WriteFileName:
		return acp.View{Title: line("Write", in.Path), Kind: acp.KindEdit, Paths: at, Diff: &acp.Diff{Path: at[0].Path, Old: t.old(in.Path, past), New: in.Content}}
	case files.EditFileName:
		return acp.View{Title: line("Edit", in.Path), Kind: acp.KindEdit, Paths: at, Diff: &acp.Diff{Path: at[0].Path, Old: &in.Old, New: in.New}}
	case shell.Name:
		return acp.View{Title: line(in.Command), Kind: acp.KindExecute}
	case web.Name:
		return acp.View{Title: line("Fetch", in.URL), Kind: acp.KindFetch}
	case recall.SearchMemoryName:
		return acp.View{Title: line("Search the memory:", in.Query), Kind: acp.KindSearch}
	case recall.ReadMemoryName:
		return acp.View{Title: "Read the memory", Kind: acp.KindRead}
	}
	return acp.View{Title: line(name), Kind: acp.KindOther}
}

// absolute is a path as the editor knows it.
func (t *editorTalk) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(t.dir, path)
}

// maxOld bounds the text that a diff shows as what was there.
const maxOld = 1 << 20

// old is the text of a file of the workspace before a call writes it; nil: there is
// none, or it is not known.
func (t *editorTalk) old(path string, past bool) *string {
	if past {
		return nil
	}
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	name, err := filepath.Rel(t.dir, t.absolute(path))
	if err != nil {
		return nil
	}
	info, err := root.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxOld {
		return nil
	}
	b, err := root.ReadFile(name)
	if err != nil || !utf8.Valid(b) {
		return nil
	}
	text := string(b)
	return &text
}

// The choices of a permission, as the terminal offers them.
const (
	choiceYes     = "allow"
	choiceExactly = "allow-exactly"
	choicePrefix  = "allow-prefix"
	choiceHost    = "allow-host"
	choiceNo      = "reject"
	choiceStop    = "stop"
)

// choices are the answers to a question about a call.
func choices(a setup.Approval) []acp.Choice {
	all := []acp.Choice{{ID: choiceYes, Name: "Allow", Allows: true}}
	if o := a.Offer; o != nil {
		all = append(all, acp.Choice{ID: choiceExactly, Name: "Allow exactly this in this session", Allows: true, Always: true})
		if o.Prefix != nil {
			all = append(all, acp.Choice{ID: choicePrefix, Name: "Always allow " + term.OneLine(term.Visible(strings.Join(o.Prefix, " ")), 60) + " … in this project", Allows: true, Always: true})
		}
		if o.Host != "" {
			all = append(all, acp.Choice{ID: choiceHost, Name: "Allow " + term.OneLine(term.Visible(o.Host), 60) + " in this session", Allows: true, Always: true})
		}
	}
	return append(all, acp.Choice{ID: choiceNo, Name: "Reject"}, acp.Choice{ID: choiceStop, Name: "Reject, and stop"})
}

// Approve implements setup.Dialog.
func (t *editorTalk) Approve(ctx context.Context, a setup.Approval) (setup.Answer, error) {
	turn, _ := t.taking()
	if turn == nil {
		return setup.Answer{}, nobody
	}
	q := acp.Question{Call: a.Call, Name: a.Name, Args: a.Args, Choices: choices(a), Why: "Needs your permission: " + term.OneLine(term.Visible(a.Why), 300)}
	if a.Refused != nil {
		q.Why += "\n\n" + setup.Ran(a.ApprovalRequest) + setup.RefusedHead(a.Refused) + "\n\n" + quoted(setup.Listed(a.Refused)) + "\n\n" + setup.Yes("Allowing it", a.Refused)
	}
	if t.Describe(a.Name, a.Args, false).Diff == nil {
		q.Why = quoted(a.Preview) + "\n\n" + q.Why
	}
	choice, err := turn.Ask(ctx, q)
	if err != nil {
		return setup.Answer{}, err
	}
	switch choice {
	case choiceNo:
		return setup.Answer{}, nil
	case choiceStop:
		return setup.Answer{Verdict: agent.Stop}, nil
	}
	store := map[string]setup.Rule{choiceExactly: setup.StoreCall, choicePrefix: setup.StorePrefix, choiceHost: setup.StoreHost}
	return setup.Answer{Verdict: agent.Allow, Store: store[choice]}, nil
}

// quoted is text of a model that cannot pass for words of mylm.
func quoted(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimRight(term.Visible(text), "\n") + "\n" + fence
}
