package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// listsOf are the members of requests that are lists, or hold such members. In all others a null
// may be a value of the client's own: in schemas, arguments and metadata.
var listsOf = strings.Fields("messages tools functions tool_calls content system input output source tool_choice allowed_tools options " +
	"stop stop_sequences images modalities include")

// refuseNull refuses a null in a list, which is no message, tool, call or part.
func (x *exchange) refuseNull(body []byte) error {
	var v map[string]any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber() // one may be too large for a float64
	if d.Decode(&v) != nil {
		return nil // it is no object
	}
	at := "[%d]"
	if x.surface() == "anthropic" {
		at = ".%d"
	}
	if where := nullIn(v, "", at); where != "" {
		return invalid(where, "it is null")
	}
	return nil
}

// nullIn is where a list of a value has a null; "": nowhere. at is how places in lists are written.
func nullIn(v any, where, at string) string {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			known := strings.ToLower(name)                                           // as encoding/json takes it
			if !slices.Contains(listsOf, known) || known == "input" && where != "" { // that of a call is the client's own
				continue
			}
			if found := nullIn(v[name], strings.TrimPrefix(where+"."+known, "."), at); found != "" {
				return found
			}
		}
	case []any:
		for i, e := range v {
			place := where + fmt.Sprintf(at, i)
			if e == nil {
				return place
			}
			if found := nullIn(e, place, at); found != "" {
				return found
			}
		}
	}
	return ""
}
