package sdkcheck

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
)

// upstream is an Ollama whose model says a text in pieces of random sizes.
type upstream struct {
	text, reason atomic.Value
	stop         atomic.Bool // it breaks off
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/api/tags":
		_, _ = io.WriteString(w, `{"models":[{"name":"m:latest","model":"m:latest"}]}`)
	case "/api/ps":
		_, _ = io.WriteString(w, `{"models":[]}`)
	case "/api/version":
		_, _ = io.WriteString(w, `{"version":"0.32.15"}`)
	case "/api/show":
		_, _ = io.WriteString(w, `{"capabilities":["completion"],"model_info":{"general.architecture":"llama","llama.context_length":32768}}`)
	case "/api/chat":
		for runes := []rune(u.text.Load().(string)); len(runes) > 0; {
			n := min(len(runes), 1+rand.IntN(12))
			piece, _ := json.Marshal(string(runes[:n]))
			runes = runes[n:]
			_, _ = fmt.Fprintf(w, `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":%s},"done":false}`+"\n", piece)
		}
		if u.stop.Load() {
			return
		}
		_, _ = fmt.Fprintf(w, `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done":true,"done_reason":%q,"prompt_eval_count":20,"eval_count":9}`+"\n", u.reason.Load())
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// serve starts mylm serve in front of a server, and returns its address.
func serve(t testing.TB, host string) string {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "mylm")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "./cmd/mylm")
	build.Dir = filepath.Join("..", "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), bin, "serve", "--addr", "127.0.0.1:0", "--host", host)
	cmd.Dir, cmd.Env = dir, append(cmd.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir, "MYLM_MODEL=")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	base := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(line)
	if base == "" {
		t.Fatalf("no address: %q, %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return base
}

const schema = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`

// api is a request of an API, and the types of its replies and events.
type api struct {
	path, body, fields string
	whole, event, bad  any
}

var apis = []api{
	{"/v1/chat/completions", `"messages":[{"role":"user","content":"q"}],"stream_options":{"include_usage":true},"tools":[{"type":"function","function":{"name":"get_weather","parameters":` + schema + `}}]`,
		`"response_format":{"type":"json_object"}`, openai.ChatCompletion{}, openai.ChatCompletionChunk{}, nil},
	{"/v1/responses", `"input":"q","instructions":"Be brief.","tools":[{"type":"function","name":"get_weather","strict":false,"parameters":` + schema + `},{"type":"custom","name":"patch"}]`,
		`"text":{"format":{"type":"json_schema","name":"x","schema":{"type":"object"}}}`, responses.Response{}, responses.ResponseStreamEventUnion{}, nil},
	{"/v1/messages", `"max_tokens":1000,"messages":[{"role":"user","content":"q"}],"tools":[{"name":"get_weather","input_schema":` + schema + `}]`,
		`"stop_sequences":["END"]`, anthropic.Message{}, anthropic.MessageStreamEventUnion{}, anthropic.ErrorResponse{}},
}

// Each reply and each event of a stream has the fields that the SDK's type has, all that it
// must have and no others, and the stream says what the whole reply says.
func TestReplies(t *testing.T) {
	u := &upstream{}
	host := httptest.NewServer(u)
	defer host.Close()
	base := serve(t, host.URL)
	call := func(name, args string) string {
		return "<tool_code>\n<name>" + name + "</name>\n<parameters>" + args + "</parameters>\n</tool_code>"
	}
	for name, reply := range map[string]struct {
		text, reason string
		stop         bool
	}{
		"answer":           {"Hello, a < b & ünïcödé 漢字.", "stop", false},
		"thought":          {"<think>Let me see.</think>\nHello.", "stop", false},
		"call":             {"<think>hm</think>I look.\n" + call("get_weather", `{"city":"Zürich \"HB\" `+strings.Repeat("long ", 200)+`"}`), "stop", false},
		"call alone":       {call("get_weather", `{"city":"Bern"}`), "stop", false},
		"custom call":      {call("patch", `{"input":"*** Begin\n`+strings.Repeat("+ 漢\\n", 200)+`"}`), "stop", false},
		"length":           {"And so on", "length", false},
		"length in a call": {"I look.\n<tool_code>\n<name>get_weather</name>\n<para", "length", false},
		"object":           {`{"a":1}`, "stop", false},
		"stop sequence":    {"one END two", "stop", false},
		"unusable":         {call("get_weather", `{city so}`), "stop", false},
		"broken off":       {"I begin to", "stop", true},
	} {
		u.text.Store(reply.text)
		u.reason.Store(reply.reason)
		u.stop.Store(reply.stop)
		for _, api := range apis {
			for _, more := range []string{`"temperature":0.5`, api.fields} {
				if strings.Contains(more, "format") && name != "object" {
					continue
				}
				if name == "custom call" && api.path != "/v1/responses" {
					continue
				}
				api.replies(t, name, base, more)
			}
		}
	}
	_, body := post(t, base+"/v1/messages/count_tokens", `{"model":"m","messages":[{"role":"user","content":"q"}]}`)
	check(t, "count_tokens", anthropic.MessageTokensCount{}, body)
}

// Whatever a model writes, in whatever pieces and however it ends: the same holds.
func FuzzReplies(f *testing.F) {
	u := &upstream{}
	host := httptest.NewServer(u)
	f.Cleanup(host.Close)
	base := serve(f, host.URL)
	for i, text := range []string{
		"Hello", "<think>hm</think>\nI look.\n<tool_code>\n<name>get_weather</name>\n<parameters>{\"city\":\"B\"}</parameters>\n</tool_code>", `{"a":1}`, "one END two",
		"Let me see.</think>Hello", "Observation: it is", "<tool_call>{\"name\":\"patch\",\"arguments\":{\"input\":\"漢\"}}</tool_call>", "get_weather(city='x')", "", " \n",
	} {
		f.Add(text, uint8(i))
	}
	f.Fuzz(func(t *testing.T, text string, which uint8) {
		if len(text) > 10_000 {
			return
		}
		u.text.Store(strings.ToValidUTF8(text, "?"))
		u.reason.Store([]string{"stop", "stop", "length"}[which/6%3])
		u.stop.Store(which > 200)
		api := apis[int(which)%len(apis)]
		api.replies(t, fmt.Sprintf("%q", text), base, []string{`"temperature":0.5`, api.fields}[which/3%2])
	})
}

// replies asks for a reply, whole and as a stream, and checks both.
func (api *api) replies(t *testing.T, name, base, more string) {
	t.Helper()
	where := name + " " + api.path + " " + more
	status, body := post(t, base+api.path, `{"model":"m","stream":false,`+more+`,`+api.body+`}`)
	if status == http.StatusOK {
		check(t, where, api.whole, body)
	} else if api.bad != nil {
		check(t, where, api.bad, body)
	}
	_, body = post(t, base+api.path, `{"model":"m","stream":true,`+more+`,`+api.body+`}`)
	for event := range strings.SplitSeq(strings.TrimSpace(body), "\n\n") {
		_, data, streams := strings.Cut("\n"+event, "\ndata: ")
		if !streams || data == "[DONE]" || strings.HasPrefix(data, `{"error"`) || strings.Contains(event, "event: error") {
			continue
		}
		check(t, where+" streamed", api.event, data)
	}
}

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// check reads a text as a type of an SDK and reports what does not fit.
func check(t *testing.T, where string, kind any, text string) {
	t.Helper()
	v := reflect.New(reflect.TypeOf(kind))
	if err := json.Unmarshal([]byte(text), v.Interface()); err != nil {
		t.Errorf("%s: %v in %s", where, err, text)
		return
	}
	for _, fault := range faults(v.Elem(), reflect.TypeOf(kind).Name()) {
		t.Errorf("%s: %s in %.600s", where, fault, text)
	}
}
