package calling

import (
	"strings"
	"time"
	"unicode/utf8"

	"mylm/protocol"
	"mylm/providers"
)

// Reply is what a model wrote in one go, as it was read.
type Reply struct {
	Raw             string // as it was written
	SeparateThought string // the thought that came beside it
	Text            string // for the conversation: everything but thought and calls
	Answer          string // the part of Text that would be the answer
	Whole           string // the answer with what came before the cut, if that is not the answers one after the other
	Thought         string
	Call            *protocol.ToolCall    // nil: none
	Native          *providers.ServerCall // the call that the server took out of the text, if one came
	Fault           *protocol.FormatError // why it cannot be read; nil: it can
	Stop            providers.StopReason  // "": it was stopped at its call
	Usage           providers.Usage
	Partial         bool // it broke off or was stopped before the backend reported its usage, which is more
	Dropped         bool // another call came after the first, for the backend could not be stopped in time
}

// Reader reads one reply of a model as it arrives. It is not safe for concurrent use.
type Reader struct {
	decoder  *protocol.Decoder
	insisted bool
	part     func(protocol.Part)
	reply    Reply
	pieces   int // of text, thought and calls; each is at least one token

	raw, text, answer, thoughts, separate strings.Builder

	before resumed
}

// resumed is what the replies that are continued had: as they were closed, and what of it
// is certain however they go on.
type resumed struct{ text, answer, certainText, certainAnswer string }

// rest is what of a text is new.
func rest(whole, before, certain string) string {
	if after, ok := strings.CutPrefix(whole, before); ok {
		return after
	}
	return strings.TrimPrefix(whole, certain)
}

// NewReader returns a Reader for one reply. part is called with each part of it of
// which the decoder is certain, a thought that the backend separates among them;
// nil: nobody listens.
func NewReader(o protocol.Options, part func(protocol.Part)) *Reader {
	return &Reader{decoder: protocol.NewDecoder(o), insisted: o.Insisted, part: part}
}

// Resume makes the reply continue one that a limit cut, inside whatever that had
// opened. It is called before the first Take, once for each such reply: as the model
// wrote it, and the text and the answer that it had. Its last characters may mean
// something else with what follows.
func (r *Reader) Resume(raw, text, answer string) {
	part := r.part
	r.part = nil
	r.parts(r.decoder.Push(raw))
	r.part = part
	r.thoughts.Reset()
	r.before = resumed{r.before.text + text, r.before.answer + answer, r.text.String(), r.answer.String()}
}

// Done reports whether the reply is decided: nothing more is read, and the
// model may be stopped.
func (r *Reader) Done() bool { return r.decoder.Done() }

// Doubtful is how many bytes at the end of the text that was passed on Close may find, or
// has found, to be no text; see [protocol.Decoder.Doubtful].
func (r *Reader) Doubtful() int { return r.decoder.Doubtful() }

// Pieces is how many pieces of text, thought and calls have come, each of at least one token.
func (r *Reader) Pieces() int { return r.pieces }

// Ended reports whether the backend has ended the reply.
func (r *Reader) Ended() bool { return r.reply.Stop != "" }

// Take reads one chunk: text, thought, or a call that the server's parser took out of the text.
func (r *Reader) Take(c providers.Chunk) {
	if c.Thought != "" || c.Text != "" || c.CallPart != "" {
		r.pieces++
	}
	if c.Thought != "" {
		r.separate.WriteString(c.Thought)
		r.parts([]protocol.Part{{Kind: protocol.Thought, Text: c.Thought}})
	}
	if c.Text != "" {
		r.raw.WriteString(c.Text)
		r.parts(r.decoder.Push(c.Text))
	}
	if c.Call != nil && !r.decoder.Done() {
		r.reply.Native = c.Call
		r.parts(r.decoder.PushCall(c.Call.Name, c.Call.Args))
	}
	if c.Stop != "" {
		r.reply.Stop, r.reply.Usage = c.Stop, plausible(c.Usage)
	}
}

// Count takes the usage from what follows a complete call or comes with a failure, and
// reports whether there was one.
func (r *Reader) Count(c providers.Chunk) bool {
	u := plausible(c.Usage)
	if u.Prompt > 0 {
		r.reply.Usage = u
	}
	return u.Prompt > 0
}

func (r *Reader) parts(parts []protocol.Part) {
	for _, p := range parts {
		switch p.Kind {
		case protocol.Text:
			r.text.WriteString(p.Text)
			r.answer.WriteString(p.Text)
		case protocol.Cut:
			r.text.WriteString(p.Text)
		case protocol.Thought:
			r.thoughts.WriteString(p.Text)
		case protocol.Answer:
			r.answer.Reset()
		case protocol.Retract:
			r.thoughts.WriteString(r.text.String())
			r.text.Reset()
			r.answer.Reset()
		case protocol.Call:
			r.reply.Call = p.Call
		case protocol.Malformed:
			r.reply.Fault = p.Err
		}
		if r.part != nil {
			r.part(p)
		}
	}
}

// Close gets the decoder's verdict and returns the reply.
func (r *Reader) Close() Reply {
	end := protocol.Length
	broken := r.reply.Stop == "" && !r.decoder.Done()
	ended := r.reply.Stop == "" && !broken // by the model's own token for the end of its turn, or with a call
	if ended || EndsByItself(r.reply.Stop) {
		end = protocol.End
	}
	r.parts(r.decoder.Close(end))
	rep := &r.reply
	if rep.Call == nil && rep.Fault == nil && stopsForCall[rep.Stop] && !r.insisted {
		rep.Fault = &protocol.FormatError{Reason: protocol.UnknownForm}
	}
	rep.Raw, rep.SeparateThought = r.raw.String(), r.separate.String()
	rep.Text = rest(r.text.String(), r.before.text, r.before.certainText)
	rep.Answer = rest(r.answer.String(), r.before.answer, r.before.certainAnswer)
	rep.Thought = r.thoughts.String()
	if whole := r.answer.String(); r.before.answer+rep.Answer != whole {
		rep.Whole = whole
	}
	rep.Dropped = r.decoder.DroppedCall()
	if broken || rep.Stop == "" && rep.Usage.Prompt == 0 { // at least one token a piece
		rep.Partial = true
		rep.Usage.Output = max(rep.Usage.Output, r.pieces)
	}
	if ended && rep.Call == nil && rep.Fault == nil {
		rep.Stop = providers.StopEnd
	}
	if f := rep.Fault; f != nil && f.Reason == protocol.Empty {
		switch {
		case !EndsByItself(rep.Stop) && rep.Stop != providers.StopLength && rep.Stop != "":
			rep.Fault = nil // the backend's own reason says more than "empty"
		case rep.Thought != "":
			f.Reason = protocol.OnlyThought
		}
	}
	return *rep
}

// EndsByItself reports whether a reply that ended so is one that the model had finished.
func EndsByItself(s providers.StopReason) bool { return s == providers.StopEnd || stopsForCall[s] }

// stopsForCall are the reasons with which servers end a reply that holds a call.
// Without one, the call was lost on its way.
var stopsForCall = map[providers.StopReason]bool{"tool_calls": true, "tool_use": true, "function_call": true}

// mostTokens is beyond what any backend reads or writes in one call.
const mostTokens = 1 << 30

// plausible is a backend's account without what nothing can have cost.
func plausible(u providers.Usage) providers.Usage {
	for _, n := range []*int{&u.Prompt, &u.Output, &u.Evaluated} {
		if *n < 0 || *n > mostTokens {
			*n = 0
		}
	}
	for _, d := range []*time.Duration{&u.Load, &u.PromptTime, &u.OutputTime} {
		if *d < 0 {
			*d = 0
		}
	}
	return u
}

// What characters cost in hundredths of a token. Tokenizers take 3.5 to 4.5
// letters of English for a token, one to three digits, and most characters
// beyond the alphabets by themselves or in pieces. The figures are on the high
// side: they hold until the backend has counted a prompt, and overestimating a
// prompt costs less than having it truncated.
const (
	costLetter  = 30
	costCapital = 40
	costSpace   = 15
	costDigit   = 60
	costSymbol  = 70
	costForeign = 60  // letters of two bytes: Latin with accents, Cyrillic, Greek
	costWide    = 120 // three bytes: Chinese, Japanese, Korean and others
	costOther   = 250 // four bytes: emoji and rare scripts
	costNoise   = 55  // a letter or digit in a run that is no word: hashes, base64

	longestWord = 16 // letters and digits in a row before they are taken for noise

	// MessageTokens is what a chat template puts around a message.
	MessageTokens = 8
)

// cost is that of a character of ASCII.
func cost(c rune) int {
	switch {
	case 'a' <= c && c <= 'z':
		return costLetter
	case c == ' ':
		return costSpace
	case 'A' <= c && c <= 'Z':
		return costCapital
	case '0' <= c && c <= '9':
		return costDigit
	}
	return costSymbol
}

// tokenCounter adds up what characters cost, in either direction of reading.
type tokenCounter struct {
	total int // hundredths of a token
	run   int // letters and digits since the last other character
}

func (g *tokenCounter) add(r rune) {
	if r >= utf8.RuneSelf {
		g.run = 0
		switch {
		case r == utf8.RuneError:
			g.total += costWide
		case r < 0x800:
			g.total += costForeign
		case r < 0x10000:
			g.total += costWide
		default:
			g.total += costOther
		}
		return
	}
	c := cost(r)
	if c == costSymbol || c == costSpace {
		g.run = 0
	} else if g.run++; g.run > longestWord {
		c = max(c, costNoise)
	}
	g.total += c
}

// Estimate guesses the tokens of a text, on the high side.
func Estimate(s string) int {
	var g tokenCounter
	for _, r := range s {
		g.add(r)
	}
	return (g.total + 99) / 100
}

// HeadOf is how many bytes of s, in whole characters, are within limit tokens.
func HeadOf(s string, limit int) int {
	var g tokenCounter
	for i, r := range s {
		if g.add(r); g.total > 100*limit {
			return i
		}
	}
	return len(s)
}

// TailOf is where the last limit tokens of s begin.
func TailOf(s string, limit int) int {
	var g tokenCounter
	for end := len(s); end > 0; {
		r, size := utf8.DecodeLastRuneInString(s[:end])
		if g.add(r); g.total > 100*limit {
			return end
		}
		end -= size
	}
	return 0
}
