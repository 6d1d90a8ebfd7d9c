package protocol_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"mylm/protocol"
)

// tools is a lookup of the tools that the tests know.
type tools []string

func (t tools) Names() []string { return t }
func (t tools) Schema(name string) (*jsonschema.Schema, bool) {
	for _, n := range t {
		if n == name {
			return &jsonschema.Schema{Type: "object"}, true
		}
	}
	return nil, false
}

var known = tools{"list", "write", "zap"}

// decode reads a reply in chunks of n bytes (0: whole) and writes down what the
// decoder made of it, one line a kind: text (what stands at the end), thought,
// and the verdict.
func decode(reply string, n int, stop protocol.Stop) string {
	d := protocol.NewDecoder(protocol.Options{Tools: known})
	var text, thought, verdict strings.Builder
	take := func(parts []protocol.Part) {
		for _, p := range parts {
			switch p.Kind {
			case protocol.Text:
				text.WriteString(p.Text)
			case protocol.Thought:
				thought.WriteString(p.Text)
			case protocol.Answer:
				text.WriteString("|")
			case protocol.Retract:
				thought.WriteString(text.String())
				text.Reset()
			case protocol.Call:
				fmt.Fprintf(&verdict, "call %s %s", p.Call.Name, p.Call.Args)
			case protocol.Malformed:
				verdict.WriteString(strings.TrimSpace("malformed " + string(p.Err.Reason) + " " + p.Err.Tool))
			}
		}
	}
	for len(reply) > 0 && n > 0 && !d.Done() {
		k := min(n, len(reply))
		take(d.Push(reply[:k]))
		reply = reply[k:]
	}
	if n == 0 {
		take(d.Push(reply))
	}
	take(d.Close(stop))
	return strings.TrimSpace(fmt.Sprintf("text %q thought %q %s", text.String(), thought.String(), verdict.String()))
}

const list = "<tool_code>\n<name>list</name>\n<parameters>{}</parameters>\n</tool_code>"

var replies = []struct {
	name, reply string
	stop        protocol.Stop
	want        string
}{
	{"answer", "It is 4.", 0, `text "It is 4." thought ""`},
	{"call", "Look.\n" + list, 0, `text "Look.\n" thought "" call list {}`},
	{"call with arguments", "<tool_code><name>write</name><parameters>{\"a\": 1, \"b\": [1.50, \"x\"]}</parameters></tool_code>", 0, `text "" thought "" call write {"a":1,"b":[1.50,"x"]}`},
	{"spaced and upper-case tags", "< TOOL_CODE >\n<name>list</name><parameters>{}</parameters>\n</tool_code\n>", 0, `text "" thought "" call list {}`},
	{"indented", "  \t" + list, 0, `text "  \t" thought "" call list {}`},
	{"tags inside a string argument", `<tool_code><name>write</name><parameters>{"t": "</tool_code><observation>\"</parameters>"}</parameters></tool_code>`, 0,
		`text "" thought "" call write {"t":"</tool_code><observation>\"</parameters>"}`},
	{"invented observation after the call", list + "\n<observation>\nx\n</observation>\nDone.", 0, `text "" thought "" call list {}`},
	{"second call", list + "\n" + strings.Replace(list, "list", "write", 1), 0, `text "" thought "" call list {}`},
	{"prose after the call", list + "\nNow I know.", 0, `text "" thought "" call list {}`},
	{"no parameters", "<tool_code><name>list</name></tool_code>", 0, `text "" thought "" call list {}`},
	{"self-closed parameters", "<tool_code><name>list</name><parameters/></tool_code>", 0, `text "" thought "" call list {}`},
	{"unclosed, whole value, ended by itself", "<tool_code>\n<name>list</name>\n<parameters>{}", 0, `text "" thought "" call list {}`},
	{"unclosed, whole value, cut by the limit", "<tool_code>\n<name>list</name>\n<parameters>{}", protocol.Length, `text "" thought "" malformed truncated list`},
	{"closed before the limit", list, protocol.Length, `text "" thought "" call list {}`},
	{"cut in the value", `<tool_code><name>write</name><parameters>{"a": "b`, 0, `text "" thought "" malformed truncated write`},
	{"cut after the opener", "I look.\n<tool_code>\n", 0, `text "I look.\n" thought "" malformed truncated`},
	{"unclosed, then an observation", "<tool_code>\n<name>list</name>\n<parameters>{}</parameters>\n<observation>fake", 0, `text "" thought "" call list {}`},
	{"value never closed", `<tool_code><name>write</name><parameters>{"a": 1</parameters></tool_code>`, 0, `text "" thought "" malformed bad_json write`},
	{"no name", "<tool_code><parameters>{}</parameters></tool_code>", 0, `text "" thought "" malformed no_name`},
	{"array for an object", "<tool_code><name>list</name><parameters>[1]</parameters></tool_code>", 0, `text "" thought "" malformed not_object list`},
	{"words for an object", "<tool_code><name>list</name><parameters>ls -la</parameters></tool_code>", 0, `text "" thought "" malformed bad_json list`},
	{"same key, same value", `<tool_code><name>write</name><parameters>{"a": [1, 2], "b": 1, "a": [1,2]}</parameters></tool_code>`, 0, `text "" thought "" call write {"a":[1,2],"b":1}`},
	{"same key, other value", `<tool_code><name>write</name><parameters>{"a": 1, "a": 2}</parameters></tool_code>`, 0, `text "" thought "" malformed duplicate_key write`},
	{"same key in other spelling", `<tool_code><name>write</name><parameters>{"a": 1, "\u0061": 2}</parameters></tool_code>`, 0, `text "" thought "" malformed duplicate_key write`},
	{"20,000 levels deep", `<tool_code><name>write</name><parameters>` + strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000) + `</parameters></tool_code>`, 0, `text "" thought "" malformed too_deep write`},
	{"big integers", `<tool_code><name>write</name><parameters>{"id": 123456789012345678901234567890}</parameters></tool_code>`, 0, `text "" thought "" call write {"id":123456789012345678901234567890}`},

	{"a mention, then a real call", "Like <tool_code><name>N</name><parameters>{}</parameters></tool_code>\n" + list + "\n" + list, 0, `text "Like <tool_code><name>N</name><parameters>{}</parameters></tool_code>\n" thought "" call list {}`},
	{"two values", "<tool_code><name>write</name><parameters>{\"a\":1}\n{\"a\":2}</parameters></tool_code>", 0, `text "" thought "" malformed ambiguous write`},
	{"arguments before the name", "<tool_code><parameters>{\"a\":1}</parameters><name>write</name></tool_code>", 0, `text "" thought "" call write {"a":1}`},
	{"end of line, end of reply", "Checking. " + list, 0, `text "Checking. " thought "" call list {}`},
	{"mentioned in a line", "Write " + list + " to list.", 0, `text "Write <tool_code>\n<name>list</name>\n<parameters>{}</parameters>\n</tool_code> to list." thought "" malformed unknown_form list`},
	{"tag mentioned in a line", "The <tool_code> tag opens a call.", 0, `text "The <tool_code> tag opens a call." thought ""`},
	{"mid-line call and invented observation", "Checking. " + list + "\n<observation>x", 0, `text "Checking. " thought "" call list {}`},
	{"mid-line, unknown tool", "Like <tool_code><name>N</name><parameters>{json}</parameters></tool_code>", 0, `text "Like <tool_code><name>N</name><parameters>{json}</parameters></tool_code>" thought ""`},
	{"inline code", "Use `<tool_code>` and `" + `<observation>` + "`.", 0, "text \"Use `<tool_code>` and `<observation>`.\" thought \"\""},
	{"block quote", "> <tool_code>\n> <name>list</name>\n> <parameters>{}</parameters>\n> </tool_code>\nold", 0, `text "> <tool_code>\n> <name>list</name>\n> <parameters>{}</parameters>\n> </tool_code>\nold" thought ""`},
	{"fence is the whole message", "```xml\n" + list + "\n```\n", 0, "text \"```xml\\n\" thought \"\" call list {}"},
	{"fence after prose ends the message", "For example:\n```xml\n" + list + "\n```", 0, "text \"For example:\\n```xml\\n\" thought \"\" malformed fenced_call list"},
	{"fence followed by prose", "```\n" + list + "\n```\nis a call.", 0, "text \"```\\n<tool_code>\\n<name>list</name>\\n<parameters>{}</parameters>\\n</tool_code>\\n```\\nis a call.\" thought \"\""},
	{"fence never closed", "The log:\n```\npanic\n\n" + list, 0, "text \"The log:\\n```\\npanic\\n\\n\" thought \"\" call list {}"},
	{"after a fence", "```\nx\n```\n" + list, 0, "text \"```\\nx\\n```\\n\" thought \"\" call list {}"},

	{"thought then answer", "<think>Two and two.</think>\nFour.", 0, `text "\nFour." thought "Two and two."`},
	{"call inside thought", "<think>" + list + "</think>No.", 0, `text "No." thought "<tool_code>\n<name>list</name>\n<parameters>{}</parameters>\n</tool_code>"`},
	{"thought then call", "<think>x</think>" + list, 0, `text "" thought "x" call list {}`},
	{"thought never closed", "<think>Two and", 0, `text "" thought "Two and" malformed only_thought`},
	{"thought opened by the template", "Two and two.\n</think>\nFour.", 0, `text "\nFour." thought "Two and two.\n"`},
	{"nothing but thought", "Two and two.</think>\n ", 0, `text "\n " thought "Two and two." malformed only_thought`},
	{"empty", "", 0, `text "" thought "" malformed empty`},
	{"white space", " \n\t\r\n", 0, `text " \n\t\r\n" thought "" malformed empty`},

	{"wrapped answer", "<final_answer>\n42\n</final_answer>\n", 0, `text "|\n42\n" thought ""`},
	{"wrapped answer, unclosed", "I know.\n<final_answer>42", 0, `text "I know.\n|42" thought ""`},
	{"block inside an answer", "<final_answer>It was\n" + list + "\n</final_answer>", 0, `text "|It was\n<tool_code>\n<name>list</name>\n<parameters>{}</parameters>\n</tool_code>\n" thought ""`},
	{"call after a closed answer", "<final_answer>42</final_answer>\n" + list, 0, `text "|42" thought "" malformed call_after_answer`},
	{"call before an answer", list + "<final_answer>42</final_answer>", 0, `text "" thought "" call list {}`},
	{"answer tag mentioned", "Wrap it in `<final_answer>` tags.", 0, "text \"Wrap it in `<final_answer>` tags.\" thought \"\""},
	{"invented observation without a call", "I run it.\n<observation>\nok", 0, `text "I run it.\n" thought "" malformed invented_observation`},
	{"other tags", "<toolbar> <tool_code_block> < b <", 0, `text "<toolbar> <tool_code_block> < b <" thought ""`},
}

func TestDecoder(t *testing.T) {
	for _, tt := range replies {
		for _, n := range []int{0, 1, 2, 3, 7} {
			if got := decode(tt.reply, n, tt.stop); got != tt.want {
				t.Errorf("%s, chunks of %d:\n got %s\nwant %s", tt.name, n, got, tt.want)
			}
		}
	}
}

// TestDecoderWithoutTools reads all vectors with the zero value of Options.
func TestDecoderWithoutTools(t *testing.T) {
	for _, v := range vectors(t) {
		if reply, ok := section(v.Archive, "reply"); ok {
			sound(t, protocol.Options{}, reply, len(reply)/2)
		}
	}
}

func TestDecoderSaysWhenToStop(t *testing.T) {
	d := protocol.NewDecoder(protocol.Options{})
	d.Push(list[:len(list)-1])
	if d.Done() {
		t.Fatal("done before the block is closed")
	}
	parts := d.Push(">\n<observation>fake</observation>")
	if !d.Done() || len(parts) != 1 || parts[0].Kind != protocol.Call {
		t.Fatalf("parts %+v, done %v", parts, d.Done())
	}
	if d.DroppedCall() {
		t.Error("an observation is taken for a call")
	}
	for _, reply := range []string{list + list, "See: " + list + "\n" + list} {
		d = protocol.NewDecoder(protocol.Options{})
		if d.Push(reply); !d.Done() || !d.DroppedCall() {
			t.Errorf("%q: done %v, dropped call %v", reply, d.Done(), d.DroppedCall())
		}
	}
}

func TestDecoderPassesTextOnAtOnce(t *testing.T) {
	d := protocol.NewDecoder(protocol.Options{})
	for _, s := range []string{"The ", "answer is ", "a < b, `", "<b>", "\n"} {
		if parts := d.Push(s); len(parts) != 1 || parts[0].Text != s {
			t.Errorf("pushed %q, got %+v", s, parts)
		}
	}
	if parts := d.Push("see <tool"); len(parts) != 1 || parts[0].Text != "see " {
		t.Errorf("a partial tag was passed on: %+v", parts)
	}
}

func TestDecoderOffsets(t *testing.T) {
	reply := "Hi.\n<tool_code><name>write</name><parameters>{\"a\": x}</parameters></tool_code>"
	d := protocol.NewDecoder(protocol.Options{})
	parts := d.Push(reply)
	err := parts[len(parts)-1].Err
	if err == nil || reply[err.Offset] != 'x' {
		t.Errorf("error %v does not point at the x", err)
	}
	if !strings.Contains(err.Error(), "write") {
		t.Errorf("error %q does not name the tool", err)
	}
}

func TestDecoderLimits(t *testing.T) {
	d := protocol.NewDecoder(protocol.Options{MaxArgs: 1000})
	d.Push("<tool_code><name>write</name><parameters>{\"a\": \"")
	parts := d.Push(strings.Repeat("x", 2000))
	if len(parts) != 1 || parts[0].Kind != protocol.Malformed || parts[0].Err.Reason != protocol.TooLarge || !d.Done() {
		t.Errorf("got %+v", parts)
	}
	args, _ := json.Marshal(map[string]string{"a": strings.Repeat("ü<", 10<<20/8)})
	d = protocol.NewDecoder(protocol.Options{})
	parts = d.Push(protocol.EncodeCall("write", args))
	if len(parts) != 1 || parts[0].Kind != protocol.Call || string(parts[0].Call.Args) != string(args) {
		t.Error("a 10 MB argument does not arrive whole")
	}
}

// BenchmarkMentions reads what is no call but begins like one, again and again.
// What is given back is not looked at from its beginning each time: the time is
// that of a few looks at each byte.
func BenchmarkMentions(b *testing.B) {
	for name, s := range map[string]string{
		"mentions": strings.Repeat("a <tool_code> b ", 1<<16),
		"spaces":   "a <tool_code>" + strings.Repeat(" ", 1<<20),
		"newlines": "{" + strings.Repeat("\n", 1<<20),
		"actions":  strings.Repeat("x\nAction: {\n", 1<<16),
		"thoughts": strings.Repeat("{ <tool_code>\n</think>", 1<<16),
		"closers":  "<tool_code><name>read_file</name><path>" + strings.Repeat("</", 1<<19),
		"lists":    "<tool_code><name>search_memory</name>" + strings.Repeat("<tags>x</tags>", 1<<16) + "</tool_code>",
		"calls":    strings.Repeat("read_file(path=1)\n", 1<<16),
		"tokens":   strings.Repeat("\n<|im_start|>", 1<<16),
	} {
		for _, n := range []int{1, 1 << 20} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.SetBytes(int64(len(s)))
				for b.Loop() {
					d := protocol.NewDecoder(protocol.Options{Tools: known})
					for i := 0; i < len(s); i += n {
						d.Push(s[i:min(len(s), i+n)])
					}
					d.Close(protocol.End)
				}
			})
		}
	}
}

func FuzzChunks(f *testing.F) {
	for _, tt := range replies {
		if len(tt.reply) < 4096 {
			f.Add(tt.reply, uint8(3), tt.stop == protocol.End)
		}
	}
	for _, v := range vectors(f) {
		if reply, ok := section(v.Archive, "reply"); ok {
			f.Add(reply, uint8(0), true)
		}
	}
	o := protocol.Options{Tools: vectorTools(f)} // with arguments to be confused about
	f.Fuzz(func(t *testing.T, reply string, n uint8, end bool) {
		stop := protocol.Length
		if end {
			stop = protocol.End
		}
		once := read(o, stop, reply)
		if once.call != nil && !json.Valid(once.call.Args) {
			t.Errorf("the arguments are no JSON: %s", once.call.Args)
		}
		at := int(n) % (len(reply) + 1)
		twice := read(o, stop, reply[:at], reply[at:])
		if twice.whole() != once.whole() {
			t.Errorf("cut at byte %d:\n got %s\nwant %s", at, twice.whole(), once.whole())
		}
		whole := decode(reply, 0, stop)
		if got := decode(reply, int(n)+1, stop); got != whole {
			t.Errorf("chunks of %d:\n got %s\nwant %s", int(n)+1, got, whole)
		}
	})
}
