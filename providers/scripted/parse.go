package scripted

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mylm/providers"
)

const (
	mark    = "==="
	escaped = `\` + mark
)

// Load reads the script in the file at path, in the format of the package
// documentation. A named pipe is read to its end, however long that takes.
func Load(path string) (*Model, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
			return nil, fmt.Errorf("the script %s is a directory; name a file in it", path)
		}
		return nil, fmt.Errorf("cannot read the script: %w", err)
	}
	m, err := Parse(string(b))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// Parse reads a script in the format of the package documentation. Its errors
// name the line. A script without a reply is an error.
func Parse(text string) (*Model, error) {
	p := &scriptParser{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		if err := p.line(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	p.close()
	switch {
	case p.pending:
		return nil, fmt.Errorf("line %d: a thought without a reply below it; add a line \"=== reply\"", n)
	case len(p.replies) == 0:
		return nil, fmt.Errorf("the script has no reply; begin one with a line \"=== reply\"")
	}
	return &Model{replies: p.replies}, nil
}

type scriptParser struct {
	replies []Reply
	thought string
	pending bool // a thought waits for its reply
	into    *string
	body    strings.Builder
}

func (p *scriptParser) line(line string) error {
	words, ok := strings.CutPrefix(line, mark)
	if !ok {
		if p.into != nil {
			if strings.HasPrefix(line, escaped) {
				line = line[1:]
			}
			p.body.WriteString(line)
		}
		return nil
	}
	p.close()
	name, options, _ := strings.Cut(strings.TrimSpace(words), " ")
	switch name {
	case "thought":
		if p.pending {
			return fmt.Errorf("two thoughts before one reply; join them")
		}
		p.into, p.pending = &p.thought, true
		return nil
	case "reply":
		return p.reply(options)
	}
	return fmt.Errorf("%q is neither \"reply\" nor \"thought\" (text that begins with === needs a backslash before it)", name)
}

func (p *scriptParser) reply(options string) error {
	r := Reply{Thought: p.thought}
	failure := &providers.Error{}
	for rest := strings.TrimSpace(options); rest != ""; {
		m := option().FindStringSubmatch(rest)
		if m == nil {
			return fmt.Errorf("%s: want WORD, WORD=VALUE or WORD=\"VALUE WITH SPACES\"", rest)
		}
		rest = rest[len(m[0]):]
		value := m[2]
		if unquoted, err := strconv.Unquote(value); err == nil {
			value = unquoted
		}
		if err := r.set(m[1], value, failure); err != nil {
			return fmt.Errorf("%s: %w", m[1], err)
		}
	}
	switch {
	case failure.Kind != "":
		r.Err = failure
	case failure.Message+failure.Hint != "":
		return fmt.Errorf("message and hint belong to an error; add error=KIND")
	}
	p.thought, p.pending = "", false
	p.replies = append(p.replies, r)
	p.into = &p.replies[len(p.replies)-1].Text
	return nil
}

// close ends the section that is open.
func (p *scriptParser) close() {
	if p.into != nil {
		*p.into = strings.TrimSuffix(strings.TrimSuffix(p.body.String(), "\n"), "\r")
	}
	p.into = nil
	p.body.Reset()
}

// option matches a word with its value, if it has one.
var option = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\w+)(?:=("(?:[^"\\]|\\.)*"|[^\s"]*))?(?:\s+|$)`)
})

func (r *Reply) set(key, value string, failure *providers.Error) (err error) {
	switch key {
	case "stop":
		r.Stop = providers.StopReason(value)
	case "prompt":
		r.Usage.Prompt, err = strconv.Atoi(value)
	case "output":
		r.Usage.Output, err = strconv.Atoi(value)
	case "chunk":
		r.Chunk, err = strconv.Atoi(value)
	case "delay":
		r.Delay, err = time.ParseDuration(value)
	case "cut":
		r.Cut = true
	case "hang":
		r.Hang = true
	case "error":
		if failure.Kind = providers.Kind(value); !slices.Contains(kinds, failure.Kind) {
			err = fmt.Errorf("unknown kind %q; there are %v", value, kinds)
		}
	case "message":
		failure.Message = value
	case "hint":
		failure.Hint = value
	default:
		err = fmt.Errorf("unknown word; there are stop, prompt, output, chunk, delay, cut, hang, error, message, hint")
	}
	return err
}

var kinds = []providers.Kind{
	providers.Unreachable, providers.ModelMissing, providers.CannotChat, providers.Auth, providers.RateLimited,
	providers.Overflow, providers.Filtered, providers.BadRequest, providers.ServerFault, providers.Interrupted,
	providers.Stalled, providers.OutOfMemory,
}
