package agent

import "strings"

// Outline returns the record as a loop Elsewhere needs it to continue the session:
// every entry has its place, and whole are those that the loop goes through again or
// that the model is still shown. Of the others remains what counts, such as that a
// result came from outside the workspace. A run decides by it, with LoadSession, as by
// the whole; the model is to be asked, see Agent.Effects, with the whole.
func (s *Session) Outline() []Entry {
	entries := s.Entries()
	last := lastOf[ReplyEntry](entries) // where Resume begins
	if last < 0 {
		return entries
	}
	o := outline{entries: entries, keep: map[int]bool{}, open: map[string]bool{}}
	run, prompt := lastOf[RunEntry](entries), lastOf[PromptEntry](entries)
	o.keep[run], o.keep[prompt] = true, true
	o.cut = lastOf[CompactionEntry](entries[:last])
	if o.cut >= 0 {
		c := entries[o.cut].Payload.(CompactionEntry)
		o.hidden = c.Through
		o.keep[o.cut], o.keep[c.Request-1] = true, true
		o.summary, o.summarised = o.summarisedBy(c.Summary)
	}
	if state := entries[last].state(); state != nil {
		for _, seq := range state.Continued {
			o.keep[seq-1] = true
		}
	}
	for _, call := range OpenCalls(entries) {
		o.open[call.ID] = true
	}
	for i := range last {
		if e := &entries[i]; !o.keep[i] {
			e.Payload = o.part(i, e)
		}
	}
	return entries
}

// outline is what an outline is made with. Indexes are those of entries.
type outline struct {
	entries    []Entry
	keep       map[int]bool    // as they are
	open       map[string]bool // calls without a result
	cut        int             // the last compaction; -1: there is none
	hidden     int             // the entries before this index are not shown any more
	summary    string          // that is shown
	summarised int             // the first compaction with it
	formed     bool            // the first setup was met, and with it the form of calls
	foreign    bool            // the first result from outside the workspace was met
}

// summarisedBy finds the first of the compactions in a row with a summary.
func (o *outline) summarisedBy(summary string) (string, int) {
	first := o.cut
	for i := o.cut; i >= 0 && summary != ""; i-- {
		c, ok := o.entries[i].Payload.(CompactionEntry)
		switch {
		case !ok:
		case c.Summary != summary:
			return summary, first
		default:
			first = i
		}
	}
	return summary, first
}

// something stands for the text of a message that is not shown.
const something = "…"

// part is what remains of an entry.
func (o *outline) part(i int, e *Entry) EntryPayload {
	shown := i >= o.hidden
	switch p := e.Payload.(type) {
	case RunEntry:
		if p.Setup == nil || o.formed {
			return RunEntry{Name: p.Name}
		}
		o.formed = true
		return RunEntry{Name: p.Name, Setup: p.Setup}
	case ReplyEntry:
		short := ReplyEntry{Text: p.Text, Purpose: p.Purpose}
		if !shown && strings.TrimSpace(p.Text) != "" {
			short.Text = something
		}
		if e.tainted() {
			short.State = &State{First: p.State.First, Tainted: true}
		}
		return short
	case AuxiliaryEntry:
		return AuxiliaryEntry{Purpose: p.Purpose}
	case CallEntry:
		if o.open[p.ID] {
			return p
		}
		return CallEntry{ID: p.ID}
	case ResultEntry:
		short := ResultEntry{ID: p.ID, Origin: p.Origin}
		if shown {
			short = p
		}
		if untrusted(p.Origin) && !o.foreign {
			o.foreign = true
			short.Name, short.Args = p.Name, p.Args
		}
		return short
	case CompactionEntry:
		short := CompactionEntry{Through: p.Through, Request: p.Request}
		if i >= o.summarised && i < o.cut {
			short.Summary = p.Summary
		}
		return short
	case EndEntry:
		return EndEntry{StopReason: p.StopReason}
	case CustomEntry:
		if !e.tainted() {
			p.Args = nil
		}
		return p
	case HistoryEntry:
		if !shown {
			return HistoryEntry{Role: p.Role}
		}
	case PromptEntry:
		if !shown {
			return PromptEntry{}
		}
	case UserEntry:
		if !shown {
			return UserEntry{}
		}
	}
	return e.Payload
}
