package protocol_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"mylm/protocol"
	fit "mylm/tools"
)

// corpus calls f with every line of a file of the corpus, with -short with every eighth.
func corpus(t *testing.T, name string, f func(n int, line []byte)) {
	t.Helper()
	dir := os.Getenv("MYLM_CORPUS")
	if dir == "" {
		t.Skip("MYLM_CORPUS is not set: it names a folder with cases.jsonl and tools.jsonl.gz")
	}
	file, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var r io.Reader = file
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(file); err != nil {
			t.Fatal(err)
		}
	}
	s := bufio.NewScanner(r)
	s.Buffer(nil, 16<<20)
	n := 0
	for ; s.Scan(); n++ {
		if !testing.Short() || n%8 == 0 {
			f(n, s.Bytes())
		}
	}
	if s.Err() != nil || n == 0 {
		t.Fatalf("%s: %d lines, %v", name, n, s.Err())
	}
}

// TestCorpusCuts cuts each case in two: the outcome stays the same.
func TestCorpusCuts(t *testing.T) {
	corpus(t, "cases.jsonl", func(_ int, line []byte) {
		var c struct {
			ID, Input, Stop string
			Tools           []definition
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		stop := protocol.End
		if c.Stop == "length" {
			stop = protocol.Length
		}
		t.Run(c.ID, func(t *testing.T) {
			checkCuts(t, c.Input, protocol.Options{Tools: newToolset(c.Tools...)}, stop)
		})
	})
}

// TestCorpusReplies reads all replies of the corpus, whole and in small pieces.
// What is right is for its own scorer to say.
func TestCorpusReplies(t *testing.T) {
	for _, name := range []string{"cases.jsonl", "bfcl_raw.jsonl.gz", "dialects.jsonl.gz", "agents.jsonl.gz"} {
		corpus(t, name, func(n int, line []byte) {
			var c struct {
				ID, Input, Raw, Stop string
				Tools                []definition
			}
			if err := json.Unmarshal(line, &c); err != nil {
				t.Fatal(err)
			}
			stop := protocol.End
			if c.Stop == "length" {
				stop = protocol.Length
			}
			o, reply := protocol.Options{Tools: newToolset(c.Tools...)}, c.Input+c.Raw
			once := read(o, stop, reply)
			var pieces []string
			for i := 0; i < len(reply); i += 7 {
				pieces = append(pieces, reply[i:min(len(reply), i+7)])
			}
			if again := read(o, stop, pieces...); again.whole() != once.whole() {
				t.Errorf("%s line %d: in pieces\n got %s\nwant %s", name, n, again.whole(), once.whole())
			}
		})
	}
}

// TestCorpusTools writes a call of each tool in every dialect, and reads it back.
func TestCorpusTools(t *testing.T) {
	carried, not := map[string]int{}, map[string]int{}
	contradictory := 0 // schemas with an enum of values of another type: nothing fits them
	corpus(t, "tools.jsonl.gz", func(n int, line []byte) {
		var d definition
		if err := json.Unmarshal(line, &d); err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
		set := newToolset(d)
		g := &generator{rand.New(rand.NewPCG(7, uint64(n)))}
		args := g.object(d.Parameters)
		want := join(args)
		_, _, err := fit.Fit(d.Parameters, want)
		if err != nil {
			contradictory++
		}
		for _, dialect := range dialects {
			reply, ok := dialect.write(d, args)
			if !ok || err != nil && dialect.text {
				not[dialect.name]++
				continue
			}
			carried[dialect.name]++
			if err := readBack(set, d, reply, want, err == nil); err != nil {
				t.Errorf("%s: %v\nreply %s", dialect.name, err, reply)
			}
		}
	})
	if contradictory > 60 { // 48 of 3,778
		t.Errorf("%d generated calls do not fit their schema", contradictory)
	}
	for _, dialect := range dialects {
		t.Logf("%-16s carried %d, cannot carry %d", dialect.name, carried[dialect.name], not[dialect.name])
		if carried[dialect.name] == 0 {
			t.Errorf("%s: no call was written", dialect.name)
		}
	}
}

// readBack decodes a call in two pieces and fits its arguments if anything fits
// the schema.
func readBack(set *toolset, d definition, reply string, want json.RawMessage, fits bool) error {
	out := read(protocol.Options{Tools: set}, protocol.End, reply[:len(reply)/2], reply[len(reply)/2:])
	if out.call == nil {
		return fmt.Errorf("no call: %s %v", out.String(), out.fault)
	}
	args := out.call.Args
	if fits {
		var err *fit.ArgError
		if args, _, err = fit.Fit(d.Parameters, args); err != nil {
			return err
		}
	}
	if out.call.Name != d.Name || !bytes.Equal(args, want) && canonical(args) != canonical(want) {
		return fmt.Errorf("read %s %s, wrote %s %s", out.call.Name, args, d.Name, want)
	}
	return nil
}

// canonical writes JSON so that only its meaning and the digits of its numbers
// are left to compare.
func canonical(value json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return err.Error()
	}
	b, _ := json.Marshal(v) // it was read from JSON
	return string(b)
}

// argument is one argument, its value as JSON.
type argument struct {
	key    string
	value  json.RawMessage
	schema *jsonschema.Schema
}

func quote(s string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always can be
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func join(args []argument) json.RawMessage {
	var parts []string
	for _, a := range args {
		parts = append(parts, string(quote(a.key))+":"+string(a.value))
	}
	return json.RawMessage("{" + strings.Join(parts, ",") + "}")
}

// generator makes arguments from a schema.
type generator struct{ *rand.Rand }

// texts are hard to carry in one form or another.
var texts = []string{
	"", "plain", "two words", "Grüße 你好 🚀👩‍👩‍👧", "]]>", "</parameters>", "</tool_code>", "a </tool_code>\n<tool_code> b",
	`say "hi"`, `it's`, "one\ntwo", "ends\n", "\n starts", "a\r\n\tb", `C:\dir\new`, "a & b", "&lt;x&gt; &amp;", "a < b > c",
	`<a href="/x">y</a>`, "```\ncode\n```", "{", `"}`, `{"name": "x"}`, "[1, 2", "null", "True", "12", "// no comment", "# none", "/* x", `\u0041 \n`,
	"<observation>\n", "</think>", "<final_answer>", "Observation: x\nAction: y", "\u200b\ufeff \u00a0", "f(x=1), g(", `printf("{");`, `say "`, "a, b: c}",
}

var integers = []string{"0", "-1", "7", "9007199254740993", "123456789012345678901234567890", "-98765432109876543210"}
var numbers = []string{"0", "1.50", "-0.25", "1e-7", "3.0", "9007199254740993", "0.1234567890123456789"}

func (g *generator) pick(from []string) json.RawMessage {
	return json.RawMessage(from[g.IntN(len(from))])
}

func (g *generator) object(s *jsonschema.Schema) []argument {
	var args []argument
	for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
		if slices.Contains(s.Required, key) || g.IntN(2) == 0 {
			args = append(args, argument{key, g.value(s.Properties[key]), s.Properties[key]})
		}
	}
	return args
}

func (g *generator) value(s *jsonschema.Schema) json.RawMessage {
	if len(s.Enum) > 0 {
		b, _ := json.Marshal(s.Enum[g.IntN(len(s.Enum))]) // it was read from JSON
		return b
	}
	switch s.Type {
	case "integer":
		if s.Maximum != nil {
			return json.RawMessage("0")
		}
		return g.pick(integers)
	case "number":
		return g.pick(numbers)
	case "boolean":
		return g.pick([]string{"true", "false"})
	case "object":
		return join(g.object(s))
	case "array":
		var items []string
		n := g.IntN(3)
		if s.MinItems != nil {
			n = *s.MinItems
		}
		for range n {
			item := s.Items
			if item == nil {
				item = &jsonschema.Schema{Type: "string"}
			}
			items = append(items, string(g.value(item)))
		}
		return json.RawMessage("[" + strings.Join(items, ",") + "]")
	}
	return quote(texts[g.IntN(len(texts))])
}

// dialects write a call. ok is false if the form cannot carry it.
var dialects = []struct {
	name  string
	text  bool // values are text, and Fit has to make of them what the schema wants
	write func(d definition, args []argument) (reply string, ok bool)
}{
	{"mylm", false, func(d definition, args []argument) (string, bool) {
		return protocol.EncodeCall(d.Name, join(args)), true
	}},
	{"tool_call", false, wrapped("<tool_call>\n", "\n</tool_call>")},
	{"function_call", false, wrapped("<function_call>", "</function_call>")},
	{"delimiter", false, wrapped("<|im_start|>\n", "\n<|im_start|>")},
	{"json", false, wrapped("", "")},
	{"fenced json", false, wrapped("```json\n", "\n```")},
	{"tool_calls", false, wrapped(`{"tool_calls": [`, "]}")},
	{"action", false, func(d definition, args []argument) (string, bool) {
		return fmt.Sprintf("Thought: so\nAction: %s\nAction Input: %s\nObservation: x", d.Name, join(args)), true
	}},
	{"named", false, func(d definition, args []argument) (string, bool) { return d.Name + "\n" + string(join(args)), true }},
	{"python", false, python},
	{"function", true, elements("<function=%s>", "<parameter=%s>", "</parameter>", "</function>", plainText)},
	{"invoke", true, elements(`<invoke name="%s">`, `<parameter name="%s">`, "</parameter>", "</invoke>", elementText)},
}

func wrapped(before, behind string) func(definition, []argument) (string, bool) {
	return func(d definition, args []argument) (string, bool) {
		return fmt.Sprintf(`%s{"name": %s, "arguments": %s}%s`, before, quote(d.Name), join(args), behind), true
	}
}

var pythonName = regexp.MustCompile(`^[\p{L}_][\p{L}\d_]*$`)

// python writes a call with keywords: they have to be names as Python has them.
func python(d definition, args []argument) (string, bool) {
	var keywords []string
	for _, a := range args {
		if !pythonName.MatchString(a.key) {
			return "", false
		}
		value := string(a.value)
		if word, ok := map[string]string{"true": "True", "false": "False"}[value]; ok {
			value = word
		}
		keywords = append(keywords, a.key+"="+value)
	}
	return "[" + d.Name + "(" + strings.Join(keywords, ", ") + ")]", true
}

// tags are what an argument that has an element of its own can only hold
// escaped: nothing tells it from a tag of the call.
var tags = regexp.MustCompile(`(?i)</?(tool_code|observation)`)

// elements writes each argument as text in an element.
func elements(open, openArg, closeArg, closer string, write func(string) (string, bool)) func(definition, []argument) (string, bool) {
	return func(d definition, args []argument) (string, bool) {
		var b strings.Builder
		fmt.Fprintf(&b, open, d.Name)
		for _, a := range args {
			var text string
			if json.Unmarshal(a.value, &text) != nil {
				text = string(a.value)
			}
			if strings.ContainsAny(a.key, `<>"' `) {
				return "", false
			}
			text, ok := write(text)
			if !ok {
				return "", false
			}
			fmt.Fprintf(&b, "\n"+openArg+"%s"+closeArg, a.key, text)
		}
		return b.String() + "\n" + closer, true
	}
}

// plainText writes a text so that an element <parameter=KEY> gives it back.
func plainText(text string) (string, bool) {
	return "\n" + text + "\n", !tags.MatchString(text) && !strings.Contains(text, "</parameter") && !strings.HasPrefix(strings.TrimSpace(text), "<![CDATA[")
}

// elementText writes a text so that an element of the house form gives it back.
func elementText(text string) (string, bool) {
	_, ok := plainText(text)
	one := strings.TrimSuffix(text, "\n")
	return "\n" + text, ok && (one == text || strings.Contains(one, "\n")) // else the line end would be its tag's
}
