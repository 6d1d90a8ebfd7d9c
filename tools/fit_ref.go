package tools

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Referred is the schema in root to which a $ref leads, or nil if it leads nowhere or
// out of root. Generators refer to $defs (Pydantic), but also to the first place at
// which a schema was used, such as #/properties/from (zod-to-json-schema, z.toJSONSchema).
func Referred(root *jsonschema.Schema, ref string) *jsonschema.Schema {
	pointer, ok := strings.CutPrefix(ref, "#")
	pointer, err := url.PathUnescape(pointer)
	if !ok || err != nil || pointer != "" && pointer[0] != '/' {
		return nil
	}
	at := root
	for steps := strings.Split(pointer, "/")[1:]; len(steps) > 0 && at != nil; steps = steps[1:] {
		next, list, named := under(at, steps[0])
		if next == nil && len(steps) > 1 { // one of several
			steps = steps[1:]
			if i, err := strconv.Atoi(steps[0]); err == nil && i >= 0 && i < len(list) {
				next = list[i]
			} else {
				next = named[strings.NewReplacer("~1", "/", "~0", "~").Replace(steps[0])]
			}
		}
		at = next
	}
	return at
}

// under is what stands below a keyword of s: one schema, a list of them, or named ones.
func under(s *jsonschema.Schema, keyword string) (one *jsonschema.Schema, list []*jsonschema.Schema, named map[string]*jsonschema.Schema) {
	switch keyword {
	case "$defs":
		named = s.Defs
	case "definitions":
		named = s.Definitions
	case "properties":
		named = s.Properties
	case "items":
		one, list = s.Items, s.ItemsArray
	case "prefixItems":
		list = s.PrefixItems
	case "additionalProperties":
		one = s.AdditionalProperties
	case "anyOf":
		list = s.AnyOf
	case "oneOf":
		list = s.OneOf
	case "allOf":
		list = s.AllOf
	}
	return one, list, named
}
