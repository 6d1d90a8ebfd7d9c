//go:build unix

package mcp_test

import (
	"strings"
	"testing"

	"mylm/tools/mcp"
)

// answering is what the fake server sends in place of its own answer to a method.
func answering(method, result string) string {
	return "RAW_" + method + `={"jsonrpc":"2.0","id":ID,` + result + `}`
}

func resulting(text string) string { return answering("tools_call", `"result":`+text) }

func listing(tools string) string { return answering("tools_list", `"result":{"tools":[`+tools+`]}`) }

// discovered is the answer of a server of the newest revision that tells of changes.
const discovered = `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true}}}`

// What a server sends that is no answer is an error at once, in words, and what can be
// read all the same is read.
func TestMalformedAnswers(t *testing.T) {
	t.Parallel()
	const (
		form = "does not have the form that MCP has for it"
		said = `{"content":[{"type":"text","text":"said"}]}`

		notJSONRPC = "no message of JSON-RPC 2.0"
		noResponse = "without response"
	)
	// What ends a connection over HTTP, or the answer to a request: which one it is for is
	// not known there.
	differs := map[string]string{
		"the id is a string": noResponse, "the id of nothing": noResponse, "the id of nothing, ever": noResponse, "the id is another word": noResponse,
		"the id is null": notJSONRPC, "no id at first": notJSONRPC, "no jsonrpc": notJSONRPC, "an error without it": notJSONRPC, "a record of a log": notJSONRPC,
		"the error is a string": notJSONRPC, "the code is no integer": notJSONRPC, "far too deep": notJSONRPC,
	}
	nothings := ""
	for _, method := range []string{"cancelled", "message", "progress", "elicitation/complete", "resources/updated", "tools/list_changed", "tasks/status"} {
		nothings += `{"jsonrpc":"2.0","method":"notifications/` + method + `","params":null}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/` + method + `"}` + "\n"
	}
	for name, c := range map[string]struct {
		env  string // separated by \x02
		want string
		fine bool
	}{
		"content is a string":      {resulting(`{"content":"hello"}`), form + " (content)", false},
		"content is an object":     {resulting(`{"content":{"type":"text","text":"x"}}`), form + " (content)", false},
		"text is a number":         {resulting(`{"content":[{"type":"text","text":7}]}`), form + " (text)", false},
		"a null in the content":    {resulting(`{"content":[null]}`), form, false},
		"an unknown content":       {resulting(`{"content":[{"type":"hologram"}]}`), "hologram", false},
		"a picture of nothing":     {resulting(`{"content":[{"type":"image","mimeType":"image/png","data":"@@@"}]}`), "is not base64", false},
		"a file of nothing":        {resulting(`{"content":[{"type":"resource","resource":{"uri":"a","blob":"@"}}]}`), "is not base64", false},
		"a list for a result":      {resulting(`[1]`), form, false},
		"a string for a result":    {resulting(`"hi"`), form, false},
		"isError is a string":      {resulting(`{"isError":"yes","content":[]}`), form + " (isError)", false},
		"no content":               {resulting(`{}`), "", true},
		"null":                     {resulting(`null`), "", true},
		"neither":                  {answering("tools_call", `"x":1`), "is empty", false},
		"result and error":         {answering("tools_call", `"result":`+said+`,"error":{"code":-1,"message":"broken"}`), "broken", false},
		"the error is a string":    {answering("tools_call", `"error":"broken"`), "no message of JSON-RPC", false},
		"the error says nothing":   {answering("tools_call", `"error":{"code":-32000}`), "without saying why (code -32000)", false},
		"the code is no integer":   {answering("tools_call", `"error":{"code":1e40,"message":"x"}`), "no message of JSON-RPC", false},
		"no jsonrpc":               {`RAW_tools_call={"id":ID,"result":` + said + `}`, `lacks "jsonrpc": "2.0"`, false},
		"an error without it":      {`RAW_tools_call={"id":ID,"error":{"code":-1,"message":"broken"}}`, `lacks "jsonrpc": "2.0"`, false},
		"a record of a log":        {`RAW_tools_call={"level":50,"id":ID,"error":"x"}` + "\n" + `{"jsonrpc":"2.0","id":ID,"result":` + said + `}`, "said", true},
		"the id is a string":       {`RAW_tools_call={"jsonrpc":"2.0","id":"ID","result":` + said + `}`, "said", true},
		"the id of nothing":        {`RAW_tools_call={"jsonrpc":"2.0","id":77,"result":` + said + `}`, "the id 77, which no request has", false},
		"the id is another word":   {`RAW_tools_call={"jsonrpc":"2.0","id":"x","result":` + said + `}`, `the id "x", which no request has`, false},
		"the id is null":           {`RAW_tools_call={"jsonrpc":"2.0","id":null,"result":` + said + `}`, "the id null, which no request has", false},
		"far too deep":             {resulting(`{"content":[],"structuredContent":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`), "no message of JSON-RPC", false},
		"an answer too many":       {resulting(said + `}` + "\n" + `{"jsonrpc":"2.0","id":ID,"result":` + said), "said", true},
		"progress of nonsense":     {"RAW_tools_call=" + `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":TOKEN,"progress":"x"}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/progress","params":null}` + "\n" + `{"jsonrpc":"2.0","id":ID,"result":` + said + `}`, "said", true},
		"notifications of nothing": {"RAW_tools_call=" + nothings + `{"jsonrpc":"2.0","id":ID,"result":` + said + `}`, "said", true},
		"it asks by our own id":    {"RAW_tools_call=" + `{"jsonrpc":"2.0","id":ID,"method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":ID,"result":` + said + `}`, "said", true},
		"half of a character":      {resulting(`{"content":[{"type":"text","text":"said \ud800\u0000\u001b[31m"}]}`), "said �[31m", true},

		// Of the newest revision.
		"a task":              {resulting(`{"resultType":"task","task":{"taskId":"1"}}`), `of the type "task"`, false},
		"a state, again":      {resulting(`{"resultType":"input_required","requestState":"s"}`), `of the type "input_required"`, false},
		"input of another":    {resulting(`{"resultType":"input_required","inputRequests":{"a":{"method":"tools/call","params":{}}}}`), "unsupported", false},
		"input that it wants": {resulting(`{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"password?","requestedSchema":{"type":"object"}}}}}`), "does not support elicitation", false},
		"input of null":       {resulting(`{"resultType":"input_required","inputRequests":{"a":{"method":"sampling/createMessage","params":{"maxTokens":1,"messages":[null]}}}}`), "does not support CreateMessage", false},
		"no input":            {resulting(`{"resultType":"input_required","inputRequests":{"a":null}}`), "a", false},
		"no changes are told": {answering("server_discover", discovered), "you said hi", true},
		"a later revision":    {answering("server_discover", `"result":{"resultType":"complete","supportedVersions":["2099-01-01"],"capabilities":{"tools":{}}}`), "you said hi", true},
		"nonsense discovered": {answering("server_discover", `"result":{"supportedVersions":"x"}`), "you said hi", true},

		"null discovered":  {answering("server_discover", `"result":null`), "you said hi", true},
		"nulls discovered": {answering("server_discover", `"result":{"resultType":null,"supportedVersions":[null],"capabilities":null,"serverInfo":null}`), "you said hi", true},

		// Lists.
		"tools is an object":        {answering("tools_list", `"result":{"tools":{}}`), form + " (tools)", false},
		"the cursor is a number":    {answering("tools_list", `"result":{"tools":[],"nextCursor":7}`), form + " (nextCursor)", false},
		"no schema":                 {listing(`{"name":"echo"}`), "cannot be called: it has no schema", false},
		"the schema is a string":    {listing(`{"name":"echo","inputSchema":"x"}`), "cannot be called: it has no schema", false},
		"properties is a list":      {listing(`{"name":"echo","inputSchema":{"type":"object","properties":[]}}`), "no JSON Schema (properties)", false},
		"no such type":              {listing(`{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"strnig"}}}}`), `the type "strnig"`, false},
		"a name is a number":        {listing(`{"name":7,"inputSchema":{"type":"object"}},7,{"name":"echo","inputSchema":{"type":"object"}}`), "you said hi", true},
		"the name is a number":      {listing(`{"name":7,"inputSchema":{"type":"object"}}`), "cannot be called: it does not have the form that MCP has for a tool (name)", false},
		"no header":                 {listing(`{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string","x-mcp-header":"a b"}}}}`), "x-mcp-header", false},
		"structured, as it says":    {resulting(`{"content":[],"structuredContent":{"a":1}}`) + "\x02" + listing(`{"name":"echo","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"a":{"type":"number"}}}}`), `{"a":1}`, true},
		"structured in another way": {resulting(`{"content":[],"structuredContent":{"a":"x"}}`) + "\x02" + listing(`{"name":"echo","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"a":{"type":"number"}}}}`), "does not fit the schema that the tool itself has", true},

		// The beginning.
		"an old revision":             {answering("initialize", `"result":{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`), "1999-01-01", false},
		"it begins with null":         {answering("initialize", `"result":null`), "unsupported protocol version", false},
		"abilities in a list":         {answering("initialize", `"result":{"protocolVersion":"2025-06-18","capabilities":[]}`), form + " (capabilities)", false},
		"no id at first":              {`RAW_server_discover={"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"x"}}`, "you said hi", true},
		"the id of nothing, ever":     {`RAW_server_discover={"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"x"}}` + "\x02" + `RAW_initialize={"jsonrpc":"2.0","id":0,"result":{}}`, "the id 0, which no request has", false},
		"an answer to a notification": {`RAW_notifications_initialized={"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"x"}}`, "you said hi", true},
		"nulls at first":              {answering("initialize", `"result":{"protocolVersion":"2025-06-18","capabilities":null,"serverInfo":null,"instructions":null}`), "you said hi", true},
		"abilities of nulls":          {answering("initialize", `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":null,"prompts":null,"resources":null,"logging":null},"serverInfo":{}}`), "has no tool", false},
		"it wants a key":              {answering("initialize", `"error":{"code":-32602,"message":"API key missing: set FOO_KEY"}`), "API key missing: set FOO_KEY", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := strings.Split(c.env, "\x02")
			f := &fake{mode: "good", answers: map[string]string{}}
			for _, e := range env {
				method, answer, _ := strings.Cut(strings.TrimPrefix(e, "RAW_"), "=")
				f.answers[strings.ReplaceAll(method, "_", "/")] = answer
			}
			args, tool := `{"text":"hi"}`, "one__echo"
			if strings.HasPrefix(name, "the name") {
				tool = "one__7"
			}
			if strings.HasPrefix(name, "structured") {
				args = `{}`
			}
			for kind, s := range map[string]mcp.Server{"stdio": fakeServer(t, "one", "good", env...), "events": overHTTP(t, f, true)} {
				want, fine := c.want, c.fine
				if other, ok := differs[name]; ok && kind == "events" {
					want, fine = other, false
				}
				o := call(t, registry(t, hub(t, mcp.Options{Servers: []mcp.Server{s}})), tool, args)
				if o.Success() != fine || !strings.Contains(o.Body(), want) || strings.Contains(o.Body(), "json:") {
					t.Errorf("%s: %v, got %q, want %q in it", kind, o.Success(), shortened(o.Body()), want)
				}
			}
		})
	}
}
