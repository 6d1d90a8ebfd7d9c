package protocol_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"mylm/protocol"
)

func TestReadValue(t *testing.T) {
	withTasks := func(v json.RawMessage) bool {
		var m map[string]json.RawMessage
		return json.Unmarshal(v, &m) == nil && m["tasks"] != nil
	}
	tests := []struct {
		name, text, want string // "" is an error
		cut              bool
	}{
		{"raw", `{"tasks": []}`, `{"tasks":[]}`, false},
		{"fenced", "Here it is:\n```json\n{\"tasks\": [1]}\n```\nGood luck.", `{"tasks":[1]}`, false},
		{"between prose", `The plan {as asked} is {"tasks": [1]}, I think.`, `{"tasks":[1]}`, false},
		{"another object first", `{"thought": "well"} {"tasks": [1]}`, `{"tasks":[1]}`, false},
		{"inside another", `{"plan": {"tasks": [1]}}`, `{"tasks":[1]}`, false},
		{"broken", `{'tasks': [1, 2,], // two` + "\n}", `{"tasks":[1,2]}`, false},
		{"after thought", `<think>{"tasks": [0]} or so</think>{"tasks": [1]}`, `{"tasks":[1]}`, false},
		{"prose", `First list the files, then read them.`, "", false},
		{"cut", `{"tasks": [{"id": "t1", "desc`, "", true},
		{"a brace is missing", `{"tasks": [1]`, "", true},
		{"something else", `{"steps": []}`, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := protocol.ReadValue(tt.text, withTasks)
			if tt.want == "" {
				var bad *protocol.ValueError
				if !errors.As(err, &bad) || (bad.Reason == protocol.Truncated) != tt.cut {
					t.Fatalf("%s, %v", got, err)
				}
				return
			}
			if err != nil || strings.Join(strings.Fields(string(got)), "") != tt.want {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}

// BenchmarkReadValueHostile is text made of openers.
func BenchmarkReadValueHostile(b *testing.B) {
	for name, text := range map[string]string{
		"braces":  strings.Repeat("{", 1<<20),
		"strings": strings.Repeat(`{"a": `, 1<<17),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, _, err := protocol.ReadValue(text, func(json.RawMessage) bool { return true }); err == nil {
					b.Fatal("it was read")
				}
			}
		})
	}
}
