package protocol_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rogpeppe/go-internal/txtar"

	"mylm/protocol"
)

var update = flag.Bool("update", false, "rewrite the want section of the vectors")

// toolset is a lookup of tools with schemas.
type toolset struct {
	names   []string
	schemas map[string]*jsonschema.Schema
}

func (s *toolset) Names() []string { return s.names }
func (s *toolset) Schema(name string) (*jsonschema.Schema, bool) {
	schema, ok := s.schemas[name]
	return schema, ok
}

// definition is a tool as the vectors and the corpus write it.
type definition struct {
	Name        string             `json:"name"`
	Description string             `json:"description"`
	Parameters  *jsonschema.Schema `json:"parameters"`
}

func newToolset(defs ...definition) *toolset {
	s := &toolset{schemas: map[string]*jsonschema.Schema{}}
	for _, d := range defs {
		s.names = append(s.names, d.Name)
		s.schemas[d.Name] = cmp.Or(d.Parameters, &jsonschema.Schema{})
	}
	return s
}

func parseToolset(t testing.TB, text string) *toolset {
	t.Helper()
	var defs []definition
	if err := json.Unmarshal([]byte(text), &defs); err != nil {
		t.Fatalf("tools: %v", err)
	}
	return newToolset(defs...)
}

// outcome is what a decoder made of a reply.
type outcome struct {
	thought, text, answer string
	cut                   string // the beginning of a tag
	retracted, answered   bool
	call                  *protocol.ToolCall
	fault                 *protocol.FormatError
	decided               int    // bytes that were read when the verdict was known; -1: at the end of the reply
	broken                string // a promise to callers that does not hold
}

// read decodes a reply that arrives in pieces.
func read(o protocol.Options, stop protocol.Stop, pieces ...string) outcome {
	d := protocol.NewDecoder(o)
	out := outcome{decided: -1}
	n := 0
	for _, piece := range pieces {
		n += len(piece)
		if out.take(d.Push(piece)); d.Done() {
			out.decided = n
			break
		}
	}
	out.take(d.Close(stop))
	if !d.Done() {
		out.broken = "the decoder is closed and not done"
	}
	return out
}

func (o *outcome) take(parts []protocol.Part) {
	for _, p := range parts {
		if o.call != nil || o.fault != nil {
			o.broken = "something follows the verdict: " + fmt.Sprint(p.Kind)
		}
		switch p.Kind {
		case protocol.Text:
			if o.answered {
				o.answer += p.Text
			} else {
				o.text += p.Text
			}
		case protocol.Thought:
			o.thought += p.Text
		case protocol.Cut:
			o.cut = p.Text
		case protocol.Answer:
			o.answered = true
		case protocol.Retract:
			o.thought += o.text + o.answer
			o.text, o.answer, o.retracted, o.answered = "", "", true, false
		case protocol.Call:
			o.call = p.Call
		case protocol.Malformed:
			o.fault = p.Err
		}
	}
}

// String writes an outcome as the want section of a vector has it.
func (o *outcome) String() string {
	var b strings.Builder
	quoted := func(word, s string, given bool) {
		if s != "" || given {
			fmt.Fprintf(&b, "%s %s\n", word, strconv.Quote(s))
		}
	}
	quoted("thought", o.thought, false)
	if o.retracted {
		b.WriteString("retract\n")
	}
	quoted("text", o.text, false)
	quoted("answer", o.answer, o.answered)
	quoted("cut", o.cut, false)
	switch {
	case o.call != nil:
		fmt.Fprintf(&b, "call %s %s\ndialect %s\n", o.call.Name, o.call.Args, o.call.Dialect)
		var codes []string
		for _, r := range o.call.Repairs {
			codes = append(codes, r.Code)
		}
		if codes != nil {
			fmt.Fprintf(&b, "repairs %s\n", strings.Join(codes, ", "))
		}
	case o.fault != nil:
		b.WriteString(strings.TrimSpace(fmt.Sprintf("malformed %s %s", o.fault.Reason, o.fault.Tool)) + "\n")
	default:
		b.WriteString("final\n")
	}
	return b.String()
}

// whole is all of an outcome that must not depend on how the reply was cut.
func (o *outcome) whole() string {
	s := o.String() + o.broken
	if o.call != nil {
		s += fmt.Sprintf("%+v\n%s", o.call.Repairs, o.call.Raw)
	}
	if o.fault != nil {
		s += fmt.Sprintf("%+v", *o.fault)
	}
	return s
}

// everyCut is up to which length a reply is cut in two at every byte; above, at
// someCuts seeded places.
const everyCut, someCuts = 4 << 10, 500

func cuts(reply string) []int {
	var at []int
	if len(reply) <= everyCut {
		for i := 1; i < len(reply); i++ {
			at = append(at, i)
		}
		return at
	}
	r := rand.New(rand.NewPCG(1, uint64(len(reply))))
	for range someCuts {
		at = append(at, 1+r.IntN(len(reply)-1))
	}
	return at
}

func bytesOf(reply string) []string {
	pieces := make([]string, len(reply))
	for i := range pieces {
		pieces[i] = reply[i : i+1]
	}
	return pieces
}

// checkCuts reports the first place at which cutting the reply in two changes
// what is made of it.
func checkCuts(t *testing.T, reply string, o protocol.Options, stop protocol.Stop) outcome {
	t.Helper()
	out := read(o, stop, reply)
	if out.broken != "" {
		t.Error(out.broken)
	}
	want := out.whole()
	for _, at := range cuts(reply) {
		if testing.Short() && len(reply) > 1000 && at%16 != 0 { // as with the race detector, which takes 50 times as long
			continue
		}
		got := read(o, stop, reply[:at], reply[at:])
		if got.whole() != want {
			t.Errorf("cut at byte %d:\n got %s\nwant %s", at, got.whole(), want)
			return out
		}
	}
	bytewise := read(o, stop, bytesOf(reply)...)
	if bytewise.whole() != want {
		t.Errorf("byte by byte:\n got %s\nwant %s", bytewise.whole(), want)
	}
	return bytewise
}

// section is the text of a section of a vector; the line end before the next
// section is no part of it.
func section(a *txtar.Archive, name string) (text string, ok bool) {
	for _, f := range a.Files {
		switch f.Name {
		case name:
			return strings.TrimSuffix(string(f.Data), "\n"), true
		case name + " quoted":
			text, err := strconv.Unquote(strings.TrimSpace(string(f.Data)))
			return text, err == nil
		}
	}
	return "", false
}

// run makes the want section of a vector.
func run(t *testing.T, a *txtar.Archive, defaults *toolset) string {
	t.Helper()
	set := defaults
	if defs, ok := section(a, "tools"); ok {
		set = parseToolset(t, defs)
	}
	if data, ok := section(a, "data"); ok {
		return fmt.Sprintf("data %s\n", strconv.Quote(protocol.Neutralise(data)))
	}
	if said, ok := section(a, "said"); ok {
		quoted, _ := json.Marshal(said)
		plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(quoted))
		escaped := protocol.EscapeTokens(json.RawMessage(plain))
		var again string
		if err := json.Unmarshal(escaped, &again); err != nil || again != said {
			t.Errorf("%s is %q (%v)", escaped, again, err)
		}
		return fmt.Sprintf("said %s\nescaped %s\n", strconv.Quote(protocol.NeutraliseTokens(said)), escaped)
	}
	if result, ok := section(a, "result"); ok {
		head, body, _ := strings.Cut(result, "\n")
		kind, name, _ := strings.Cut(head, " ")
		return fmt.Sprintf("observation %s\n", strconv.Quote(protocol.EncodeObservation(name, kind == "success", body)))
	}
	if call, ok := section(a, "call"); ok {
		name, args, _ := strings.Cut(call, " ")
		return fmt.Sprintf("block %s\n", strconv.Quote(protocol.EncodeCall(name, json.RawMessage(args))))
	}
	reply, ok := section(a, "reply")
	if !ok {
		t.Fatal("the vector has no reply, or one that cannot be unquoted")
	}
	o, stop := options(t, a, set)
	out := checkCuts(t, reply, o, stop)
	want := out.String()
	if out.decided >= 0 {
		want += fmt.Sprintf("decided %d\n", out.decided)
	}
	return want
}

// options reads the sections stop and limits.
func options(t *testing.T, a *txtar.Archive, set *toolset) (protocol.Options, protocol.Stop) {
	t.Helper()
	o, stop := protocol.Options{Tools: set}, protocol.End
	switch s, _ := section(a, "stop"); s {
	case "", "end":
	case "length":
		stop = protocol.Length
	default:
		t.Fatalf("stop %q is neither end nor length", s)
	}
	if s, ok := section(a, "limits"); ok {
		if _, err := fmt.Sscanf(s, "bytes %d depth %d", &o.MaxArgs, &o.MaxDepth); err != nil {
			t.Fatalf("limits %q: %v", s, err)
		}
	}
	return o, stop
}

// sections are the names that a vector's sections have; any other name begins the
// next vector.
var sections = []string{"tools", "stop", "limits", "reply", "reply quoted", "data", "data quoted", "said", "result", "call", "want"}

// vector is one case of an archive: its comment is what stands under its name.
type vector struct {
	name string
	*txtar.Archive
}

// archives reads all vectors, by file.
func archives(t testing.TB) map[string][]vector {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "vectors", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	all := map[string][]vector{}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var vs []vector
		for _, f := range a.Files {
			if slices.Contains(sections, f.Name) {
				last := vs[len(vs)-1]
				last.Files = append(last.Files, f)
				continue
			}
			vs = append(vs, vector{f.Name, &txtar.Archive{Comment: f.Data}})
		}
		all[file] = vs
	}
	return all
}

// vectors are those of all files.
func vectors(t testing.TB) []vector {
	t.Helper()
	var all []vector
	for _, vs := range archives(t) {
		all = append(all, vs...)
	}
	return all
}

// vectorTools are the tools that a vector without its own has.
func vectorTools(t testing.TB) *toolset {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "vectors", "tools.json"))
	if err != nil {
		t.Fatal(err)
	}
	return parseToolset(t, string(text))
}

func TestVectors(t *testing.T) {
	defaults := vectorTools(t)
	for file, vs := range archives(t) {
		for _, v := range vs {
			t.Run(v.name, func(t *testing.T) {
				got := run(t, v.Archive, defaults)
				if *update {
					v.Files = slices.DeleteFunc(v.Files, func(f txtar.File) bool { return f.Name == "want" })
					v.Files = append(v.Files, txtar.File{Name: "want", Data: []byte(got)})
				}
				if want, _ := section(v.Archive, "want"); got != want+"\n" {
					t.Errorf("\n got %s\nwant %s", got, want)
				}
			})
		}
		if *update {
			rewrite(t, file, vs)
		}
	}
}

// TestHostile holds the hostile vectors, and those of replies that are refused, to
// their promise: no known tool runs. Together with TestCorpusReplies they run at
// least 92% of the statements that decode:
//
//	MYLM_CORPUS=… go test ./protocol -run 'CorpusReplies|Hostile|Neutralise|Encode|PushCall|ReadValue|Doubt' -cover
func TestHostile(t *testing.T) {
	defaults, n := vectorTools(t), 0
	for _, v := range vectors(t) {
		hostile := strings.HasPrefix(v.name, "hostile-")
		if want, _ := section(v.Archive, "want"); !hostile && !strings.Contains(want, "malformed") {
			continue
		}
		if hostile {
			n++
		}
		set := defaults
		if defs, ok := section(v.Archive, "tools"); ok {
			set = parseToolset(t, defs)
		}
		reply, _ := section(v.Archive, "reply")
		o, stop := options(t, v.Archive, set)
		if out := read(o, stop, reply); out.call != nil && slices.Contains(set.names, out.call.Name) {
			t.Errorf("%s: %s runs with %s", v.name, out.call.Name, out.call.Args)
		}
	}
	if n < 150 {
		t.Errorf("only %d hostile vectors", n)
	}
}

func rewrite(t *testing.T, file string, vs []vector) {
	t.Helper()
	old, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	a := &txtar.Archive{Comment: old.Comment}
	for _, v := range vs {
		a.Files = append(append(a.Files, txtar.File{Name: v.name, Data: v.Comment}), v.Files...)
	}
	if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}

// rules finds the rules that a text states or names.
func rules(text, pattern string) []string {
	var out []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// TestRules holds the specification, the vectors and the code together: each rule
// has a vector, the comment of what decides it says so on a line with its number, where a
// search for the number finds it, and nothing else is named.
func TestRules(t *testing.T) {
	spec, err := os.ReadFile("SPEC.md")
	if err != nil {
		t.Fatal(err)
	}
	stated := rules(string(spec), `(?m)^- \*\*([A-Z]\d+)\*\*`)
	if len(stated) == 0 {
		t.Fatal("SPEC.md states no rules")
	}
	for i, rule := range stated {
		if slices.Contains(stated[:i], rule) {
			t.Errorf("SPEC.md states %s twice", rule)
		}
	}
	covered := map[string]bool{}
	for _, v := range vectors(t) {
		head, about, _ := strings.Cut(string(v.Comment), ":")
		named := rules(head, `([A-Z]\d+)`)
		if len(named) == 0 || strings.TrimSpace(about) == "" {
			t.Errorf("%s: the comment must begin with its rules and a colon, and say what it covers", v.name)
		}
		for _, rule := range named {
			covered[rule] = true
			if !slices.Contains(stated, rule) {
				t.Errorf("%s: SPEC.md has no rule %s", v.name, rule)
			}
		}
	}
	var code strings.Builder
	files, _ := filepath.Glob("*.go")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && !strings.HasSuffix(file, "_test.go") {
			code.Write(text)
		}
	}
	const number = `\b([TBPVDNHALE]\d{1,2})\b`
	inCode := rules(code.String(), number)
	var decided []string
	for line := range strings.Lines(code.String()) {
		if strings.HasPrefix(line, "//") && strings.Contains(line, " decides ") {
			decided = append(decided, rules(line, number)...)
		}
	}
	for _, rule := range stated {
		if !covered[rule] {
			t.Errorf("no vector covers rule %s", rule)
		}
		if !slices.Contains(decided, rule) {
			t.Errorf("no line of a comment says \"decides %s\"", rule)
		}
	}
	for _, first := range rules(code.String(), number+` to [TBPVDNHALE]?\d`) {
		t.Errorf("a search does not find the rules behind \"%s to\": write them all", first)
	}
	for _, rule := range append(rules(string(spec), `\b([A-Z]\d+)\b`), inCode...) {
		if !slices.Contains(stated, rule) {
			t.Errorf("a rule %s is named that SPEC.md does not state", rule)
		}
	}
}
