package mcp

import (
	"encoding/json"
	"iter"
	"net"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"mylm/tools"
)

// plain is a text without characters that a model reads and a person does not see.
func plain(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.Map(func(r rune) rune {
		if tools.Hidden(r) {
			return -1
		}
		return r
	}, s)
}

// plainLine is a plain text in one line, cut.
func plainLine(s string) string {
	return cutBytes(strings.Join(strings.Fields(plain(s)), " "), 200)
}

// cutBytes is the beginning of a text, most bytes of it at most.
func cutBytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// depth is how deep a JSON text is nested.
func depth(text []byte) (deepest int) {
	at, inString, escaped := 0, false, false
	for _, b := range text {
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped, inString = b == '\\', b != '"'
		case b == '"':
			inString = true
		case b == '{' || b == '[':
			at++
			deepest = max(deepest, at)
		case b == '}' || b == ']':
			at--
		}
	}
	return deepest
}

// elements are those of a JSON array; none if it is none.
func elements(text []byte) (parts [][]byte) {
	if depth(text) > 1000 {
		return nil
	}
	var raw []json.RawMessage
	if json.Unmarshal(text, &raw) != nil {
		return nil
	}
	for _, r := range raw {
		parts = append(parts, r)
	}
	return parts
}

// subschemas are a schema and all below it. References are not followed.
func subschemas(s *jsonschema.Schema) iter.Seq[*jsonschema.Schema] {
	return func(yield func(*jsonschema.Schema) bool) { walk(s, yield) }
}

func walk(s *jsonschema.Schema, yield func(*jsonschema.Schema) bool) bool {
	if s == nil {
		return true
	}
	if !yield(s) {
		return false
	}
	one := []*jsonschema.Schema{s.Items, s.AdditionalItems, s.Contains, s.UnevaluatedItems, s.AdditionalProperties, s.PropertyNames, s.UnevaluatedProperties, s.Not, s.If, s.Then, s.Else, s.ContentSchema}
	for _, list := range [][]*jsonschema.Schema{one, s.PrefixItems, s.ItemsArray, s.AllOf, s.AnyOf, s.OneOf} {
		for _, sub := range list {
			if !walk(sub, yield) {
				return false
			}
		}
	}
	for _, m := range []map[string]*jsonschema.Schema{s.Defs, s.Definitions, s.Properties, s.PatternProperties, s.DependentSchemas, s.DependencySchemas} {
		for _, sub := range m {
			if !walk(sub, yield) {
				return false
			}
		}
	}
	return true
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
