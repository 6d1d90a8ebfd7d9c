package langchain_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/anthropic"
	"github.com/tmc/langchaingo/llms/cloudflare"
	"github.com/tmc/langchaingo/llms/ernie"
	fakellm "github.com/tmc/langchaingo/llms/fake"
	"github.com/tmc/langchaingo/llms/huggingface"
	"github.com/tmc/langchaingo/llms/llamafile"
	"github.com/tmc/langchaingo/llms/maritaca"
	"github.com/tmc/langchaingo/llms/ollama"
	"github.com/tmc/langchaingo/llms/openai"

	"mylm/providers"
	"mylm/providers/langchain"
)

// elsewhere sends every request to one server, for clients with fixed addresses.
type elsewhere struct{ host string }

func (e elsewhere) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.URL.Scheme, req.URL.Host = "http", e.host
	return http.DefaultTransport.RoundTrip(req)
}

// ownClients are clients of langchaingo's own as a program makes them, and what
// a server writes to them.
var ownClients = []struct {
	name  string
	open  func(t *testing.T, base string, c *http.Client) (llms.Model, error)
	reply []string // each is flushed
	end   string   // behind each
	cut   bool     // a reply that lacks its last piece is recognised
	usage bool
}{
	{
		name: "anthropic", end: "\n\n", cut: true, usage: true,
		open: func(_ *testing.T, base string, c *http.Client) (llms.Model, error) {
			return anthropic.New(anthropic.WithToken("k"), anthropic.WithBaseURL(base), anthropic.WithModel("m"), anthropic.WithHTTPClient(c))
		},
		reply: []string{
			`data: {"type":"message_start","message":{"usage":{"input_tokens":7}}}`, `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello "}}`, `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"you."}}`,
			`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}` + "\n\n" + `data: {"type":"message_stop"}`,
		},
	},
	{
		name: "cloudflare", end: "\n\n",
		open: func(t *testing.T, base string, c *http.Client) (llms.Model, error) {
			u, err := url.Parse(base)
			if err != nil {
				t.Fatal(err)
			}
			return cloudflare.New(cloudflare.WithToken("k"), cloudflare.WithAccountID("a"), cloudflare.WithModel("m"), cloudflare.WithCloudflareServerURL(u), cloudflare.WithHTTPClient(c))
		},
		reply: []string{`{"result":{"response":"Hello you."},"success":true}`},
	},
	{
		name: "ernie", end: "\n\n",
		open: func(_ *testing.T, _ string, c *http.Client) (llms.Model, error) {
			return ernie.New(ernie.WithAccessToken("k"), ernie.WithModel("m"), ernie.WithHTTPClient(c))
		},
		reply: []string{
			`data: {"result":"Hello "}`,
			`data: {"result":"you.","is_end":true,"usage":{"prompt_tokens":7,"total_tokens":10}}`,
		},
	},
	{
		name: "huggingface", end: "\n\n",
		open: func(_ *testing.T, base string, c *http.Client) (llms.Model, error) {
			return huggingface.New(huggingface.WithToken("k"), huggingface.WithModel("m"), huggingface.WithURL(base), huggingface.WithHTTPClient(c))
		},
		reply: []string{`[{"generated_text":"Hello you."}]`},
	},
	{
		name: "llamafile", end: "\n\n",
		open: func(t *testing.T, base string, _ *http.Client) (llms.Model, error) {
			t.Setenv("LLAMAFILE_HOST", base) // its options cannot set an address
			return llamafile.New()
		},
		reply: []string{`data: {"content":"Hello "}`, `data: {"content":"you.","stop":true}`},
	},
	{
		name: "maritaca", end: "\n\n", cut: true,
		open: func(_ *testing.T, _ string, c *http.Client) (llms.Model, error) {
			return maritaca.New(maritaca.WithToken("k"), maritaca.WithModel("m"), maritaca.WithHTTPClient(c))
		},
		reply: []string{"event: message\n" + `data: {"text":"Hello "}`, "event: message\n" + `data: {"text":"you."}`, "event: end\ndata: {}"},
	},
	{
		name: "ollama", end: "\n", cut: true, usage: true,
		open: func(_ *testing.T, base string, c *http.Client) (llms.Model, error) {
			return ollama.New(ollama.WithModel("m"), ollama.WithServerURL(base), ollama.WithHTTPClient(c))
		},
		reply: []string{
			`{"message":{"role":"assistant","content":"Hello "}}`, `{"message":{"role":"assistant","content":"you."}}`,
			`{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":7,"eval_count":3}`,
		},
	},
	{
		name: "openai", end: "\n\n", cut: true, usage: true,
		open: func(_ *testing.T, base string, c *http.Client) (llms.Model, error) {
			return openai.New(openai.WithToken("k"), openai.WithBaseURL(base), openai.WithModel("m"), openai.WithHTTPClient(c))
		},
		reply: []string{
			`data: {"choices":[{"index":0,"delta":{"content":"Hello "}}]}`, `data: {"choices":[{"index":0,"delta":{"content":"you."}}]}`,
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3}}` + "\n\ndata: [DONE]",
		},
	},
}

// TestOwnClients takes langchaingo's own clients as they are through New.
func TestOwnClients(t *testing.T) {
	for _, c := range ownClients {
		t.Run(c.name, func(t *testing.T) {
			var reply []string
			var status int
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if status != 0 {
					w.WriteHeader(status)
					_, _ = w.Write([]byte(`{"error":"no","error_msg":"no"}`))
					return
				}
				for _, line := range reply {
					_, _ = w.Write([]byte(line + c.end))
					w.(http.Flusher).Flush()
				}
			}))
			defer s.Close()
			llm, err := c.open(t, s.URL, &http.Client{Transport: elsewhere{strings.TrimPrefix(s.URL, "http://")}})
			if err != nil {
				t.Fatal(err)
			}
			m := langchain.New(llm, langchain.Options{Name: "m"})
			conversation := providers.Request{Messages: talk}

			reply = c.reply
			text, _, last, err := generate(t, m, conversation)
			want := providers.Chunk{Stop: providers.StopEnd}
			if c.usage {
				want.Usage = providers.Usage{Prompt: 7, Output: 3}
			}
			if text != "Hello you." || err != nil || last != want {
				t.Errorf("%q, %+v, %v; want the text, %+v", text, last, err, want)
			}

			if c.cut {
				reply = c.reply[:len(c.reply)-1]
				_, _, last, err = generate(t, m, conversation)
				if err == nil || last.Stop != "" {
					t.Errorf("a cut reply: %+v, %v", last, err)
				}
			}

			status = http.StatusServiceUnavailable
			if _, _, last, err = generate(t, m, conversation); err == nil || last.Stop != "" {
				t.Errorf("an error of the server: %+v, %v", last, err)
			}
		})
	}
}

// TestFakeClient is langchaingo's stand-in for a model.
func TestFakeClient(t *testing.T) {
	text, _, last, err := generate(t, langchain.New(fakellm.NewFakeLLM([]string{"Hello you."}), langchain.Options{}), providers.Request{Messages: talk})
	if text != "Hello you." || err != nil || last.Stop != providers.StopEnd {
		t.Errorf("%q, %+v, %v", text, last, err)
	}
}
