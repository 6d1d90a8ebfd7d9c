package agent

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
	"unicode"

	"mylm/prompts"
	"mylm/protocol"
	"mylm/providers"
	"mylm/providers/calling"
	"mylm/tools"
)

// smallWindow is the window below which the prompt leaves out what it can: the
// definitions of a dozen tools are a quarter of it.
const smallWindow = 8192

// SystemPrompt renders what a run of the agent begins with today.
func (a *Agent) SystemPrompt(now time.Time) (string, error) {
	return a.systemPrompt(now, a.opts.Form)
}

func (a *Agent) systemPrompt(now time.Time, form calling.Form) (string, error) {
	data, err := a.tools(notation{form, a.opts.Compact})
	if err != nil {
		return "", err
	}
	return a.system(now, data)
}

// system is the system prompt with the tools that data shows.
func (a *Agent) system(now time.Time, data prompts.SystemData) (string, error) {
	if a.opts.System != "" {
		return a.opts.System, nil
	}
	data.Identity, data.Sections = a.opts.Identity, a.opts.Sections
	if a.answer != nil {
		text, err := a.opts.Prompts.Answer(prompts.AnswerData{Schema: string(a.answer.Text())})
		if err != nil {
			return "", err
		}
		data.Sections = append(slices.Clone(data.Sections), prompts.Section{Title: "ANSWER", Text: text})
	}
	if a.opts.Environment != nil {
		env := *a.opts.Environment
		env.Date = cmp.Or(env.Date, now.Format(time.DateOnly))
		env.Directory = protocol.Neutralise(strings.Join(strings.FieldsFunc(env.Directory, unicode.IsControl), "?"))
		data.Environment = &env
	}
	return a.opts.Prompts.System(data)
}

// notation is how tools are shown to a model.
type notation struct {
	form    calling.Form
	compact bool
}

// tools are the agent's tools as the system template sees them. Describing them
// takes longer than all else that is done before the first request.
func (a *Agent) tools(n notation) (data prompts.SystemData, err error) {
	if known, ok := a.described.Load(n); ok {
		return known.(prompts.SystemData), nil
	}
	if err = n.form.Prompt(&data, a.opts.Prompts, a.defs, a.sample(), n.compact); err == nil {
		a.described.Store(n, data)
	}
	return data, err
}

// sample is the tool whose use the prompt shows: the first that has an example of its
// own, or else the first, with placeholders.
func (a *Agent) sample() *tools.Tool {
	all := a.opts.Tools.Tools()
	if len(all) == 0 {
		return nil
	}
	if i := slices.IndexFunc(all, func(t *tools.Tool) bool { return t.Sample != nil }); i >= 0 {
		return all[i]
	}
	first := *all[0]
	first.Sample = &tools.Sample{
		Question: "(a question that " + first.Name + " helps with)", Args: []byte(tools.Example(first.Schema)),
		Result: "(what " + first.Name + " returns)", Answer: "(the answer, which rests on that result)",
	}
	return &first
}

// form is how calls are shown in a session: as when it began.
func (a *Agent) form(s *Session) calling.Form {
	if s != nil {
		for _, e := range s.snapshot() {
			if p, ok := e.Payload.(RunEntry); ok && p.Setup != nil {
				if form, err := calling.ParseForm(string(p.Setup.Form)); err == nil {
					return form
				}
			}
		}
	}
	return a.opts.Form
}

// promptDigest names what the templates make of the tools.
func (a *Agent) promptDigest(form calling.Form) string {
	text := a.opts.System
	if text == "" {
		data, err := a.tools(notation{form, false})
		if err == nil {
			text, err = a.opts.Prompts.System(data)
		}
		if err != nil {
			return ""
		}
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// Request returns what the model would be sent first for a prompt and pictures in
// the session, and sends nothing.
func (a *Agent) Request(s *Session, prompt string, images ...providers.Image) (providers.Request, error) {
	system, err := a.systemPrompt(time.Now(), a.form(s))
	if err != nil {
		return providers.Request{}, err
	}
	var v view
	if s != nil {
		v.sync(s.snapshot(), a.opts.resultTokens())
	}
	messages := []providers.Message{{Role: providers.System, Text: system}}
	if shown := v.shown(); len(shown) > 1 {
		messages = append(messages, shown[1:]...)
	}
	return a.request(append(messages, providers.Message{Role: providers.User, Text: protocol.Neutralise(prompt), Images: images})), nil
}
