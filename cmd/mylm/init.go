package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/tools/files"

	"github.com/urfave/cli/v2"
)

func initCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Description: "AGENTS.md holds what an agent should know about a project. A first one is made from\n" +
			"the README, the build files and the directories; it is shown before it is written.",
		Flags: append(config.Flags(config.Workspace), &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "write without asking"}),
		Action: func(c *cli.Context) error {
			_, project, err := config.Where(c.Command.Flags)
			if err != nil {
				return err
			}
			notes, err := projectNotes(c.Context, project)
			if err != nil {
				return err
			}
			w := projectWriter{c.Context, s, project, c.Bool("yes")}
			if err := w.propose("AGENTS.md", "tells models about this project", notes); err != nil {
				return err
			}
			return w.propose(config.ProjectFile, "holds settings of this project, none of them in force yet", config.ProjectTemplate())
		},
	}
}

// projectWriter writes files into a project with the user's consent.
type projectWriter struct {
	ctx     context.Context
	screen  *term.Screen
	project string
	yes     bool // nothing is asked
}

// propose writes a file that does something unless one exists or the user says no.
func (w projectWriter) propose(name, does, text string) error {
	path := filepath.Join(w.project, name)
	shown := term.Visible(path)
	if _, err := os.Lstat(path); err == nil {
		w.screen.Say(shown + " already exists")
		return nil
	}
	if !w.yes {
		said, err := (&term.Prompter{Screen: w.screen}).Consent(w.ctx, term.Proposal{Head: "\n" + w.screen.Folded(shown+" "+does+":", 0) + "\n\n", Text: text, What: "write " + name, Whole: true})
		var no term.Nobody
		switch {
		case errors.As(err, &no):
			return failure.Usage("%s was not written: %s", shown, lowerFirst(string(no))).WithHint("Without a question: mylm init --yes")
		case err != nil:
			return err
		case said == term.AnswerNo:
			return nil
		}
	}
	if err := config.CreateFile(path, text); err != nil {
		return fmt.Errorf("%s was not written: %w", shown, err)
	}
	w.screen.Say("wrote " + shown)
	return nil
}

// projectNotes are first notes about a project, from what its directory holds.
func projectNotes(ctx context.Context, dir string) (string, error) {
	var b strings.Builder
	readme := beginning(dir, "README.md")
	title, ok := strings.CutPrefix(strings.TrimSpace(readme), "# ")
	if title, _, _ = strings.Cut(title, "\n"); !ok {
		title = filepath.Base(dir)
	}
	fmt.Fprintf(&b, "# %s\n", term.Visible(term.OneLine(title, 100)))
	if about := firstParagraph(readme); about != "" {
		fmt.Fprintf(&b, "\n%s\n", about)
	}
	if commands := buildCommands(dir); commands != nil {
		fmt.Fprintf(&b, "\n## Commands\n\n- `%s`\n", strings.Join(commands, "`\n- `"))
	}
	tree, _, err := files.Tree(ctx, files.Options{Root: dir, MaxEntries: 200, MaxBytes: 16 << 10})
	if err != nil {
		return "", err
	}
	var dirs []string
	for line := range strings.Lines(tree) {
		if name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "  "); ok && strings.HasSuffix(name, "/") && name[0] != ' ' && name[0] != '.' {
			dirs = append(dirs, name)
		}
	}
	if dirs != nil {
		fmt.Fprintf(&b, "\n## Layout\n\n- `%s`\n", strings.Join(dirs, "`\n- `"))
	}
	b.WriteString("\n## Conventions\n\n<!-- What a newcomer could not guess: style, what to leave alone, how to check a change. -->\n")
	return b.String(), nil
}

// beginning is that of a file of a project, "" if it cannot be read.
func beginning(dir, name string) string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return ""
	}
	text, _ := root.ReadFile(name)
	return strings.ToValidUTF8(string(text), "")
}

// firstParagraph is the first one of prose in a Markdown document.
func firstParagraph(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		prose := line != "" && !strings.ContainsRune("#<![|>`-*=", rune(line[0]))
		if !prose && lines != nil {
			break
		}
		if prose {
			lines = append(lines, term.Visible(line))
		}
	}
	return term.OneLine(strings.Join(lines, " "), 600)
}

// buildCommands are the commands that the build files of a project offer.
func buildCommands(dir string) (commands []string) {
	for _, known := range []struct {
		file     string
		commands []string
	}{
		{"go.mod", []string{"go build ./...", "go test ./..."}},
		{"Cargo.toml", []string{"cargo build", "cargo test"}},
		{"pom.xml", []string{"mvn verify"}},
		{"build.gradle", []string{"./gradlew build"}},
		{"build.gradle.kts", []string{"./gradlew build"}},
		{"CMakeLists.txt", []string{"cmake -B build && cmake --build build"}},
	} {
		if _, err := os.Stat(filepath.Join(dir, known.file)); err == nil {
			commands = append(commands, known.commands...)
		}
	}
	if strings.Contains(beginning(dir, "pyproject.toml"), "pytest") {
		commands = append(commands, "python -m pytest")
	}
	var node struct{ Scripts map[string]string }
	_ = json.Unmarshal([]byte(beginning(dir, "package.json")), &node)
	for _, name := range []string{"build", "test", "lint"} {
		if node.Scripts[name] != "" {
			commands = append(commands, "npm run "+name)
		}
	}
	made := bufio.NewScanner(strings.NewReader(beginning(dir, "Makefile")))
	for made.Scan() {
		switch target, _, ok := strings.Cut(made.Text(), ":"); target {
		case "all", "build", "test", "check", "lint":
			if ok {
				commands = append(commands, "make "+target)
			}
		}
	}
	return commands
}
