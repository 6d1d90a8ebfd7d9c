package protocol

import "encoding/json"

// member is one member of an object.
type member struct {
	key   string
	value json.RawMessage
}

// members takes apart an object that the reader wrote: JSON without white space.
func members(object []byte) []member {
	var out []member
	for pos := 1; object[pos] != '}'; {
		if object[pos] == ',' {
			pos++
		}
		end := skip(object, pos)
		key := unquoteJSON(object[pos:end])
		pos = end + 1
		end = skip(object, pos)
		out = append(out, member{key, object[pos:end]})
		pos = end
	}
	return out
}

// elementsOf takes apart an array that the reader wrote.
func elementsOf(array []byte) []json.RawMessage {
	var out []json.RawMessage
	for pos := 1; array[pos] != ']'; {
		if array[pos] == ',' {
			pos++
		}
		end := skip(array, pos)
		out = append(out, array[pos:end])
		pos = end
	}
	return out
}

// skip returns the end of the value that starts at pos.
func skip(s []byte, pos int) int {
	depth, str := 0, false
	for ; pos < len(s); pos++ {
		switch c := s[pos]; {
		case str:
			if c == '\\' {
				pos++
			} else if c == '"' {
				str = false
			}
		case c == '"':
			str = true
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth == 0 {
				return pos
			}
			depth--
		case (c == ',' || c == ':') && depth == 0:
			return pos
		}
	}
	return pos
}

// join writes members as an object.
func join(ms []member) json.RawMessage {
	out := []byte{'{'}
	for i, m := range ms {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoteJSON(m.key)...), ':'), m.value...)
	}
	return append(out, '}')
}

// text is the string that value is, "" if it is none.
func text(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	return unquoteJSON(value)
}
