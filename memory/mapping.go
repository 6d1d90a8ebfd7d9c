package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Fields names the fields of a record that hold the parts of a document. An
// empty name, and a field that a record lacks, leaves the part out.
type Fields struct {
	ID, Kind, Role, Speaker, Session, Project, Time, Source, Tags string
	// Text are fields whose texts are put together, each on lines of its own.
	// At least one of them must be there.
	Text []string
	// Default is what a document has where its record says nothing.
	Default Document
}

// Mapping makes a document of each record. Numbers are taken as they are
// written; a time is what ParseTime reads, in UTC where it names no zone, or any
// number since 1970.
func (f Fields) Mapping() Mapping {
	return func(record map[string]any) ([]Document, error) {
		d := f.Default
		for _, part := range []struct {
			field string
			to    *string
		}{{f.ID, &d.ID}, {f.Kind, (*string)(&d.Kind)}, {f.Role, &d.Role}, {f.Speaker, &d.Speaker}, {f.Session, &d.Session}, {f.Project, &d.Project}, {f.Source, &d.Source}} {
			if s := str(record, part.field); s != "" {
				*part.to = s
			}
		}
		var texts []string
		for _, field := range f.Text {
			if s := str(record, field); strings.TrimSpace(s) != "" {
				texts = append(texts, s)
			}
		}
		if d.Text = strings.Join(texts, "\n"); d.Text == "" {
			return nil, fmt.Errorf("%w: none of its fields %s holds one", ErrEmpty, strings.Join(f.Text, ", "))
		}
		if list, ok := record[f.Tags].([]any); ok {
			for _, tag := range list {
				d.Tags = append(d.Tags[:len(d.Tags):len(d.Tags)], fmt.Sprint(tag))
			}
		}
		at, err := timeOf(record, f.Time)
		if !at.IsZero() {
			d.Time = at
		}
		return []Document{d}, err
	}
}

// str reads a field as text; a number is taken as it is written.
func str(record map[string]any, field string) string {
	switch v := record[field].(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// LLMLogs is the mapping of what the command "llm logs --json" prints: each
// record is a prompt and its response, which become two documents of a project.
func LLMLogs(project string) Mapping {
	return func(record map[string]any) (made []Document, err error) {
		for _, turn := range []struct{ field, role string }{{"prompt", "user"}, {"response", "assistant"}} {
			f := Fields{ID: "id", Session: "conversation_id", Time: "datetime_utc", Text: []string{turn.field},
				Default: Document{Kind: Exchange, Role: turn.role, Project: project, Source: strings.TrimSpace("llm " + str(record, "model"))}}
			d, err := f.Mapping()(record)
			if errors.Is(err, ErrEmpty) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if d[0].ID != "" {
				d[0].ID += "/" + turn.field
			}
			made = append(made, d[0])
		}
		return made, nil
	}
}
