package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"

	"mylm/agent"
	"mylm/providers"
)

// Clean returns the session with every text in it handed to f, for instance to
// take secrets out. Arguments of calls stay JSON.
func Clean(h Header, entries []agent.Entry, f func(string) string) (Header, []agent.Entry) {
	h.Title = f(h.Title)
	h.Labels = cleanLabels(h.Labels, f)
	out := make([]agent.Entry, len(entries))
	for i, e := range entries {
		e.Payload = cleaned(e.Payload, f)
		out[i] = e
	}
	return h, out
}

// cleaned is a payload with every text in it handed to f.
func cleaned(p agent.EntryPayload, f func(string) string) agent.EntryPayload {
	switch p := p.(type) {
	case agent.HistoryEntry:
		p.Text, p.Images = f(p.Text), cleanImages(p.Images, f)
		return p
	case agent.RunEntry:
		p.System, p.Args = f(p.System), cleanJSON(p.Args, f)
		if p.Setup != nil {
			setup := *p.Setup
			setup.Labels = cleanLabels(setup.Labels, f)
			p.Setup = &setup
		}
		return p
	case agent.PromptEntry:
		p.Text, p.Images = f(p.Text), cleanImages(p.Images, f)
		return p
	case agent.ReplyEntry:
		return cleanReply(p, f)
	case agent.AuxiliaryEntry:
		return agent.AuxiliaryEntry(cleanReply(agent.ReplyEntry(p), f))
	case agent.CallEntry:
		p.Args = cleanJSON(p.Args, f)
		return p
	case agent.ResultEntry:
		p.Text, p.Error, p.Note, p.Args, p.Images = f(p.Text), f(p.Error), f(p.Note), cleanJSON(p.Args, f), cleanImages(p.Images, f)
		return p
	case agent.UserEntry:
		return agent.UserEntry{Text: f(p.Text)}
	case agent.CompactionEntry:
		p.Text, p.Summary = f(p.Text), f(p.Summary)
		return p
	case agent.EndEntry:
		p.Error, p.State = f(p.Error), cleanState(p.State, f)
		return p
	case agent.CustomEntry:
		p.Error, p.Args = f(p.Error), cleanJSON(p.Args, f)
		return p
	}
	return p
}

func cleanReply(p agent.ReplyEntry, f func(string) string) agent.ReplyEntry {
	for _, text := range []*string{&p.Text, &p.Raw, &p.SeparateThought, &p.Thought, &p.Answer, &p.Whole, &p.Error} {
		*text = f(*text)
	}
	if p.Native != nil {
		clean := providers.ServerCall{Name: f(p.Native.Name), Args: f(p.Native.Args)}
		if args := json.RawMessage(p.Native.Args); json.Valid(args) {
			clean.Args = string(cleanJSON(args, f))
		}
		p.Native = &clean
	}
	p.State = cleanState(p.State, f)
	return p
}

func cleanState(s *agent.State, f func(string) string) *agent.State {
	if s == nil {
		return nil
	}
	clean := *s
	clean.Message = f(s.Message)
	return &clean
}

func cleanLabels(labels map[string]string, f func(string) string) map[string]string {
	labels = maps.Clone(labels)
	for k, v := range labels {
		labels[k] = f(v)
	}
	return labels
}

// cleanJSON cleans the text of a JSON value, or where that would break it the
// strings in it one by one.
func cleanJSON(text json.RawMessage, f func(string) string) json.RawMessage {
	if len(text) == 0 {
		return text
	}
	if clean := json.RawMessage(f(string(text))); json.Valid(clean) {
		return clean
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	b, err := json.Marshal(cleanValue(v, f))
	if err != nil {
		return nil
	}
	return b
}

func cleanValue(v any, f func(string) string) any {
	switch v := v.(type) {
	case string:
		return f(v)
	case []any:
		for i := range v {
			v[i] = cleanValue(v[i], f)
		}
	case map[string]any:
		for k := range v {
			v[k] = cleanValue(v[k], f)
		}
	}
	return v
}

// WriteJSONL writes a session as a journal of version 1: without checksums.
func WriteJSONL(w io.Writer, h Header, entries []agent.Entry) error {
	var line bytes.Buffer
	write := func(v any) error {
		line.Reset()
		if err := encode(&line, v); err != nil {
			return err
		}
		_, err := w.Write(line.Bytes())
		return err
	}
	h.Version = min(h.Version, sumVersion-1)
	if err := write(h); err != nil {
		return err
	}
	for _, e := range entries {
		if err := write(e); err != nil {
			return err
		}
	}
	return nil
}

// WriteJSON writes a session as one JSON object: the header's fields, and the
// entries.
func WriteJSON(w io.Writer, h Header, entries []agent.Entry) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Header
		Entries []agent.Entry `json:"entries"`
	}{h, append([]agent.Entry{}, entries...)})
}

// WriteMarkdown writes a session for people to read: questions, replies, calls
// and their results.
func WriteMarkdown(w io.Writer, h Header, entries []agent.Entry) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Session %s\n\n%s\n", h.ID, h.Created.Local().Format("2006-01-02 15:04"))
	compacting := false
	for _, e := range entries {
		switch p := e.Payload.(type) {
		case agent.RunEntry:
			compacting = p.Name == agent.CompactRun
		case agent.CompactionEntry:
			section(&b, "Shown to the model instead of earlier messages", p.Text)
		case agent.HistoryEntry:
			section(&b, "Before ("+string(p.Role)+")", p.Text+listed(p.Images))
		case agent.PromptEntry:
			section(&b, "Question", p.Text+listed(p.Images))
		case agent.ReplyEntry:
			if strings.TrimSpace(p.Thought) != "" {
				section(&b, fmt.Sprintf("Thought, turn %d", e.Turn), p.Thought)
			}
			text := p.Text
			if text != p.Answer { // it holds a call
				text = fenced(text)
			}
			section(&b, fmt.Sprintf("Reply, turn %d", e.Turn), text)
		case agent.CallEntry:
			section(&b, fmt.Sprintf("Call of %s (%s)", p.Name, p.Effect), fenced(string(p.Args)))
		case agent.ResultEntry:
			section(&b, "Result of "+p.Name+outcome(p), fenced(strings.TrimSpace(p.Outcome().Body()+"\n"+p.Note))+listed(p.Images))
		case agent.UserEntry:
			section(&b, "mylm to the model", p.Text)
		case agent.EndEntry:
			if compacting { // it answers nothing
				continue
			}
			if p.Error == context.Canceled.Error() { // which says no more than that it was interrupted
				p.Error = ""
			}
			section(&b, "End: "+string(p.StopReason), p.Error)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func section(b *strings.Builder, head, text string) {
	fmt.Fprintf(b, "\n## %s\n", head)
	if text = strings.Trim(text, "\n"); text != "" {
		fmt.Fprintf(b, "\n%s\n", text)
	}
}

func outcome(e agent.ResultEntry) string {
	switch {
	case e.Denied:
		return " (denied)"
	case e.Skipped:
		return " (not run)"
	case !e.Success:
		return " (failed)"
	}
	return ""
}

// fenced puts text in a code block whose fence is longer than any in it.
func fenced(text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.Trim(text, "\n") + "\n" + fence
}
