package sink

import (
	"encoding/json"
	"fmt"
	"strings"

	"mylm/cmd/mylm/internal/term"
	"mylm/tools/shell"
)

// commandLines is how much of a command is shown while it runs.
const commandLines = 5

// what is a call in a few words: the first line of a command, another tool by name.
func what(name string, args json.RawMessage) string {
	text, ok := strings.CutPrefix(callLine(name, args), "$ ")
	if !ok {
		text = name
	}
	return term.OneLine(strings.SplitN(text, "\n", 2)[0], 48)
}

// callLine is a call in a line or few: a command as in a shell, another tool by
// name.
func callLine(name string, args json.RawMessage) string {
	if name == shell.Name {
		var in struct{ Command string }
		if json.Unmarshal(args, &in) == nil && in.Command != "" {
			lines := strings.Split(strings.TrimSpace(in.Command), "\n")
			more := len(lines) - commandLines
			if more > 1 {
				lines = lines[:commandLines]
			}
			for i, l := range lines {
				lines[i] = term.Shorten(l, 200)
			}
			if more > 1 {
				lines = append(lines, fmt.Sprintf("… %d more lines", more))
			}
			return "$ " + strings.Join(lines, "\n  ")
		}
	}
	return "> " + term.OneLine(name, 60) + " " + term.OneLine(string(args), 200)
}
