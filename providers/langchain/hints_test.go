package langchain_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"mylm/providers"
	"mylm/providers/langchain"
)

// TestHints compares error bodies of servers, verbatim, with the errors that
// they become.
func TestHints(t *testing.T) {
	overflow := func(prompt, window int) providers.Error {
		return providers.Error{Kind: providers.Overflow, Status: 400, PromptTokens: prompt, Window: window}
	}
	tests := []struct {
		name   string
		status int
		body   string
		want   providers.Error
		says   string
		hints  string
	}{
		{"OpenAI: too long", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`,
			overflow(9000, 8192), "9000 tokens", "less text"},
		{"OpenAI: too long, no numbers", 400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`,
			overflow(0, 0), "does not fit", "less text"},
		{"OpenAI: more than a minute's tokens", 429, `{"error":{"message":"Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 45000. The input or output tokens must be reduced in order to run successfully.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`,
			providers.Error{Kind: providers.Overflow, Status: 429, PromptTokens: 45000, Window: 30000}, "45000 tokens", "less text"},
		{"OpenAI: key", 401, `{"error":{"message":"Incorrect API key provided: ` + testKey + `. You can find your API key at https://platform.openai.com/account/api-keys.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`,
			providers.Error{Kind: providers.Auth, Status: 401}, "[the key]", "OPENAI_API_KEY"},
		{"OpenAI: model", 404, `{"error":{"message":"The model 'gpt-9' does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}`,
			providers.Error{Kind: providers.ModelMissing, Status: 404}, "gpt-9", "param:model"},
		{"OpenAI: not a chat model", 404, `{"error":{"message":"This is not a chat model and thus not supported in the v1/chat/completions endpoint. Did you mean to use v1/completions?","type":"invalid_request_error","param":"model","code":null}}`,
			providers.Error{Kind: providers.CannotChat, Status: 404}, "not a chat model", "chat model"},
		{"OpenAI: wrong path", 404, `{"error":{"message":"Invalid URL (POST /v1/v1/chat/completions)","type":"invalid_request_error","param":null,"code":null}}`,
			providers.Error{Kind: providers.Unreachable, Status: 404, Permanent: true}, "Invalid URL", "OPENAI_BASE_URL"},
		{"OpenAI: temperature", 400, `{"error":{"message":"Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}`,
			providers.Error{Kind: providers.BadRequest, Status: 400}, "temperature", "param:temperature"},
		{"vLLM: too long", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4744 in the messages, 256 in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","param":null,"code":400}`,
			overflow(5000, 4096), "5000 tokens", "less text"},
		{"vLLM: reply too long", 400, `{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 4096 tokens and your request has 17 input tokens (4096 > 4096 - 17).","type":"BadRequestError","code":400}}`,
			providers.Error{Kind: providers.BadRequest, Status: 400}, "too large", "param:max_tokens"},
		{"vLLM: model", 404, `{"object":"error","message":"The model ` + "`m`" + ` does not exist.","type":"NotFoundError","param":null,"code":404}`,
			providers.Error{Kind: providers.ModelMissing, Status: 404}, "does not exist", "param:model"},
		{"FastAPI: path", 404, `{"detail":"Not Found"}`,
			providers.Error{Kind: providers.Unreachable, Status: 404, Permanent: true}, "Not Found", "OPENAI_BASE_URL"},
		{"FastAPI: field", 422, `{"detail":[{"type":"extra_forbidden","loc":["body","x"],"msg":"Extra inputs are not permitted"}]}`,
			providers.Error{Kind: providers.BadRequest, Status: 422}, "Extra inputs", ""},
		{"llama.cpp: too long", 400, `{"error":{"code":400,"message":"request (1124 tokens) exceeds the available context size (512 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":1124,"n_ctx":512}}`,
			overflow(1124, 512), "1124 tokens", "less text"},
		{"llama.cpp: loading", 503, `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`,
			providers.Error{Kind: providers.ServerFault, Status: 503}, "Loading", "loading the model"},
		{"llama.cpp: key", 401, `{"error":{"message":"Invalid API Key","type":"authentication_error","code":401}}`,
			providers.Error{Kind: providers.Auth, Status: 401}, "Invalid API Key", "OPENAI_API_KEY"},
		{"llama.cpp: path", 404, `{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}`,
			providers.Error{Kind: providers.Unreachable, Status: 404, Permanent: true}, "File Not Found", "address"},
		{"LM Studio: too long", 400, `{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}`,
			overflow(0, 4096), "4096 tokens", "less text"},
		{"LM Studio: nothing loaded", 404, `{"error":{"message":"No models loaded. Please load a model in the developer page or use the lms load command.","type":"invalid_request_error","param":"model","code":"model_not_found"}}`,
			providers.Error{Kind: providers.ModelMissing, Status: 404}, "No models loaded", "param:model"},
		{"OpenRouter: nested", 429, `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"{\"error\":{\"message\":\"m is temporarily rate-limited upstream\"}}","provider_name":"X"}},"user_id":"u"}`,
			providers.Error{Kind: providers.RateLimited, Status: 429}, "rate-limited upstream", "again"},
		{"OpenRouter: credits", 402, `{"error":{"message":"This request requires more credits, or fewer max_tokens.","code":402}}`,
			providers.Error{Kind: providers.RateLimited, Status: 402, Permanent: true}, "credits", "billing"},
		{"OpenRouter: model", 400, `{"error":{"message":"gpt9 is not a valid model ID","code":400}}`,
			providers.Error{Kind: providers.ModelMissing, Status: 400}, "gpt9", "param:model"},
		{"OpenRouter: moderation", 403, `{"error":{"message":"m requires moderation on X. Your input was flagged for \"violence\".","code":403}}`,
			providers.Error{Kind: providers.Filtered, Status: 403, Permanent: true}, "moderation", "other words"},
		{"Groq: rate", 429, `{"error":{"message":"Rate limit reached for model on tokens per minute (TPM): Limit 6000, Used 5900, Requested 300. Please try again in 2.05s.","type":"tokens","code":"rate_limit_exceeded"}}`,
			providers.Error{Kind: providers.RateLimited, Status: 429, RetryAfter: 2050 * time.Millisecond}, "Rate limit", "again"},
		{"Groq: gone", 400, `{"error":{"message":"The model has been decommissioned and is no longer supported.","type":"invalid_request_error","code":"model_decommissioned"}}`,
			providers.Error{Kind: providers.ModelMissing, Status: 400}, "decommissioned", "param:model"},
		{"DeepSeek: model", 400, `{"error":{"message":"Model Not Exist","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`,
			providers.Error{Kind: providers.ModelMissing, Status: 400}, "Not Exist", "param:model"},
		{"Mistral: model", 400, `{"object":"error","message":"Invalid model: m","type":"invalid_model","param":null,"code":"1500"}`,
			providers.Error{Kind: providers.ModelMissing, Status: 400}, "Invalid model", "param:model"},
		{"Mistral: too long", 400, `{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_error","code":"3051"}`,
			overflow(40000, 32768), "40000 tokens", "less text"},
		{"Mistral: key", 401, `{"message":"Unauthorized","request_id":"x"}`,
			providers.Error{Kind: providers.Auth, Status: 401}, "Unauthorized", "OPENAI_API_KEY"},
		{"Google: key", 400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`,
			providers.Error{Kind: providers.Auth, Status: 400}, "not valid", "OPENAI_API_KEY"},
		{"Google: quota of a minute", 429, `[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"13s"}]}}]`,
			providers.Error{Kind: providers.RateLimited, Status: 429, RetryAfter: 13 * time.Second}, "quota", ""},
		{"Google: too long", 400, `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}`,
			overflow(1200000, 1048575), "1200000 tokens", "less text"},
		{"Anthropic: too long with the reply", 400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again\"}}",
			overflow(188240, 200000), "188240 tokens", "less text"},
		{"Anthropic: reply too long", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 99999 > 8192, which is the maximum allowed number of output tokens for m"}}`,
			providers.Error{Kind: providers.BadRequest, Status: 400}, "8192", "param:max_tokens"},
		{"Anthropic: overloaded", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_x"}`,
			providers.Error{Kind: providers.ServerFault, Status: 529}, "Overloaded", "Wait"},
		{"llama.cpp: its parser", 500, `{"error":{"code":500,"message":"The model produced output that does not match the expected peg-native format","type":"server_error"}}`,
			providers.Error{Kind: providers.ServerFault, Status: 500}, "peg-native", "skip-chat-parsing"},
		{"llama.cpp: its parser, earlier", 500, `{"error":{"code":500,"message":"Failed to parse input at pos 184: <tool_call>ls</tool_call>","type":"server_error"}}`,
			providers.Error{Kind: providers.ServerFault, Status: 500}, "at pos 184", "skip-chat-parsing"},
		{"LM Studio: crashed", 400, `{"error":"The model has crashed without additional information. (Exit code: null)"}`,
			providers.Error{Kind: providers.ServerFault, Status: 400}, "has crashed", "load the model again"},
		{"LM Studio: no room", 404, `{"error":{"message":"Failed to load model \"m\". Error: Model loading was stopped due to insufficient system resources.","type":"invalid_request_error","param":"model","code":"model_not_found"}}`,
			providers.Error{Kind: providers.OutOfMemory, Status: 404, Permanent: true}, "insufficient system resources", "a smaller model"},
		{"LM Studio: not loaded", 400, `{"error":{"message":"Failed to load model \"m\". Error: Operation canceled.","type":"invalid_request_error"}}`,
			providers.Error{Kind: providers.ServerFault, Status: 400}, "Operation canceled", "Load the model in the server"},
		{"Groq: a call it cannot read", 400, `{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"Tool use failed: JSON does not match the expected schema for tool calls"}}`,
			providers.Error{Kind: providers.ServerFault, Status: 400}, "Failed to call", "param:form"},
		{"Azure: no such deployment", 404, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`,
			providers.Error{Kind: providers.ModelMissing, Status: 404}, "deployment", "param:model"},
		{"Azure: rate", 429, `{"error":{"code":"429","message":"Requests have exceeded the token rate limit of your pricing tier. Please retry after 26 seconds."}}`,
			providers.Error{Kind: providers.RateLimited, Status: 429, RetryAfter: 26 * time.Second}, "rate limit", "26s"},
		{"OpenAI: region", 403, `{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported","param":null,"type":"request_forbidden"}}`,
			providers.Error{Kind: providers.BadRequest, Status: 403, Permanent: true}, "not supported", "another provider"},
		{"control characters", 400, "{\"error\":\"a\\u001b[31m\\nb\"}",
			providers.Error{Kind: providers.BadRequest, Status: 400}, "a b", ""},
		{"OpenAI: not verified", 400, `{"error":{"message":"Your organization must be verified to stream this model. Please go to the settings.","param":"stream","code":"unsupported_value"}}`,
			providers.Error{Kind: providers.BadRequest, Status: 400}, "verified", "Verify the organization"},
		{"no system message", 400, `{"error":{"message":"System role not supported","type":"invalid_request_error"}}`,
			providers.Error{Kind: providers.BadRequest, Status: 400}, "System role", "chat template"},
		{"nothing said", 400, `{}`,
			providers.Error{Kind: providers.BadRequest, Status: 400}, "400 Bad Request", ""},
		{"an error in the place of a reply", 200, `{"error":{"message":"The model ` + "`m`" + ` does not exist","code":"model_not_found"}}`,
			providers.Error{Kind: providers.ModelMissing}, "does not exist", "param:model"},
		{"another API's reply", 200, `{"status":"ok"}`,
			providers.Error{Kind: providers.Unreachable, Status: 200, Permanent: true}, "not a model's API", "OPENAI_BASE_URL"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, openAIAPI, answers(tt.status, "application/json", tt.body))
			_, _, _, err := generate(t, f.model(t), providers.Request{})
			checkError(t, err, tt.want, tt.says, tt.hints)
		})
	}
}

// TestCancelWhileHinting is for a caller who leaves while a hint is made.
func TestCancelWhileHinting(t *testing.T) {
	f := newFake(t, openAIAPI, openAIAPI.refuses(404, "model_not_found", "The model does not exist"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.list = func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}
	for _, err := range f.model(t).Generate(ctx, hello) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	}
}

// TestNearModel proves that a missing model is answered with one like it.
func TestNearModel(t *testing.T) {
	f := newFake(t, openAIAPI, openAIAPI.refuses(404, "model_not_found", "The model does not exist"))
	f.list = answers(200, "application/json", `{"data":[{"id":"gpt-4o-mini"},{"id":"text-embedding-3-small"}]}`)
	m := open(t, "openai", langchain.Config{Model: "gtp-4o-mini", BaseURL: f.URL, Key: testKey})
	_, _, _, err := generate(t, m, providers.Request{})
	checkError(t, err, providers.Error{Kind: providers.ModelMissing, Status: 404}, "does not exist", "Did you mean gpt-4o-mini?")
}

// A router that reports the loss of a server behind it is there itself.
func TestServerBehindIsGone(t *testing.T) {
	f := newFake(t, openAIAPI, answers(200, "application/json", `{"error":{"message":"Worker lost","code":502,"metadata":{"error_type":"provider_unavailable"}}}`))
	_, _, _, err := generate(t, open(t, "vllm", langchain.Config{Model: "m", BaseURL: f.URL}), providers.Request{})
	checkError(t, err, providers.Error{Kind: providers.ServerFault, Status: 502}, "Worker lost", "Look into")
}
