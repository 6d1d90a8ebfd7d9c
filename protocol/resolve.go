package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// resolve reads a whole block. at is its offset in the reply; closed says that
// it ended by its tag or by what can only come after it, not by the end of the
// reply; whole says that the reply ended of itself.
func (d *Decoder) resolve(block []byte, b blockScan, at int64, closed, whole bool) (*ToolCall, *FormatError) {
	fail := func(r Reason, pos int, tool, detail string) (*ToolCall, *FormatError) {
		return nil, &FormatError{Reason: r, Offset: at + int64(pos), Detail: detail, Tool: tool, Raw: string(block)}
	}
	head := string(block)
	if b.start > 0 {
		head = head[:b.start]
	}
	name, _ := element(head, "name")
	switch {
	case !closed && (!whole || b.end == 0):
		return fail(Truncated, len(block), name, "the reply ended inside the call")
	case name == "":
		return fail(NoName, 0, "", "")
	}
	call := &ToolCall{Name: name, Raw: string(block), Dialect: "mylm", Args: json.RawMessage("{}")}
	if b.start == 0 {
		if text, _ := element(head, "parameters"); text != "" {
			return fail(BadJSON, strings.Index(head, text), name, "the parameters are not a JSON object")
		}
		return call, nil
	}
	value, end := block[b.start:], b.end
	if end > 0 {
		value = block[b.start:end]
	}
	args, repairs, err := readObject(value, d.opts.MaxDepth)
	if err != nil {
		return fail(err.Reason, b.start+int(err.Offset), name, err.Detail)
	}
	for i := range repairs {
		repairs[i].Offset += at + int64(b.start)
	}
	call.Args, call.Repairs = args, repairs
	return call, nil
}

// element returns the trimmed content of the first <name>…</name> in s.
func element(s, name string) (string, bool) {
	_, rest, ok := strings.Cut(s, "<"+name+">")
	if !ok {
		return "", false
	}
	text, _, ok := strings.Cut(rest, "</"+name+">")
	return strings.TrimSpace(text), ok
}

// readObject checks that value is one JSON object, not nested too deep and
// without contradicting keys, and returns it with repeated keys collapsed.
// Offsets are relative to value.
func readObject(value []byte, maxDepth int) (json.RawMessage, []Repair, *FormatError) {
	if pos := tooDeep(value, maxDepth); pos >= 0 {
		return nil, nil, &FormatError{Reason: TooDeep, Offset: int64(pos), Detail: fmt.Sprintf("nested deeper than %d", maxDepth)}
	}
	var probe json.RawMessage
	if err := json.Unmarshal(value, &probe); err != nil {
		var syntax *json.SyntaxError
		pos := int64(0)
		if errors.As(err, &syntax) {
			pos = syntax.Offset
		}
		return nil, nil, &FormatError{Reason: BadJSON, Offset: pos, Detail: err.Error()}
	}
	if value[0] != '{' {
		return nil, nil, &FormatError{Reason: NotObject, Detail: "the parameters must be one JSON object"}
	}
	c := collapser{in: value, out: make([]byte, 0, len(value))}
	c.value()
	if c.err != nil {
		return nil, nil, c.err
	}
	return c.out, c.repairs, nil
}

func tooDeep(value []byte, maxDepth int) int {
	var b blockScan
	for i, c := range value {
		if b.str {
			b.inString(c)
		} else if b.inJSON(c); b.depth > maxDepth {
			return i
		}
	}
	return -1
}

// collapser copies valid JSON in compact form, leaving out members that repeat
// an earlier one of the same object with the same value.
type collapser struct {
	in      []byte
	pos     int
	out     []byte
	repairs []Repair
	err     *FormatError
}

func (c *collapser) space() {
	for c.pos < len(c.in) && isSpace(c.in[c.pos]) {
		c.pos++
	}
}

// copyTo copies the input up to end.
func (c *collapser) copyTo(end int) {
	c.out = append(c.out, c.in[c.pos:end]...)
	c.pos = end
}

func (c *collapser) value() {
	c.space()
	switch c.in[c.pos] {
	case '{':
		c.object()
	case '[':
		c.array()
	case '"':
		c.str()
	default:
		end := c.pos
		for end < len(c.in) && !isSpace(c.in[end]) && !bytes.ContainsRune([]byte(",]}"), rune(c.in[end])) {
			end++
		}
		c.copyTo(end)
	}
}

func (c *collapser) str() {
	end := c.pos + 1
	for ; c.in[end] != '"'; end++ {
		if c.in[end] == '\\' {
			end++
		}
	}
	c.copyTo(end + 1)
}

func (c *collapser) array() {
	c.copyTo(c.pos + 1)
	for c.space(); c.in[c.pos] != ']'; c.space() {
		if c.in[c.pos] == ',' {
			c.copyTo(c.pos + 1)
		}
		c.value()
	}
	c.copyTo(c.pos + 1)
}

func (c *collapser) object() {
	c.copyTo(c.pos + 1)
	seen := map[string][2]int{} // where in out the value of a key stands
	for c.space(); c.in[c.pos] != '}'; c.space() {
		if c.in[c.pos] == ',' {
			c.pos++
			c.space()
		}
		at, before := c.pos, len(c.out)
		if len(seen) > 0 {
			c.out = append(c.out, ',')
		}
		keyAt := len(c.out)
		c.str()
		var key string
		_ = json.Unmarshal(c.out[keyAt:], &key) // valid: the whole value was checked
		c.space()
		c.copyTo(c.pos + 1) // the colon
		valueAt := len(c.out)
		c.value()
		old, dup := seen[key]
		if !dup {
			seen[key] = [2]int{valueAt, len(c.out)}
			continue
		}
		if bytes.Equal(c.out[old[0]:old[1]], c.out[valueAt:]) {
			c.repairs = append(c.repairs, Repair{Code: "duplicate_key", Offset: int64(at)})
		} else if c.err == nil {
			c.err = &FormatError{Reason: DuplicateKey, Offset: int64(at), Detail: fmt.Sprintf("%q is given twice with different values", key)}
		}
		c.out = c.out[:before]
	}
	c.copyTo(c.pos + 1)
}
