package setup

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/providers"
	"mylm/providers/ollama"
)

// offered are models for a first question, by size. Names and sizes are those of the
// pages https://ollama.com/library/qwen3, llama3.2 and gemma3 in August 2025. They
// are there for their sizes: which of them works well, mylm eval tells.
var offered = []struct {
	name string
	size int64
}{
	{"qwen3:1.7b", 1_400e6},
	{"llama3.2:3b", 2_000e6},
	{"gemma3:4b", 3_300e6},
	{"qwen3:8b", 5_200e6},
	{"qwen3:14b", 9_300e6},
}

// besides is what a model takes besides its file: about 1.1 GB of cache, which is what
// package ollama gives a window, and what Ollama needs to compute.
const besides = 1_500e6

// library is where the names of all models are.
const library = "https://ollama.com/library"

// mayBeModel reports whether a text looks like the name of a model, which Ollama checks
// further; keys like the arrows leave other characters.
func mayBeModel(typed string) bool {
	other := func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._:/@-", r)
	}
	return len(typed) > 1 && strings.Trim(typed, "0123456789") != "" && !strings.ContainsFunc(typed, other) && !strings.Contains(typed, "..")
}

// offerDownload lets the person choose a model to download where none is installed.
func offerDownload(ctx context.Context, n Notify, client *ollama.Client, person *term.Prompter) (name, notice string, err error) {
	none := &failure.Error{Code: failure.ExitUnreachable, Name: string(providers.ModelMissing),
		Err:  fmt.Errorf("no model to talk to is installed at %s", client.Host()),
		Hint: "Get one:        ollama pull qwen3:8b\nWithout Ollama: mylm ask -m demo \"what files are here?\""}
	if person == nil || person.Absent() != "" {
		return "", "", none
	}
	for question := offer(client); ; question = fmt.Sprintf("A number from 1 to %d, the name of a model, or Enter for none: ", len(offered)) {
		typed, err := person.Ask(ctx, question)
		var nobody term.Nobody
		switch number, isNumber := strconv.Atoi(typed); {
		case errors.As(err, &nobody), err == nil && slices.Contains([]string{"", "n", "no", "none"}, strings.ToLower(typed)):
			return "", "", none
		case err != nil:
			return "", "", err
		case isNumber != nil && mayBeModel(typed):
			name = typed
		case number >= 1 && number <= len(offered):
			name = offered[number-1].name
		default:
			continue
		}
		if err := download(ctx, n, client, person.Screen, name); err != nil {
			return "", "", err
		}
		return name, "using " + ServerText(name), nil
	}
}

// offer is the question which model to download.
func offer(client *ollama.Client) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nNo model is installed at %s.\nWhich one shall Ollama download?\n\n", client.Host())
	free := int64(0)
	if OnThisMachine(client) {
		free = FreeMemory()
	}
	for i, m := range offered {
		fits := ""
		switch needs := m.size + besides; {
		case free > 0 && needs <= free:
			fits = "  fits"
		case free > 0:
			fits = "  takes about " + term.Bytes(needs) + " of memory"
		}
		fmt.Fprintf(&b, "  %2d  %-12s %s%s\n", i+1, m.name, term.Bytes(m.size), fits)
	}
	b.WriteString("\n")
	if free > 0 {
		fmt.Fprintf(&b, "%s of memory are free here.\n", term.Bytes(free))
	}
	fmt.Fprintf(&b, "More models: %s\nNumber, name, or Enter for none: ", library)
	return b.String()
}

// download has the server download a model, and shows how far that has come.
func download(ctx context.Context, n Notify, client *ollama.Client, screen *term.Screen, name string) error {
	bar, begun := screen.NewDownload(name), false
	err := client.Pull(ctx, name, func(p ollama.Progress) {
		bar.See(p.Status, p.Done, p.Total)
		begun = begun || p.Done > 0
	})
	bar.End()
	if err != nil && begun {
		n.Dim("Ollama keeps what it has of " + ServerText(name) + ", and continues there the next time: ollama pull " + ServerText(name))
	}
	return err
}

// OnThisMachine reports whether a server runs here.
func OnThisMachine(client *ollama.Client) bool {
	u, err := url.Parse(client.Host())
	return err == nil && config.Loopback(u.Hostname())
}
