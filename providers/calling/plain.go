package calling

import (
	"strings"
	"unicode"

	"mylm/protocol"
	"mylm/providers"
)

// source is what reads a reply: a Reader, or plain.
type source interface {
	Take(providers.Chunk)
	Done() bool
	Ended() bool
	Doubtful() int
	Count(providers.Chunk) bool
	Close() Reply
}

// plain reads the reply of a model that was shown no tools. Its text is passed on as
// it is, but for a thought in tags at its beginning.
type plain struct {
	part  func(protocol.Part)
	reply Reply

	state   plainState
	pending string // what may be the beginning of a tag

	raw, text, thoughts, separate strings.Builder
}

type plainState uint8

const (
	atStart   plainState = iota
	inThought            // inside <think>
	behind               // behind </think>, in the line breaks before the answer, which templates put there
	inAnswer
)

const thinkOpen, thinkClose = "<think>", "</think>"

// Done reports false: there are no calls that would end the reply.
func (p *plain) Done() bool { return false }

// Doubtful reports 0: nothing is looked for in the text.
func (p *plain) Doubtful() int { return 0 }

// Ended reports whether the backend has ended the reply.
func (p *plain) Ended() bool { return p.reply.Stop != "" }

// Count takes nothing.
func (p *plain) Count(providers.Chunk) bool { return false }

// Take reads one chunk.
func (p *plain) Take(c providers.Chunk) {
	if c.Thought != "" {
		p.separate.WriteString(c.Thought)
		p.emit(protocol.Thought, c.Thought)
	}
	text := c.Text
	if c.Call != nil { // whatever its server took for one is text
		text += protocol.EncodeCall(c.Call.Name, []byte(c.Call.Args))
	}
	p.raw.WriteString(text)
	p.push(text)
	if c.Stop != "" {
		p.reply.Stop, p.reply.Usage = c.Stop, plausible(c.Usage)
	}
}

func (p *plain) push(text string) {
	text, p.pending = p.pending+text, ""
	for text != "" {
		switch p.state {
		case atStart:
			begin := strings.TrimLeftFunc(text, unicode.IsSpace)
			switch {
			case strings.HasPrefix(begin, thinkOpen):
				p.state, text = inThought, begin[len(thinkOpen):]
			case strings.HasPrefix(thinkOpen, begin):
				p.pending = text
				return
			default:
				p.state = inAnswer
			}
		case inThought:
			thought, rest, closed := strings.Cut(text, thinkClose)
			if !closed {
				for n := min(len(thinkClose)-1, len(text)); n > 0; n-- {
					if strings.HasSuffix(text, thinkClose[:n]) {
						thought, p.pending = text[:len(text)-n], text[len(text)-n:]
						break
					}
				}
				p.emit(protocol.Thought, thought)
				return
			}
			p.emit(protocol.Thought, thought)
			p.state, text = behind, rest
		case behind:
			if text = strings.TrimLeft(text, "\r\n"); text != "" {
				p.state = inAnswer
			}
		case inAnswer:
			p.emit(protocol.Text, text)
			return
		}
	}
}

func (p *plain) emit(kind protocol.Kind, text string) {
	if kind == protocol.Thought {
		p.thoughts.WriteString(text)
	} else {
		p.text.WriteString(text)
	}
	if text != "" {
		p.part(protocol.Part{Kind: kind, Text: text})
	}
}

// Close returns the reply.
func (p *plain) Close() Reply {
	if p.pending != "" {
		kind := protocol.Text
		if p.state == inThought {
			kind = protocol.Thought
		}
		p.emit(kind, p.pending)
	}
	r := &p.reply
	r.Raw, r.SeparateThought, r.Thought = p.raw.String(), p.separate.String(), p.thoughts.String()
	r.Text = p.text.String()
	r.Answer = r.Text
	return *r
}
