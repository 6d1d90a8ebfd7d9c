package sink

import (
	"fmt"
	"strings"

	"mylm/cmd/mylm/internal/term"
)

// endingLines is how much of the output of a failed command is shown: its last
// lines usually say why.
const endingLines = 5

// ending is the end of a command's output, indented.
func ending(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	more := len(lines) - endingLines
	if more > 1 {
		lines = append([]string{fmt.Sprintf("… %d lines before", more)}, lines[more:]...)
	}
	for i, l := range lines {
		lines[i] = "    " + term.Shorten(strings.TrimRight(l, "\r"), 200)
	}
	return strings.Join(lines, "\n")
}
