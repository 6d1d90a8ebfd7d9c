package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"mylm/memory/lexical"
	"mylm/tools"
)

// FindName is the name of the tool that finds the others.
const FindName = "find_tools"

// Bounds of what find_tools shows.
const (
	foundTools  = 5
	foundSchema = 4 << 10 // bytes of one schema that are shown; about 1,000 tokens
)

type findInput struct {
	Query string `json:"query" jsonschema:"what the tool should do, in a few words"`
}

// Find makes find_tools. It looks through the definitions of all servers, starts
// those of which nothing is known yet, and asks those again that say that they have changed. A registry that holds it holds every tool of
// the hub, as Hub.Lookup makes it, beside those that it lists.
func (h *Hub) Find() (*tools.Tool, error) {
	t, err := tools.New(FindName, "Find tools beyond those listed here, of: "+cutBytes(strings.Join(h.Names(), ", "), 300)+
		". Look here before you say that something cannot be done. It returns definitions; then call the tool by its name.", tools.Reads, h.find)
	if err != nil {
		return nil, err
	}
	t.External, t.Finds = true, h.Lookup // it names the servers
	t.Timeout = 2 * defaultStart
	for _, s := range h.servers {
		t.Timeout = max(t.Timeout, 2*s.startTime())
	}
	return t, nil
}

// find answers a call of find_tools.
func (h *Hub) find(ctx context.Context, in findInput) (tools.Result, error) {
	var notes []string
	if names := h.unlisted(); len(names) > 0 {
		lists, err := h.List(ctx, names...)
		if ctx.Err() != nil {
			return tools.Result{}, ctx.Err()
		}
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				notes = append(notes, "Not available: "+line)
			}
		}
		for _, l := range lists {
			for _, p := range l.Problems {
				notes = append(notes, "Not offered: "+p.String())
			}
		}
	}
	found, total, err := h.Search(ctx, in.Query, foundTools)
	if err != nil {
		return tools.Result{}, err
	}
	var b strings.Builder
	for _, f := range found {
		schema := string(f.Schema)
		if len(schema) > foundSchema {
			schema = cutBytes(schema, foundSchema)
		}
		fmt.Fprintf(&b, "name: %s\ndescription: %s\nparameters: %s\n\n", f.Call, f.Description, schema)
	}
	switch {
	case total == 0:
		b.WriteString("No server offers a tool.")
	case len(found) == 0:
		fmt.Fprintf(&b, "None of the %d tools fits %q. Try other words. Some of their names: %s", total, plainLine(in.Query), strings.Join(h.someNames(), ", "))
	default:
		fmt.Fprintf(&b, "%d of %d tools. Call one by its name with its parameters.", len(found), total)
	}
	for _, n := range notes {
		b.WriteString("\n" + plainLine(n))
	}
	return bounded(b.String()), nil
}

// unlisted are the servers of which nothing is known yet, and those that say that their
// tools have changed.
func (h *Hub) unlisted() []string {
	names := h.Unknown()
	for _, s := range h.servers {
		s.mu.Lock()
		l := s.link
		s.mu.Unlock()
		if l != nil && l.outdated() && !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// someNames are as many names of tools as fit a few lines.
func (h *Hub) someNames() (names []string) {
	length := 0
	for _, k := range h.Known() {
		if length += len(k.Name) + 2; length > 1000 {
			return append(names, "…")
		}
		names = append(names, k.Name)
	}
	return names
}

// Search ranks the known tools by how well a query fits their names, descriptions
// and arguments, best first, and returns how many there are in all.
func (h *Hub) Search(ctx context.Context, query string, most int) (found []Listing, total int, err error) {
	var all []Listing
	var index lexical.Memory
	for _, s := range h.servers {
		for _, d := range s.known() {
			all = append(all, Listing{Definition: d, Call: callName(s.Name, d.Name)})
			index.Add(lexical.Entry{Text: d.words(s.Name), Session: uint32(len(all))})
		}
	}
	// The name of a tool, as it is or in words, is what is meant before anything else.
	named := func(l Listing) bool {
		return l.Call == query || l.Name == query
	}
	for _, l := range all {
		if named(l) {
			found = append(found, l)
		}
	}
	ranking := lexical.Default()
	ranking.Floor = 0 // a few wrong tools cost less than the right one that is missing
	hits, err := ranking.Rank(ctx, &index, lexical.Query{Text: widened(query)}, most)
	if err != nil {
		return nil, len(all), err
	}
	for _, hit := range hits {
		if l := all[hit.Doc]; !named(l) {
			found = append(found, l)
		}
	}
	return found[:min(most, len(found))], len(all), nil
}

// alike are words that people and the authors of tools use for the same thing.
var alike = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	for _, line := range []string{
		"create make new", "delete remove erase forget drop", "update change edit modify replace", "read show view get", "write save store",
		"search find look", "list which all", "move rename", "copy duplicate", "run execute start trigger", "send post publish",
		"directory folder", "issue bug ticket", "image picture photo", "page website url", "repository repo project", "message mail",
	} {
		group := strings.Fields(line)
		for _, word := range group {
			all[word] = group
		}
	}
	return all
})

// widened is a query with the other words for what it says.
func widened(query string) string {
	wide := query
	for _, word := range strings.FieldsFunc(strings.ToLower(query), func(r rune) bool { return !unicode.IsLetter(r) }) {
		group := alike()[word]
		if group == nil {
			group = alike()[strings.TrimSuffix(word, "s")]
		}
		for _, other := range group {
			if other != word {
				wide += " " + other
			}
		}
	}
	return wide
}

// words are the text that a tool is found by.
func (d Definition) words(server string) string {
	words := []string{server, spaced(d.Name), d.Name, d.Description}
	if schema, err := d.schema(); err == nil {
		var names []string
		for name := range schema.Properties {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			words = append(words, spaced(name))
			if p := schema.Properties[name]; p != nil {
				words = append(words, cutBytes(p.Description, 200))
			}
		}
	}
	return strings.Join(words, ". ")
}

// spaced is a name in words: read_multipleFiles becomes "read multiple Files".
func spaced(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		switch upper := 'A' <= r && r <= 'Z'; {
		case r == '_' || r == '-' || r == '.' || r == '/':
			b.WriteByte(' ')
			lower = false
		case upper && lower:
			b.WriteByte(' ')
			fallthrough
		default:
			b.WriteRune(r)
			lower = !upper
		}
	}
	return b.String()
}
