package protocol_test

import (
	"testing"

	"mylm/protocol"
)

func TestPushCall(t *testing.T) {
	const house = "<tool_code><name>read_file</name><parameters>{\"path\":\"text\"}</parameters></tool_code>"
	tools := vectorTools(t)
	tests := []struct {
		before, name, args string
		tool, got          string // the call
		reason             protocol.Reason
		dialect            string
	}{
		{"", "read_file", `{"path": "a"}`, "read_file", `{"path":"a"}`, "", "native"},
		{"I will look.\n", "read_file", `{"path":1.50}`, "read_file", `{"path":1.50}`, "", "native"},
		{"", "functions.Read-File", `{}`, "read_file", `{}`, "", "native"},
		{"", "nothing_like_it", `{}`, "nothing_like_it", `{}`, "", "native"},
		{"", "read_file", "", "read_file", `{}`, "", "native"},
		{"", "read_file", "null", "read_file", `{}`, "", "native"},
		{"", "read_file", "{'path': 'a',}", "read_file", `{"path":"a"}`, "", "native"},
		{"<think>Hm", "read_file", `{}`, "read_file", `{}`, "", "native"},
		{"<think>Hm</thin", "read_file", `{}`, "read_file", `{}`, "", "native"},
		{"```\nls\n", "read_file", `{}`, "read_file", `{}`, "", "native"},
		{"It is <b", "read_file", `{}`, "read_file", `{}`, "", "native"},
		{"<tool_call>{", "read_file", `{}`, "read_file", `{}`, "", "native"},
		{`{"name": "read_file", "argum`, "read_file", `{}`, "read_file", `{}`, "", "native"},
		{house, "read_file", `{"path":"native"}`, "read_file", `{"path":"text"}`, "", "mylm"},
		{"So: " + house, "read_file", `{"path":"native"}`, "read_file", `{"path":"text"}`, "", "mylm"},
		{"", "read_file", `{"path":"a`, "read_file", "", protocol.Truncated, ""},
		{"", "read_file", `[1]`, "read_file", "", protocol.NotObject, ""},
		{"", "read_file", `{"path":"a","path":"b"}`, "read_file", "", protocol.DuplicateKey, ""},
		{"", "read_file", `{"path":"a"} {"path":"b"}`, "read_file", "", protocol.BadJSON, ""},
		{"<final_answer>Done.</final_answer>", "read_file", `{}`, "read_file", "", protocol.CallAfterAnswer, ""},
		{"<final_answer>Done.", "read_file", `{}`, "read_file", "", protocol.CallAfterAnswer, ""},
	}
	for _, tt := range tests {
		for size := 1; size <= len(tt.before)+1; size += max(1, len(tt.before)) {
			d := protocol.NewDecoder(protocol.Options{Tools: tools})
			var parts []protocol.Part
			for rest := tt.before; rest != ""; {
				n := min(size, len(rest))
				parts = append(parts, d.Push(rest[:n])...)
				rest = rest[n:]
			}
			parts = append(parts, d.PushCall(tt.name, tt.args)...)
			if !d.Done() {
				t.Fatalf("%q, %s: it is not decided", tt.before, tt.args)
			}
			if more := d.PushCall("read_file", "{}"); len(more) > 0 || !d.DroppedCall() {
				t.Errorf("%q, %s: a second call: %+v", tt.before, tt.args, more)
			}
			switch last := parts[len(parts)-1]; {
			case tt.reason != "":
				if last.Kind != protocol.Malformed || last.Err.Reason != tt.reason || last.Err.Tool != tt.tool || last.Err.Raw == "" {
					t.Errorf("%q, %s: %+v %+v, want %s", tt.before, tt.args, last, last.Err, tt.reason)
				}
			case last.Kind != protocol.Call || last.Call.Name != tt.tool || string(last.Call.Args) != tt.got || last.Call.Dialect != tt.dialect:
				t.Errorf("%q, %s: %+v %+v, want %s%s", tt.before, tt.args, last, last.Call, tt.tool, tt.got)
			}
			for _, p := range parts[:len(parts)-1] {
				if p.Kind == protocol.Call || p.Kind == protocol.Malformed {
					t.Errorf("%q, %s: part %+v before the last", tt.before, tt.args, p)
				}
			}
		}
	}
}
