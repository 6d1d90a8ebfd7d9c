package failure

import (
	"fmt"
	"strconv"
	"strings"

	"mylm/tools"
)

// Kinds of refusals, see package sandbox.
const (
	read    = "read"
	execute = "execute"
)

// Permits is what the user can do about what the sandbox refused a command: "use
// --allow-net." denied is whether the command lacks a yes too, since nobody was asked.
func Permits(refused []tools.Refusal, denied bool) string {
	var yes, network bool
	var reads, ways []string
	for _, r := range refused {
		switch path := strconv.Quote(r.What); {
		case r.Kind == read && r.What == "/proc":
			return "use --unasked never: you are asked about each command, and one that you allow sees the processes."
		case r.Effect == 0:
			return "use --sandbox off."
		case r.Effect == tools.Network:
			yes, network = denied, true
		case r.Kind == read, r.Kind == execute && !denied:
			reads = append(reads, path)
		default:
			yes = true
		}
	}
	switch {
	case network && yes:
		ways = append(ways, "--yes --allow-net")
	case network:
		ways = append(ways, "--allow-net")
	case yes:
		ways = append(ways, "--yes")
	}
	if len(reads) > 0 {
		ways = append(ways, fmt.Sprintf("reads = [%s] in [sandbox] of the configuration", strings.Join(reads[:min(3, len(reads))], ", ")))
	}
	return "use " + strings.Join(ways, " and ") + "."
}
