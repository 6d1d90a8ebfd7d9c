package scripted

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
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
	o, err := parseOptions(options)
	if err != nil {
		return err
	}
	o.reply.Thought = p.thought
	if o.failure.Kind != "" {
		o.reply.Err = &o.failure
	} else if o.failure != (providers.Error{}) {
		return fmt.Errorf("status, retry, permanent, message and hint belong to an error; add error=KIND")
	}
	p.thought, p.pending = "", false
	p.replies = append(p.replies, o.reply)
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

type options struct {
	reply   Reply
	failure providers.Error
}

func parseOptions(s string) (*options, error) {
	o := &options{}
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		end := strings.IndexAny(s, "= ")
		if end < 0 {
			end = len(s)
		}
		key, value := s[:end], ""
		if s = s[end:]; strings.HasPrefix(s, "=") {
			var err error
			if value, s, err = optionValue(s[1:]); err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
		}
		if err := o.set(key, value); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	return o, nil
}

func optionValue(s string) (value, rest string, err error) {
	if strings.HasPrefix(s, `"`) {
		quoted, err := strconv.QuotedPrefix(s)
		if err != nil {
			return "", "", fmt.Errorf("the quoted value does not end")
		}
		value, err = strconv.Unquote(quoted)
		return value, s[len(quoted):], err
	}
	value, rest, _ = strings.Cut(s, " ")
	return value, rest, nil
}

func (o *options) set(key, value string) (err error) {
	r, f := &o.reply, &o.failure
	switch key {
	case "stop":
		r.Stop = providers.StopReason(value)
	case "prompt":
		r.Usage.Prompt, err = strconv.Atoi(value)
	case "output":
		r.Usage.Output, err = strconv.Atoi(value)
	case "evaluated":
		r.Usage.Evaluated, err = strconv.Atoi(value)
	case "chunk":
		r.Chunk, err = strconv.Atoi(value)
	case "delay":
		r.Delay, err = time.ParseDuration(value)
	case "cut":
		r.Cut = true
	case "hang":
		r.Hang = true
	case "error":
		f.Kind, err = kindNamed(value)
	case "status":
		f.Status, err = strconv.Atoi(value)
	case "retry":
		f.RetryAfter, err = time.ParseDuration(value)
	case "permanent":
		f.Permanent = true
	case "message":
		f.Message = value
	case "hint":
		f.Hint = value
	default:
		return fmt.Errorf("unknown word; there are stop, prompt, output, evaluated, chunk, delay, cut, hang, error, status, retry, permanent, message, hint")
	}
	return err
}

var kinds = []providers.Kind{
	providers.Unreachable, providers.ModelMissing, providers.CannotChat, providers.Auth, providers.RateLimited, providers.Overflow,
	providers.Filtered, providers.BadRequest, providers.ServerFault, providers.Interrupted, providers.Stalled,
}

func kindNamed(name string) (providers.Kind, error) {
	k := providers.Kind(name)
	if !slices.Contains(kinds, k) {
		return "", fmt.Errorf("unknown kind %q; there are %v", name, kinds)
	}
	return k, nil
}
