package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"

	"mylm/agent"
)

// Clean returns the session with every text in it handed to f, for instance to
// take secrets out. Arguments of calls stay JSON.
func Clean(h Header, entries []agent.Entry, f func(string) string) (Header, []agent.Entry) {
	h.Title = f(h.Title)
	h.Labels = cleanLabels(h.Labels, f)
	out := make([]agent.Entry, len(entries))
	for i, e := range entries {
		for _, text := range []*string{&e.Text, &e.Raw, &e.Aside, &e.Thought, &e.Answer, &e.Error, &e.Note} {
			*text = f(*text)
		}
		e.Args = cleanJSON(e.Args, f)
		if e.Setup != nil {
			setup := *e.Setup
			setup.Labels = cleanLabels(setup.Labels, f)
			e.Setup = &setup
		}
		if e.State != nil {
			state := *e.State
			state.Message = f(state.Message)
			e.State = &state
		}
		out[i] = e
	}
	return h, out
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

// WriteJSONL writes a session as a journal is written.
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
// and what came of them.
func WriteMarkdown(w io.Writer, h Header, entries []agent.Entry) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Session %s\n\n%s\n", h.ID, h.Created.Local().Format("2006-01-02 15:04"))
	for _, e := range entries {
		switch e.Kind {
		case agent.EntryHistory:
			section(&b, "Before ("+string(e.Role)+")", e.Text)
		case agent.EntryPrompt:
			section(&b, "Question", e.Text)
		case agent.EntryReply:
			if strings.TrimSpace(e.Thought) != "" {
				section(&b, fmt.Sprintf("Thought, turn %d", e.Turn), e.Thought)
			}
			text := e.Text
			if text != e.Answer { // it holds a call
				text = fenced(text)
			}
			section(&b, fmt.Sprintf("Reply, turn %d", e.Turn), text)
		case agent.EntryCall:
			section(&b, fmt.Sprintf("Call of %s (%s)", e.Name, e.Effect), fenced(string(e.Args)))
		case agent.EntryResult:
			section(&b, "Result of "+e.Name+outcome(e), fenced(strings.TrimSpace(e.Outcome().Body()+"\n"+e.Note)))
		case agent.EntryUser:
			section(&b, "mylm to the model", e.Text)
		case agent.EntryEnd:
			section(&b, "End: "+string(e.StopReason), e.Error)
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

func outcome(e agent.Entry) string {
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
