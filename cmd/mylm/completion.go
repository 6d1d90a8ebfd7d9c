package main

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"mylm/agent/journal"
	"mylm/cmd/mylm/internal/cmdline"
	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/prompts"

	"github.com/urfave/cli/v2"
)

// The scripts that shells load. Each asks the command completeName.
var (
	//go:embed completion/mylm.bash
	bashScript string
	//go:embed completion/mylm.zsh
	zshScript string
	//go:embed completion/mylm.fish
	fishScript string
	//go:embed completion/mylm.ps1
	powershellScript string
)

// shells are those that can complete.
var shells = []string{"bash", "zsh", "fish", "powershell"}

func completionCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		ArgsUsage: "SHELL",
		Description: `SHELL is bash, zsh, fish or powershell. To complete commands, flags, models, sessions and
profiles with the Tab key:

   source <(mylm completion bash)                               # in ~/.bashrc
   source <(mylm completion zsh)                                # in ~/.zshrc, behind compinit
   mylm completion fish | source                                # in ~/.config/fish/config.fish
   mylm completion powershell | Out-String | Invoke-Expression  # in $PROFILE`,
		Action: func(c *cli.Context) error {
			name := c.Args().First()
			switch name {
			case "bash":
				s.Answer(bashScript)
			case "zsh":
				s.Answer(zshScript)
			case "fish":
				s.Answer(fishScript)
			case "powershell":
				s.Answer(powershellScript)
			case "":
				return failure.Usage("completion needs a shell: %s", term.Alternatives(shells)).WithHint("source <(mylm completion bash)")
			default:
				return failure.Usage("there is no script for %q; there are: %s", term.Echoed(name), strings.Join(shells, ", ")).
					WithHint(strings.TrimSpace(failure.Suggest(name, shells)))
			}
			return nil
		},
	}
}

// completeName is the command by which the scripts of the shells ask what a word
// can become:
//
//	mylm __complete =WORD BEFORE...
//
// BEFORE are the words before it, without the program. Each line of the output is
// a candidate, and behind a tab what it is about. The last line is ":files" or
// ":dirs" where names of files or directories fit as well. Errors are silent: a
// shell has no place for them.
const completeName = "__complete"

// completePatience is how long Tab may take.
const completePatience = time.Second

func completeCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Name: completeName, ArgsUsage: cmdline.Verbatim,
		Action: func(c *cli.Context) error {
			ctx, cancel := context.WithTimeout(c.Context, completePatience)
			defer cancel()
			word, before := strings.TrimPrefix(c.Args().First(), "="), append([]string{"mylm"}, c.Args().Tail()...)
			quiet := term.NewScreen(term.Streams{In: s.In, Out: s.Out, Err: s.Err})
			quiet.Still = true
			slot := cmdline.Complete(ctx, newApp(quiet, before), before, word)
			var text strings.Builder
			all, files := candidates(ctx, slot)
			for _, one := range all {
				if !strings.HasPrefix(one.Value, slot.Typed) || one.Value != term.Printable(one.Value) || strings.ContainsAny(one.Value, " \t\n") {
					continue
				}
				text.WriteString(slot.Prefix + one.Value)
				if one.About != "" {
					text.WriteString("\t" + term.OneLine(term.Printable(one.About), 80))
				}
				text.WriteString("\n")
			}
			_, err := io.WriteString(s.Out, text.String()+files)
			return err
		},
	}
}

// Kinds of files that fit.
const (
	anyFiles = ":files\n"
	onlyDirs = ":dirs\n"
)

// candidates are what the word of a slot can become.
func candidates(ctx context.Context, slot cmdline.Slot) (all []cmdline.Candidate, files string) {
	if slot.Flag != nil {
		return flagValues(ctx, slot)
	}
	if all = slot.Names(); len(all) > 0 && (slot.Command.Action == nil || strings.HasPrefix(slot.Typed, "-")) {
		return all, ""
	}
	path := strings.TrimPrefix(slot.Command.HelpName, "mylm")
	first := slot.NArg() == 0
	switch path = strings.TrimSpace(path); {
	case path == "":
		return all, ""
	case path == "help":
		of := newApp(term.NewScreen(term.Streams{}), append([]string{"mylm"}, slot.Args().Slice()...))
		for _, name := range slot.Args().Slice() {
			if of = cmdline.Find(of, name); of == nil {
				return nil, ""
			}
		}
		for _, sub := range of.Subcommands {
			all = append(all, cmdline.Candidate{Value: sub.Name, About: sub.Usage})
		}
	case path == "completion" && first:
		all = named(shells...)
	case path == "prompts show" && first, path == "prompts eject" && first:
		all = named(prompts.Names()...)
	case path == "agent workflow" && first:
		all = append(named("list", "show"), workflowNames(ctx, slot.Context)...)
	case path == "agent workflow" && slot.NArg() == 1 && slot.Args().First() == "show":
		all = workflowNames(ctx, slot.Context)
	case path == "resume" && first, path == "replay" && first, strings.HasPrefix(path, "sessions ") && (first || path == "sessions rm"):
		if strings.Contains(slot.Command.ArgsUsage, "ID") {
			all = sessionNames(ctx)
		}
		if strings.Contains(slot.Command.ArgsUsage, "FILE") {
			files = anyFiles
		}
	case path == "ask", path == "sandbox", path == "parse", strings.HasPrefix(path, "agent "), strings.Contains(slot.Command.ArgsUsage, "FILE"):
		files = anyFiles
	}
	return all, files
}

// flagValues are what the value of a flag can be.
func flagValues(ctx context.Context, slot cmdline.Slot) (all []cmdline.Candidate, files string) {
	if words, ok := slot.Flag.(cmdline.Worded); ok && words.Words() != nil {
		return named(words.Words()...), ""
	}
	switch name := slot.Flag.Names()[0]; name {
	case "model":
		return modelNames(ctx, slot.Context), ""
	case "embedder":
		return append(named("auto", "none"), modelNames(ctx, slot.Context)...), ""
	case "profile":
		names, _ := config.Profiles(ctx) // none, if the file cannot be read
		return named(names...), ""
	case "workflow":
		return workflowNames(ctx, slot.Context), ""
	case "provider":
		return append(named(config.ProviderNames()...), entryNames(ctx, slot.Context)...), ""
	case "session":
		return sessionNames(ctx), ""
	case "tools":
		if registry, err := inspectTools(); err == nil {
			before := slot.Typed[:strings.LastIndex(slot.Typed, ",")+1]
			for _, t := range registry.Tools() {
				all = append(all, cmdline.Candidate{Value: before + t.Name, About: t.Description})
			}
		}
		return all, ""
	}
	switch cmdline.ValueName(slot.Flag) {
	case "PATH", "FILE":
		files = anyFiles
	case "DIRECTORY", "DIR":
		files = onlyDirs
	}
	return nil, files
}

// named are candidates that say themselves what they are.
func named(names ...string) (all []cmdline.Candidate) {
	for _, name := range names {
		all = append(all, cmdline.Candidate{Value: name})
	}
	return all
}

// entryNames are the models of the configuration.
func entryNames(ctx context.Context, c *cli.Context) (all []cmdline.Candidate) {
	loaded, err := config.Load(ctx, config.Source{Flags: c.Command.Flags})
	if err != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(loaded.Models)) {
		e := loaded.Models[name]
		all = append(all, cmdline.Candidate{Value: name, About: e.Provider + "/" + e.Model})
	}
	return all
}

// modelNames are the models of Ollama, of the configuration, and the demo.
func modelNames(ctx context.Context, c *cli.Context) []cmdline.Candidate {
	all := append(entryNames(ctx, c), cmdline.Candidate{Value: "demo", About: "built-in rules, no language model"})
	loaded, err := config.Load(ctx, config.Source{Flags: c.Command.Flags})
	if err != nil {
		return all
	}
	client, err := setup.OllamaClient(loaded.Settings)
	if err != nil {
		return all
	}
	defer client.Close()
	names, err := client.Names(ctx)
	if err != nil {
		return all
	}
	return append(named(names...), all...)
}

func workflowNames(ctx context.Context, c *cli.Context) (all []cmdline.Candidate) {
	there, err := term.Wait(ctx, func() (workflows, error) { return allWorkflows(c, "") })
	if err != nil {
		return nil
	}
	for _, w := range there.all {
		about := ""
		if w.bad == nil {
			about = w.Description
		}
		all = append(all, cmdline.Candidate{Value: w.Name, About: about})
	}
	return all
}

// mostSessions is how many sessions are offered: the last ones.
const mostSessions = 30

// sessionNames are the last sessions of this project.
func sessionNames(ctx context.Context) []cmdline.Candidate {
	all := []cmdline.Candidate{{Value: "last", About: "the last session of this project"}}
	store, err := setup.Sessions()
	if err != nil {
		return all
	}
	_, project, err := config.Where(nil)
	if err != nil {
		return all
	}
	found, err := term.Wait(ctx, func() ([]journal.Info, error) {
		return store.List(ctx, journal.Filter{Labels: map[string]string{"project": project}, Limit: mostSessions})
	})
	if err != nil {
		return all
	}
	for _, i := range found {
		all = append(all, cmdline.Candidate{Value: i.ID, About: fmt.Sprintf("%s  %s", i.Changed.Local().Format("2006-01-02 15:04"), cmp.Or(i.Problem, titleOf(i)))})
	}
	return all
}
