package calling

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"mylm/prompts"
	"mylm/protocol"
	"mylm/providers"
	"mylm/tools"
)

// judge ends the reply, or returns what is wrong with it: for the caller, and in words
// for the model.
func (g *generation) judge(r Reply) (done bool, problem error, correction string, err error) {
	words := Corrections{Prompts: g.model.prompts(), Tools: g.offered, Form: g.model.Form}
	choice := g.request.Choice.Mode
	switch {
	case r.Fault != nil && r.Stop != "" && !EndsByItself(r.Stop):
		g.withhold()
		if g.request.Choice.Mode == Required {
			g.held.Reset()
		}
		return true, nil, "", g.end(r.Stop) // neither a call that cannot be read nor half of one is passed on
	case g.request.Format != nil && choice != Required && g.fitsFormat(r):
		return true, nil, "", g.end(providers.StopEnd)
	case r.Call != nil && choice == None, r.Fault != nil && choice == None && r.Fault.Raw != "":
		correction, err = g.model.prompts().Choose(prompts.ChoiceData{None: true})
		return false, errors.New("it calls a tool, and none may be called"), correction, err
	case r.Fault != nil:
		problem = r.Fault
		if r.Fault.Reason == protocol.InventedObservation {
			problem = fmt.Errorf("%w: a line that begins with \"Observation:\", or another label or a tag of results, that is not quoted", r.Fault)
		}
		correction, err = words.Malformed(r.Fault)
		return false, problem, correction, err
	case r.Call != nil:
		args, misfit := g.offered.fit(r.Call.Name, r.Call.Args)
		if misfit == nil {
			return true, nil, "", g.call(r.Call.Name, args)
		}
		if correction, err = words.Refused(misfit); err == nil {
			said, form := SplitForm(correction)
			correction = strings.TrimRight(protocol.Neutralise(said)+"\n"+form, "\n")
		}
		return false, misfit, correction, err
	case r.Stop == providers.StopLength, !EndsByItself(r.Stop):
		return true, nil, "", g.end(r.Stop)
	case choice == Required:
		if args := g.bare(r.Answer); args != nil {
			g.held.Reset()
			return true, nil, "", g.call(g.offered.names[0], args)
		}
		correction, err = g.model.prompts().Choose(g.offered.choice())
		return false, errors.New("it calls no tool, and a call is required"), correction, err
	case g.request.Format != nil:
		value, misfit := g.request.Format.Read(r.Answer)
		if misfit == "" {
			g.held.Reset()
			g.held.Write(value)
			return true, nil, "", g.end(providers.StopEnd)
		}
		misfit = "The answer is not a JSON value that fits the schema: " + FirstWords(protocol.Neutralise(misfit), MaxDetail)
		correction, err = g.model.prompts().Retry(prompts.RetryData{Issues: []string{misfit}, Suggestion: "Write the value alone."})
		return false, errors.New(misfit), correction, err
	case g.hold && g.corrections > 0 && g.shown.Len() > 0:
		g.again()
	}
	return true, nil, "", g.end(providers.StopEnd)
}

// again passes on an answer that followed a correction, of which the beginning was
// passed on before it: what is new in it.
func (g *generation) again() {
	text, shown := strings.TrimSpace(g.held.String()), g.shown.String()
	g.held.Reset()
	switch {
	case strings.Contains(shown, text):
	case strings.HasPrefix(text, shown):
		g.held.WriteString(text[len(shown):])
	default:
		g.held.WriteString("\n\n" + text)
	}
}

// insists holds what a model says that goes on calling a tool though none may be called: what it
// says besides, or else the text of the call, which nobody will run. It reports false if that is
// nothing, or a result that the model made up.
func (g *generation) insists(r Reply) bool {
	text := r.Text
	invented := isInvented(r.Fault) || g.called && g.invents(text) > 0
	switch {
	case g.shown.Len() > 0 && invented:
		g.held.Reset()
		return true
	case g.shown.Len() > 0:
		if g.hold {
			g.again()
		}
		return true
	case invented:
		return false
	case r.Call != nil:
		if text = beforeCall(text, false, 0, false); strings.TrimSpace(text) == "" {
			text = r.Call.Raw
		}
	case r.Fault != nil:
		text += r.Fault.Raw
	}
	g.held.Reset()
	g.held.WriteString(strings.TrimSpace(text))
	return g.held.Len() > 0
}

// invents is how many bytes at the end of a text, which came before a call, would be a result that
// the model made up if it were the whole reply.
func (g *generation) invents(text string) int {
	r := NewReader(g.options(), nil)
	r.Take(providers.Chunk{Text: text, Stop: providers.StopEnd})
	if !isInvented(r.Close().Fault) {
		return 0
	}
	return max(1, r.Doubtful())
}

func isInvented(f *protocol.FormatError) bool {
	return f != nil && f.Reason == protocol.InventedObservation
}

// call passes a call on. What was said before it is passed on first, unless an earlier
// reply has said something.
func (g *generation) call(name string, args json.RawMessage) error {
	if g.hold && g.request.Choice.Mode != Required && g.corrections > 0 {
		g.held.Reset()
	}
	g.flush(false)
	g.emit(Event{Call: &Call{ID: newID(), Name: name, Args: args}})
	return g.end(StopCall)
}

// fitsFormat reports whether a reply that is about to be refused as a call is the value that
// was asked for, and holds it.
func (g *generation) fitsFormat(r Reply) bool {
	bare := strings.TrimSpace(r.Raw)
	if bare == "" || strings.IndexByte("{[", bare[0]) < 0 || r.Fault == nil && (r.Call == nil || g.fits(r)) {
		return false
	}
	value, misfit := g.request.Format.Read(r.Raw)
	if misfit != "" {
		return false
	}
	g.held.Reset()
	g.held.Write(value)
	return true
}

// fits reports whether the arguments of a call are those of the tool.
func (g *generation) fits(r Reply) bool {
	_, misfit := g.offered.fit(r.Call.Name, r.Call.Args)
	return misfit == nil
}

// close ends the reading of a reply.
func (g *generation) close(r source) Reply {
	g.closing = true
	n, doubtful := g.held.Len(), r.Doubtful()
	reply := r.Close()
	if g.lost = r.Doubtful(); g.lost > 0 { // with what was in doubt before it
		g.lost = max(g.lost, doubtful+g.held.Len()-n)
	}
	return reply
}

// withhold drops what is held of a call that cannot be read, or of a result.
func (g *generation) withhold() {
	text := g.held.String()
	g.held.Reset()
	g.held.WriteString(text[:max(0, len(text)-g.lost)])
}

func newID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // it never fails
	return "call_" + hex.EncodeToString(b[:])
}

// bare reads a reply that is only the arguments of the one tool that is meant; nil:
// it is not.
func (g *generation) bare(answer string) (args json.RawMessage) {
	if len(g.offered.names) != 1 {
		return nil
	}
	_, _, _ = protocol.ReadValue(answer, func(v json.RawMessage) bool {
		if len(v) > 0 && v[0] == '{' {
			args, _ = g.offered.fit(g.offered.names[0], v)
		}
		return args != nil
	})
	return args
}

// maxUnreadable is what the model is shown, in bytes, of an unreadable call: enough to
// see what it wrote.
const maxUnreadable = 2000

// correct adds a reply and its correction to what the model is shown next.
func (g *generation) correct(r Reply, correction string) {
	text := protocol.NeutraliseTokens(r.Text)
	switch {
	case r.Call != nil:
		call := g.model.Form.Call(protocol.Neutralise(r.Call.Name), protocol.EscapeTokens(r.Call.Args))
		text = strings.TrimLeft(strings.TrimRight(text, " \t\r\n")+"\n"+call, "\n")
	case r.Fault != nil:
		text += protocol.NeutraliseTokens(tools.Begin(r.Fault.Raw, maxUnreadable))
	}
	c := conversation{messages: append([]providers.Message(nil), g.messages...)}
	if strings.TrimSpace(text) != "" {
		c.push(providers.Assistant, text)
	}
	c.push(providers.User, correction)
	g.messages = c.messages
}
