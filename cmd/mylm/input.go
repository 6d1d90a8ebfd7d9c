package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"mylm/cmd/mylm/internal/config"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
	"mylm/providers"
	"mylm/providers/calling"

	"github.com/urfave/cli/v2"
)

// attachment is text that goes to the model with the question.
type attachment struct {
	name string
	text string
}

// input is what the user asks.
type input struct {
	question    string
	attachments []attachment
	images      []providers.Image
}

// prompt writes the question and what goes with it as one message.
func (in input) prompt() string {
	var b strings.Builder
	b.WriteString(in.question)
	tag := in.tag()
	for _, a := range in.attachments {
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		name := term.OneLine(term.Printable(a.name), 200) + tag
		fmt.Fprintf(&b, "--- %s ---\n%s\n--- end of %s ---", name, strings.TrimRight(a.text, "\n"), name)
	}
	for _, i := range in.images {
		fmt.Fprintf(&b, "\n\n--- picture: %s ---", term.OneLine(term.Printable(i.Name), 200))
	}
	return b.String()
}

// remembered is the question as it is stored: of what went along, the name and
// the size.
func (in input) remembered() string {
	text := in.question
	for _, a := range in.attachments {
		text += fmt.Sprintf("\n(with %s, %s)", term.OneLine(term.Printable(a.name), 200), term.Plural(len(a.text), "byte"))
	}
	if len(in.images) > 0 {
		text += "\n(with " + strings.Join(in.pictureNames(), ")\n(with ") + ")"
	}
	return text
}

// tag goes into the lines around attachments when one of them holds such a line
// itself. It occurs in none of them, so that no text can end early.
func (in input) tag() string {
	var all strings.Builder
	for _, a := range in.attachments {
		all.WriteString(a.text)
		all.WriteByte('\n')
	}
	text := all.String()
	if !strings.Contains(text, "--- end of ") {
		return ""
	}
	// Derived from the text, so that the same question is the same prompt.
	for sum := sha256.Sum256([]byte(text)); ; sum = sha256.Sum256(sum[:]) {
		if tag := hex.EncodeToString(sum[:4]); !strings.Contains(text, tag) {
			return " " + tag
		}
	}
}

var errNoQuestion = errors.New("there is no question")

// readInput puts the question together from the arguments, stdin and --file.
func readInput(ctx context.Context, c *cli.Context, words []string, screen *term.Screen) (input, error) {
	var in input
	dash := false
	// In the middle it is a minus.
	if n := len(words); n > 0 && words[0] == "-" {
		dash, words = true, words[1:]
	} else if n > 0 && words[n-1] == "-" {
		dash, words = true, words[:n-1]
	}
	in.question = strings.TrimSpace(strings.Join(words, " "))
	for _, path := range c.StringSlice("file") {
		text, err := readNamed(ctx, "--file", path, screen)
		if err != nil {
			return in, err
		}
		if path == "-" {
			path = "stdin"
		}
		in.attachments = append(in.attachments, attachment{path, text})
	}
	if paths := c.StringSlice("image"); len(paths) > 0 {
		if err := in.readImages(ctx, paths, screen); err != nil {
			return in, err
		}
	}
	patience := time.Duration(0) // until its end
	if in.question != "" && !dash {
		patience = stdinPatience
	}
	if dash || !term.IsTerminal(screen.In) {
		piped, err := readStdin(ctx, screen.In, patience, screen)
		if err != nil {
			return in, err
		}
		if err := in.addStdin(piped); err != nil {
			return in, failure.Usage("stdin: %v", err)
		}
	}
	if in.question == "" && len(in.images) > 0 {
		return in, failure.Usage("%w about the picture", errNoQuestion).WithHint("Ask one: mylm ask --image FILE \"what does it show?\"")
	}
	if in.question == "" {
		return in, failure.Usage("%w", errNoQuestion).WithHint("Ask one: mylm ask \"what is in this directory?\"")
	}
	return in, nil
}

// addStdin takes what came on stdin: the question if there is none, or what goes
// with it.
func (in *input) addStdin(piped []byte) error {
	text := bytes.TrimSpace(piped)
	if len(text) == 0 {
		return nil
	}
	if image, err := newImage("stdin", piped); err != nil || image != nil || in.question != "" {
		if image != nil {
			text = piped
		}
		return cmp.Or(err, in.add("stdin", text))
	}
	var err error
	in.question, err = asText(text)
	return err
}

// replyRoom is reserved for the reply and for the output of tools.
const replyRoom = 1024

// usualWindow is what --clip assumes if neither the backend nor the
// configuration gives the window: the hosted models of today have more, and few
// servers at home are given less.
const usualWindow = 32768

// fit makes sure that what was piped in or attached goes into the model's
// window, and into a limit below it, beside the rest of the request. Too much is
// refused, or with clip cut where it is longest.
func (in *input) fit(ctx context.Context, m *setup.Model, request func(prompt string) (providers.Request, error), limit int, clip bool, screen *term.Screen) error {
	size, window, trained := len(in.prompt()), 0, 0
	if size >= 4096 { // less fits the smallest window there is, which is not asked about for nothing
		var err error
		if window, trained, err = m.Window(ctx, screen); err != nil {
			return err
		}
	}
	limited := limit > 0 && (window == 0 || limit < window)
	guessed := window == 0 && !limited
	if guessed && (size < 4096 || m.Local() || !clip) {
		return nil // the server knows, and says so
	}
	of := "its"
	room, tokens, share := cmp.Or(window, usualWindow), likelyTokens, 4
	if limited { // the instructions alone may take most of it, and the estimate is high
		room, tokens, share, of = limit, mostTokens, 16, "the allowed"
	}
	whole := room
	r, err := request("")
	if err != nil {
		return err
	}
	room -= min(replyRoom, room/share) + imageTokens*len(in.images)
	for _, msg := range r.Messages {
		room -= tokens(msg.Text)
	}
	fits := func(in input) bool { return tokens(in.prompt()) <= room }
	if fits(*in) {
		return nil
	}
	shorter, told := in.clipped(room, fits)
	if told == "" && limited {
		return nil // there is hardly room for the instructions: the agent says so
	}
	if told == "" || !clip {
		needed := (tokens(in.prompt()) + replyRoom + whole - room) * 9 / 8 // a larger window comes with longer instructions
		var ways []string
		if told != "" {
			ways = append(ways, "cut it visibly with --clip")
		}
		switch {
		case limited && (window == 0 || needed <= window):
			ways = append(ways, fmt.Sprintf("allow more with --max-context-tokens %d", needed))
		case limited:
			ways = append(ways, fmt.Sprintf("allow more with --max-context-tokens %d beside --clip", window))
		case m.Provider == config.Ollama && (trained == 0 || needed <= trained):
			ways = append(ways, fmt.Sprintf("give a larger window with --num-ctx %d", needed))
		case m.Provider != config.Ollama && !m.Local():
			ways = append(ways, "say in context of the model's entry what its window is, if it is larger")
		}
		ways = append(ways, "let the model read the file itself")
		if len(in.attachments) == 0 || in.attachments[0].name == "stdin" {
			ways[len(ways)-1] = "put it into a file here and let the model read that"
		}
		hint := strings.Join(ways, ", or ") + "."
		return (&failure.Error{Code: failure.ExitContextFull, Name: "context_full",
			Err: fmt.Errorf("the input is too long for %s: %s is about %d tokens, and there is room for about %d of %s %d",
				m.Name, term.Bytes(int64(size)), tokens(in.prompt()), max(0, room), of, whole)}).
			WithHint(strings.ToUpper(hint[:1]) + hint[1:])
	}
	if guessed {
		screen.Say(fmt.Sprintf("mylm: the context window of %s is unknown; assuming %d tokens. Set context in a [models.NAME] entry.", setup.ServerText(m.Name), whole))
	}
	screen.Say("mylm: " + told)
	*in = shorter
	return nil
}

// likelyTokens is a guess for English and code, where tokenizers take 3 to 4.5
// bytes for a token. It is no less than the agent's estimate, which ends the run.
func likelyTokens(text string) int {
	return max(int(float64(len(text))/3.5), calling.Estimate(text))
}

// mostTokens is what hardly a text takes more tokens than, also if it is all
// figures and signs: as cautious as the agent is where a person has set a limit.
func mostTokens(text string) int {
	hundredths := 0
	for _, b := range []byte(text) {
		switch {
		case b >= 'a' && b <= 'z', b == ' ':
			hundredths += 30
		case b >= utf8.RuneSelf:
			hundredths += 40
		default:
			hundredths += 70
		}
	}
	return hundredths / 100
}

// clipped is the input with so much taken out of its longest part that it fits
// into room tokens, and a message about that; "" if that is not enough.
func (in input) clipped(room int, fits func(input) bool) (shorter input, told string) {
	shorter = input{in.question, slices.Clone(in.attachments), in.images}
	longest, name := &shorter.question, "the question"
	for i := range shorter.attachments {
		if a := &shorter.attachments[i]; len(a.text) > len(*longest) {
			longest, name = &a.text, a.name
		}
	}
	text := *longest
	keep := func(n int) (cut string) {
		head, tail := text[:n*2/3], text[len(text)-n/3:]
		cut = text[len(head) : len(text)-len(tail)]
		*longest = fmt.Sprintf("%s\n[... %s omitted here ...]\n%s", strings.ToValidUTF8(head, ""), term.Bytes(int64(len(cut))), strings.ToValidUTF8(tail, ""))
		return cut
	}
	const least = 200 // bytes that are worth showing
	n := sort.Search(min(len(text), max(0, 4*room)), func(n int) bool {
		keep(n)
		return !fits(shorter)
	}) - 1
	if n < least {
		return in, ""
	}
	cut := keep(n)
	return shorter, fmt.Sprintf("%s is too long: %s (%s) were cut out of its middle", name, term.Plural(len(cut), "byte"), term.Plural(strings.Count(cut, "\n"), "line"))
}
