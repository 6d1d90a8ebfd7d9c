//go:build bedrock

package langchain_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"mylm/providers"
	"mylm/providers/langchain"
)

// bedrockAPI is the wire of Bedrock's Converse: frames of AWS's event
// stream, with JSON in them.
var bedrockAPI = fakeAPI{
	provider: "bedrock",
	config:   langchain.Config{Settings: map[string]string{"region": "eu-central-1"}},
	path:     "/v1/model/m/converse-stream",
	kind:     "application/vnd.amazon.eventstream",
	begin:    []string{bedrockEvent("messageStart", map[string]any{"role": "assistant", "p": "abcd"})},
	text: func(s string) string {
		return bedrockEvent("contentBlockDelta", map[string]any{"contentBlockIndex": 1, "delta": map[string]any{"text": s}})
	},
	thought: func(s string) string {
		return bedrockEvent("contentBlockDelta", map[string]any{"contentBlockIndex": 0, "delta": map[string]any{"reasoningContent": map[string]any{"text": s}}})
	},
	end: func(stop string, u providers.Usage) []string {
		return []string{
			bedrockEvent("contentBlockStop", map[string]any{"contentBlockIndex": 1}),
			bedrockEvent("messageStop", map[string]any{"stopReason": stop}),
			bedrockEvent("metadata", map[string]any{"metrics": map[string]int{"latencyMs": 1}, "usage": bedrockUsage(u)}),
		}
	},
	error: func(status int, _, message string) string {
		kind := map[int]string{400: "validationException", 429: "throttlingException"}[status]
		if kind == "" {
			kind = "internalServerException"
		}
		b, _ := json.Marshal(map[string]string{"message": message})
		return frame(b, ":message-type", "exception", ":exception-type", kind, ":content-type", "application/json")
	},
	refuse: func(_ int, code, message string) string {
		if code == "content_filter" { // the kind of an error stands in a header
			message = "Output blocked by content filtering policy"
		}
		b, _ := json.Marshal(map[string]string{"message": message})
		return string(b)
	},
	stops:  map[providers.StopReason]string{providers.StopEnd: "end_turn", providers.StopLength: "max_tokens"},
	key:    "Authorization",
	noSeed: true,
	cannot: []string{"no JSON", "JSON that is no object", "a list", "a line without end", "an error with success"}, // frames, no lines; the SDK reads no JSON
	hints:  map[string]string{"_API_KEY": "AWS_BEARER_TOKEN_BEDROCK", "param:model": "documentation", "Wait": "gain", "server": "gain", "server's output": "gain"},
	read:   readBedrock,
}

func init() { fakeAPIs = append(fakeAPIs, bedrockAPI) }

func bedrockEvent(kind string, v map[string]any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return frame(b, ":message-type", "event", ":event-type", kind, ":content-type", "application/json")
}

func bedrockUsage(u providers.Usage) map[string]int {
	return map[string]int{"inputTokens": u.Prompt, "outputTokens": u.Output, "totalTokens": u.Prompt + u.Output}
}

// frame is a message of the encoding application/vnd.amazon.eventstream: both
// lengths and their checksum, headers, payload, and the checksum of it all.
func frame(payload []byte, headers ...string) string {
	var h []byte
	for i := 0; i < len(headers); i += 2 {
		h = append(append(h, byte(len(headers[i]))), headers[i]...)
		h = append(h, 7) // a string
		h = append(binary.BigEndian.AppendUint16(h, uint16(len(headers[i+1]))), headers[i+1]...)
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(12+len(h)+len(payload)+4))
	b = binary.BigEndian.AppendUint32(b, uint32(len(h)))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(append(b, h...), payload...)
	return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

func readBedrock(body map[string]any) providers.Request {
	config, _ := body["inferenceConfig"].(map[string]any)
	if n, ok := config["maxTokens"]; ok {
		delete(config, "maxTokens")
		config["max_tokens"] = n
	}
	r := sampling(config)
	r.Messages = append(r.Messages, sampling(body, "messages", "system", "inferenceConfig").Messages...)
	say := func(role providers.Role, blocks any) {
		list, _ := blocks.([]any)
		for _, x := range list {
			r.Messages = append(r.Messages, providers.Message{Role: role, Text: x.(map[string]any)["text"].(string)})
		}
	}
	say(providers.System, body["system"])
	messages, _ := body["messages"].([]any)
	for i, x := range messages {
		m := x.(map[string]any)
		if i > 0 && messages[i-1].(map[string]any)["role"] == m["role"] {
			r.Messages = append(r.Messages, providers.Message{Role: "unexpected", Text: "a role twice in a row"})
		}
		say(providers.Role(m["role"].(string)), m["content"])
	}
	return r
}

func TestBedrockBody(t *testing.T) {
	warm := 0.7
	messages := append(slices.Clone(talk), providers.Message{Role: providers.User, Text: "Go on."})
	f := newFake(t, bedrockAPI, bedrockAPI.says("yes"))
	if _, _, _, err := generate(t, f.model(t), providers.Request{Messages: messages, Temperature: &warm, MaxTokens: 77}); err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	err := json.Unmarshal([]byte(`{"system":[{"text":"Be brief."}],"messages":[{"role":"user","content":[{"text":"List the files."}]},
		{"role":"assistant","content":[{"text":"<tool_code><name>ls</name></tool_code>"}]},
		{"role":"user","content":[{"text":"<observation>[ls] Success:\na & b</observation>"},{"text":"Go on."}]}],
		"inferenceConfig":{"maxTokens":77,"temperature":0.7}}`), &want)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.sent()[0]; !reflect.DeepEqual(got, want) {
		t.Errorf("went out %v\nwant %v", got, want)
	}
}

// awsEnvironment is one without any credentials of the machine's own.
func awsEnvironment(t *testing.T, set map[string]string) {
	t.Helper()
	nowhere := filepath.Join(t.TempDir(), "none")
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION",
		"AWS_BEARER_TOKEN_BEDROCK", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
	} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", nowhere)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", nowhere)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	for name, value := range set {
		t.Setenv(name, value)
	}
}

func TestBedrockSignsWithUsualCredentials(t *testing.T) {
	awsEnvironment(t, map[string]string{"AWS_ACCESS_KEY_ID": "AKIDTEST", "AWS_SECRET_ACCESS_KEY": "secret-of-the-test", "AWS_REGION": "eu-west-3"})
	f := newFake(t, bedrockAPI, bedrockAPI.says("yes"))
	m := open(t, "bedrock", langchain.Config{Model: "m", BaseURL: f.URL + "/v1"})
	if text, _, _, err := generate(t, m, providers.Request{}); err != nil || text != "yes" {
		t.Fatal(text, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	got := f.heads[0].Get("Authorization")
	if !strings.HasPrefix(got, "AWS4-HMAC-SHA256 Credential=AKIDTEST/") || !strings.Contains(got, "/eu-west-3/bedrock/aws4_request") {
		t.Errorf("Authorization: %q, want a signature of the region", got)
	}
	if f.urls[0] != bedrockAPI.path {
		t.Errorf("asked at %s, want %s", f.urls[0], bedrockAPI.path)
	}
}

func TestBedrockWithoutWhatItNeeds(t *testing.T) {
	tests := []struct {
		name     string
		settings map[string]string
		set      map[string]string
		kind     providers.Kind
		says     string
		hint     string
	}{
		{"region", nil, map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}, providers.BadRequest, "no region", "AWS_REGION"},
		{"credentials", map[string]string{"region": "eu-west-3"}, nil, providers.Auth, "no usable", "AWS_ACCESS_KEY_ID"},
		{"profile", map[string]string{"region": "eu-west-3", "profile": "absent"}, nil, providers.Auth, "absent", "AWS_PROFILE"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			awsEnvironment(t, tt.set)
			f := newFake(t, bedrockAPI, bedrockAPI.says("yes"))
			m := open(t, "bedrock", langchain.Config{Model: "m", BaseURL: f.URL + "/v1", Settings: tt.settings})
			_, _, _, err := generate(t, m, providers.Request{})
			checkError(t, err, providers.Error{Kind: tt.kind, Permanent: true}, tt.says, tt.hint)
			if n := len(f.sent()); n != 0 {
				t.Errorf("%d requests were sent", n)
			}
		})
	}
}

func TestBedrockRefusals(t *testing.T) {
	tests := []struct {
		name, message string
		status        int
		kind          providers.Kind
		hint          string
	}{
		{"no rights", "User: arn:aws:iam::1:user/u is not authorized to perform: bedrock:InvokeModelWithResponseStream", 403, providers.Auth, "aws sso login"},
		{"expired", "The security token included in the request is expired", 403, providers.Auth, "aws sso login"},
		{"no such model", "The provided model identifier is invalid.", 400, providers.ModelMissing, "documentation"},
		{"too long", "Input is too long for requested model.", 400, providers.Overflow, "less text"},
		{"not there", "The service is unavailable.", 503, providers.ServerFault, "in a moment"},
		{"throttled", "Too many requests, please wait before trying again.", 429, providers.RateLimited, "Wait"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			awsEnvironment(t, map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "eu-west-3"})
			f := newFake(t, bedrockAPI, bedrockAPI.refuses(tt.status, "", tt.message))
			m := open(t, "bedrock", langchain.Config{Model: "m", BaseURL: f.URL + "/v1"})
			_, _, _, err := generate(t, m, providers.Request{})
			wantError(t, err, tt.kind, tt.hint)
			if n := len(f.sent()); n != 1 {
				t.Errorf("asked %d times: trying again is the engine's business", n)
			}
		})
	}
}

func TestBedrockCancelWithSignature(t *testing.T) {
	awsEnvironment(t, map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "eu-west-3"})
	var f *fake
	f = newFake(t, bedrockAPI, func(w http.ResponseWriter, r *http.Request) {
		bedrockAPI.stream(w, bedrockAPI.text("one"))
		f.hang(r)
	})
	m := open(t, "bedrock", langchain.Config{Model: "m", BaseURL: f.URL + "/v1"})
	for range m.Generate(t.Context(), providers.Request{Messages: []providers.Message{{Role: providers.User, Text: "hello"}}}) {
		break
	}
	select {
	case <-f.gone:
	case <-time.After(time.Minute):
		t.Error("the server does not see that the caller has left")
	}
}

func TestBedrockUsage(t *testing.T) {
	end := bedrockEvent("messageStop", map[string]any{"stopReason": "end_turn"}) +
		bedrockEvent("metadata", map[string]any{"usage": map[string]int{"inputTokens": 3, "outputTokens": 2, "cacheReadInputTokens": 100, "cacheWriteInputTokens": 7}})
	f := newFake(t, bedrockAPI, answers(200, bedrockAPI.kind, bedrockAPI.text("yes")+end))
	_, _, last, err := generate(t, f.model(t), providers.Request{})
	if want := (providers.Usage{Prompt: 110, Evaluated: 10, Output: 2}); err != nil || last.Usage != want {
		t.Errorf("usage %+v, error %v, want %+v", last.Usage, err, want)
	}
}

func TestBedrockServerCall(t *testing.T) {
	body := bedrockAPI.text("I will look.") +
		bedrockEvent("contentBlockStart", map[string]any{"contentBlockIndex": 1, "start": map[string]any{"toolUse": map[string]string{"toolUseId": "1", "name": "list_dir"}}}) +
		bedrockEvent("contentBlockDelta", map[string]any{"contentBlockIndex": 1, "delta": map[string]any{"toolUse": map[string]string{"input": `{"path":`}}}) +
		bedrockEvent("contentBlockDelta", map[string]any{"contentBlockIndex": 1, "delta": map[string]any{"toolUse": map[string]string{"input": `"docs"}`}}}) +
		bedrockEvent("contentBlockStop", map[string]any{"contentBlockIndex": 1}) + bedrockEvent("messageStop", map[string]any{"stopReason": "tool_use"})
	f := newFake(t, bedrockAPI, answers(200, bedrockAPI.kind, body))
	var calls []providers.ServerCall
	var parts []string
	for c, err := range f.model(t).Generate(t.Context(), hello) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Call != nil {
			calls = append(calls, *c.Call)
		}
		if c.CallPart != "" {
			parts = append(parts, c.CallPart)
		}
	}
	if want := []string{"list_dir", `{"path":`, `"docs"}`}; !slices.Equal(parts, want) {
		t.Errorf("parts %q, want %q", parts, want)
	}
	if len(calls) != 1 || calls[0] != (providers.ServerCall{Name: "list_dir", Args: `{"path":"docs"}`}) {
		t.Errorf("calls %+v", calls)
	}
}

// A call that Bedrock cannot read is no reply: its words are gone.
func TestBedrockMalformedCall(t *testing.T) {
	for _, reason := range []string{"malformed_tool_use", "malformed_model_output"} {
		f := newFake(t, bedrockAPI, answers(200, bedrockAPI.kind, bedrockAPI.text("half")+bedrockEvent("messageStop", map[string]any{"stopReason": reason})))
		_, _, _, err := generate(t, f.model(t), providers.Request{})
		checkError(t, err, providers.Error{Kind: providers.ServerFault}, reason, "param:form")
	}
}

func TestBedrockCorruptStream(t *testing.T) {
	bad := []byte(bedrockAPI.text("wrong"))
	bad[len(bad)-6] ^= 1
	f := newFake(t, bedrockAPI, answers(200, bedrockAPI.kind, bedrockAPI.text("right")+string(bad)))
	text, _, _, err := generate(t, f.model(t), providers.Request{})
	var e *providers.Error
	if text != "right" || !errors.As(err, &e) || e.Kind != providers.Interrupted {
		t.Errorf("heard %q and %v, want what is sound and an interruption", text, err)
	}
}
