package tools_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mylm/tools"
)

func TestArgErrorText(t *testing.T) {
	s := `{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer","minimum":1},"mode":{"type":"string","enum":["text","binary"]}},"required":["path"]}`
	const usage = "\nUsage: (path: string, limit?: integer, mode?: \"text\"|\"binary\")"
	tests := []struct{ name, args, want string }{
		{"missing", `{}`, `path: missing, want string`},
		{"wrong type", `{"path":"x","limit":"a few"}`, `limit: got "a few", want integer`},
		{"enum", `{"path":"x","mode":"hex"}`, `mode: got "hex", want one of "text", "binary"`},
		{"bound", `{"path":"x","limit":0}`, `limit: got 0, want at least 1`},
		{"near name", `{"path":"x","limits":1}`, `limits: no such argument, did you mean limit?`},
		{"strange name", `{"path":"x","colour":1}`, `colour: no such argument, there are limit, mode, path`},
		{"instead of the missing one", `{"mod":"x"}`, `path: missing, want string; mod: no such argument, did you mean path?`},
		{"two", `{"limit":[]}`, `path: missing, want string; limit: got [], want integer`},
		{"not an object", `5`, `the arguments: got 5, want object`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := tools.Fit(schema(t, s), json.RawMessage(tt.args))
			if err == nil {
				t.Fatal("no error")
			}
			if got, want := err.Error(), "invalid arguments: "+tt.want+usage; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestArgErrorIsShort(t *testing.T) {
	s := schema(t, one(`{"type":"array","items":{"type":"integer"}}`))
	args := `{"a":[` + strings.Repeat(`"`+strings.Repeat("é", 5000)+`",`, 300) + `1]}`
	_, _, err := tools.Fit(s, json.RawMessage(args))
	if err == nil {
		t.Fatal("no error")
	}
	text := err.Error()
	if len(text) > 1500 || strings.Count(text, "\n") > 1 {
		t.Errorf("%d bytes, %d line ends: %s", len(text), strings.Count(text, "\n"), text)
	}
	if strings.ContainsRune(text, '�') {
		t.Errorf("a character was cut in two: %s", text)
	}
	if !strings.Contains(text, "and 95 more") {
		t.Errorf("does not say how many faults there are: %s", text)
	}
}

func TestSignature(t *testing.T) {
	tests := []struct{ name, schema, want string }{
		{"none", `{"type":"object"}`, "f()"},
		{"required first, then by name", `{"properties":{"z":{"type":"string"},"b":{"type":"boolean"},"a":{"type":"number"}},"required":["z"]}`, "f(z: string, a?: number, b?: boolean)"},
		{"lists", `{"properties":{"a":{"type":"array","items":{"type":"array","items":{"type":"integer"}}},"b":{"type":"array"}}}`, "f(a?: integer[][], b?: array)"},
		{"several types", `{"properties":{"a":{"type":["string","null"]},"b":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`, "f(a?: string|null, b?: integer|null)"},
		{"odd types", `{"properties":{"a":{"type":"dict"},"b":{"type":"float"},"c":{"type":"any"},"d":{}}}`, "f(a?: object, b?: number, c?: any, d?: any)"},
		{"fixed", `{"properties":{"a":{"const":1},"b":{"enum":[1,null,"x<y"]}}}`, `f(a?: 1, b?: 1|null|"x<y")`},
		{"reference", `{"$defs":{"n":{"type":"integer"}},"properties":{"a":{"$ref":"#/$defs/n"},"b":{"$ref":"#/$defs/none"}}}`, "f(a?: integer, b?: any)"},
		{"all by reference", `{"$defs":{"p":{"properties":{"a":{"type":"string"}},"required":["a"]}},"$ref":"#/$defs/p"}`, "f(a: string)"},
		{"in a circle", `{"$defs":{"n":{"$ref":"#/$defs/n"}},"properties":{"a":{"$ref":"#/$defs/n"}}}`, "f(a?: any)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tools.Signature("f", schema(t, tt.schema)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	if got := tools.Signature("f", nil); got != "f()" {
		t.Errorf("nil schema: %s", got)
	}
}
