package wire

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"mylm/providers"
)

// classify finds the kind of an error that a server reports: as the whole
// response with its status, or in mid-reply, where the status is 0 or part of
// the text. Codes count before the status, and the status before words: servers
// report faults of a request as 500, and faults of their own as 200. The words are those of
// servers, in small letters; * is anything between them.
func (x *Exchange) classify(c ServerError, status int) *providers.Error {
	e := &providers.Error{Status: status, Message: x.message(c.Text), RetryAfter: c.wait(x.header)}
	wait := "Wait a moment and ask again."
	if e.RetryAfter > 0 {
		wait = fmt.Sprintf("The server asks to wait %s, then ask again.", e.Wait())
	}
	as := func(kind providers.Kind, param, hint string) { e.Kind, e.Param, e.Hint = kind, param, hint }
	forever := func(kind providers.Kind, param, hint string) { as(kind, param, hint); e.Permanent = true }
	// What the server tells of the model's reply needs a request that got as far as the model.
	asked := status != http.StatusUnauthorized && status != http.StatusForbidden &&
		status != http.StatusProxyAuthRequired && status != http.StatusTooManyRequests
	switch {
	// vLLM and Anthropic name the window here too.
	case c.contains("max_tokens*is too large", "max_tokens*greater than*budget_tokens"):
		as(refusedParam(c))
	case c.overflow():
		e.Kind, e.PromptTokens, e.Window = providers.Overflow, c.prompt, c.window
		DescribeOverflow(e)
		e.Param, e.Hint = providers.ParamWindow, "Give it less text, or choose a model with a larger window."
		if x.Server.Local {
			e.Hint = "Give it less text, or start the server with a larger window."
		}
	// Chat templates report this with any status.
	case c.contains("roles must alternate", "roles should be alternating", "does not support successive user or assistant",
		"requests alternate between user and model"):
		as(providers.BadRequest, paramRows, "The model's chat template wants user and assistant to take turns: choose another model, or give the server another template.")
	case c.contains("system role not supported", "system role is not supported", "only user and assistant roles are supported",
		"does not support 'system'", "support system messages", "support system prompts",
		"developer instruction is not enabled"):
		as(providers.BadRequest, providers.ParamSystem, "The model takes no system message: choose another model, or give the server another chat template.")
	case (c.hasCode(paramUsage) || c.contains(paramUsage)) && badStatus(cmp.Or(status, http.StatusBadRequest)):
		as(providers.BadRequest, paramUsage, "")
	case c.contains("does not support tools", "does not support function calling", "that support tool use") && status < 500:
		as(providers.BadRequest, "", "No tools are sent to it: something in between adds them, such as a gateway or a preset of the server.")
	case c.contains("max_tokens*max_completion_tokens' instead") && status < 500:
		as(providers.BadRequest, paramLimit, "")
	// 498 is Cohere's.
	case c.hasCode("content_filter", "content_policy_violation", "content_filter_error", "data_inspection_failed") ||
		status == 498 ||
		c.contains("content management policy", "content policy", "content filtering policy", "flagged by*moderation",
			"requires moderation", "prohibited_content"):
		forever(providers.Filtered, "", HintFiltered)
	case c.hasCode("insufficient_quota", "billing_error", "billing_hard_limit_reached", "insufficient_user_quota",
		"token_quota_reached", "budget_exceeded") || status == http.StatusPaymentRequired || // 402
		c.contains("exceeded your current quota", "credit balance is too low", "insufficient balance",
			"usage limit", "requires a subscription", "insufficient credits", "requires more credits", "daily free allocation", "budget has been exceeded"):
		as(providers.RateLimited, "", fmt.Sprintf("No quota or credit is left at %s: check the account's billing.",
			x.Server.Title))
		e.Permanent = e.RetryAfter == 0 // Google says the same of a minute's quota, and how long to wait
	case c.contains("not a chat model", "does not support chat", "does not support completions",
		"only supports embeddings", "does not support this task*embed"):
		param, hint := x.Server.another()
		as(providers.CannotChat, param, "Choose a chat model. "+hint)
	case c.contains("tool*not found") && (status == 0 || status >= 500): // some of Ollama's parsers, as ministral
		forever(providers.ServerFault, "", "The server's parser for this model refuses calls of tools that were not sent "+
			"to it, and none are sent. "+hintPassthrough)
	case c.contains("more system memory", "out of memory", "out-of-memory", "out_of_memory", "outofmemory",
		"outofdevicememory", "outofhostmemory", "insufficient memory", "cudamalloc", "unable to allocate*buffer",
		"failed to allocate*buffer", "insufficient system resources"):
		forever(providers.OutOfMemory, providers.ParamWindow, hintMemory)
	case asked && (c.hasCode("tool_use_failed") || c.contains("malformed_function_call", "unexpected_tool_call",
		"malformed_tool_use", "malformed_model_output")): // Groq, Google, Bedrock
		as(providers.ServerFault, providers.ParamForm, "The server rejected the model's reply as an invalid tool call, though it was sent no tools.")
	// llama.cpp's "peg-native"; Ollama's for gpt-oss, GLM and Qwen3-Coder. What a model writes next may be readable.
	case asked && c.contains("does not match the expected*format", "failed to parse input at pos"):
		as(providers.ServerFault, "", "The server's parser cannot read what the model wrote. Start llama-server with its option "+
			"skip-chat-parsing, which leaves that to its clients.")
	case asked && c.contains("error parsing tool call", "incomplete glm tool call", "xml syntax error"):
		as(providers.ServerFault, "", "The server's parser for this model cannot read what it wrote. "+hintPassthrough)
	case c.contains("failed to load model"): // LM Studio
		as(providers.ServerFault, "", "Load the model in the server itself, which shows what is missing. "+hintMemory)
	case status < 500 && c.noModel(status):
		param, hint := x.Server.another()
		as(providers.ModelMissing, param, hint)
	case c.contains("unknown model architecture", "unsupported model architecture", "requires a newer version", "unknown parser"):
		forever(providers.ServerFault, "", "The server is too old for this model: update it, or choose another model.")
	case c.contains("unable to load model", "error loading model", "template*error") &&
		status == http.StatusInternalServerError: // 500
		forever(providers.ServerFault, "", "The model's files may be damaged: installing the model again repairs them. "+x.Server.Log)
	case c.contains("binary not found"):
		forever(providers.ServerFault, "", "The server's installation is incomplete: install it again.")
	case c.contains("option*must be of type", "invalid format:"):
		forever(providers.ServerFault, "", "")
	case c.contains("the model has crashed"): // LM Studio
		as(providers.ServerFault, providers.ParamWindow, "The model's process ended: load the model again if the server does not. "+hintMemory)
	// Of Ollama's runner: the process of the model.
	case c.contains("unexpected eof", "unexpectedly stopped", "process has terminated", "died unexpectedly"):
		as(providers.ServerFault, providers.ParamWindow,
			"The model's process ended; the next question starts it again. "+hintMemory)
	case c.hasCode("unsupported_country_region_territory"), c.contains("user location is not supported"):
		forever(providers.BadRequest, "", x.Server.Title+" does not serve this place: choose another provider.")
	// 401, 403, 407.
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired,
		c.hasCode("authentication_error", "permission_error", "invalid_api_key", "unauthenticated", "permission_denied",
			"api_key_invalid"),
		c.contains("api key not valid", "invalid api key", "incorrect api key"):
		as(providers.Auth, "", x.Server.Key(status))
		switch {
		case c.signin != "":
			e.Hint = "Run `ollama signin`, or open " + OneLine(c.signin)
		case status == http.StatusProxyAuthRequired:
			e.Hint = x.hintProxyKey()
		}
	case status == http.StatusTooManyRequests, // 429
		c.hasCode("rate_limit_error", "rate_limit_exceeded", "resource_exhausted", "rate_limited"):
		as(providers.RateLimited, "", wait)
	case c.contains("server busy"): // Ollama
		as(providers.RateLimited, "", "The server's queue is full. "+wait)
	case c.contains("loading model"):
		as(providers.ServerFault, "", "The server is loading the model. "+wait)
	case c.hasCode("overloaded_error") || status == 529:
		as(providers.ServerFault, "", x.Server.Title+" is overloaded. "+wait)
	case status == http.StatusRequestEntityTooLarge: // 413
		as(providers.BadRequest, "", "The request is larger than the server, or a proxy in front of it, accepts.")
	case status == http.StatusNotImplemented, badStatus(status), // 501, 400
		c.hasCode("invalid_request_error", "bad_request") && status < 500:
		as(refusedParam(c))
	case x.Server.Local && x.status == status && gateway(status):
		as(providers.ServerFault, "", "A proxy in front of the server gets no answer from it. "+x.Server.Start)
	case e.RetryAfter > 0:
		as(providers.ServerFault, "", wait)
	default: // 500
		as(providers.ServerFault, "", x.Server.fault())
	}
	e.Hint = strings.TrimSpace(e.Hint)
	e.Busy = !e.Permanent && (e.Kind == providers.RateLimited ||
		e.Kind == providers.ServerFault && (status == http.StatusServiceUnavailable || status == 529 || // 503
			c.hasCode("overloaded_error") || c.contains("loading model", "server busy")))
	return e
}

// gateway reports whether a proxy says that the server behind it does not answer: 502 and 504,
// and 520 to 527 of Cloudflare.
func gateway(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusGatewayTimeout || status >= 520 && status <= 527
}

const (
	// HintFiltered is the hint for what content rules refuse.
	HintFiltered = "Put it in other words, or choose another model."

	hintPassthrough = "Create the model anew with PARSER passthrough in its Modelfile."

	hintMemory = "If memory is short, take a smaller model or a smaller window."
)

// badStatus reports whether the same request fails again.
func badStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, 499: // 499: the server gave up itself
		return false
	}
	return status >= 400 && status < 500
}

// noModel reports whether the model is not there.
func (c *ServerError) noModel(status int) bool {
	return c.hasCode("model_not_found", "invalid_model", "model_decommissioned", "model_not_available",
		"model_not_supported", "deploymentnotfound") ||
		c.contains("model*does not exist", "model*not found", "model not exist", "is not a valid model id",
			"no endpoints found for",
			"invalid model", "model identifier is invalid", "no such model", "unknown model", "no models loaded", "is not supported by any provider") ||
		status == http.StatusNotFound && c.contains("model") // 404
}

// refusedParam finds the parameter, an option, that a bad request was refused for.
func refusedParam(c ServerError) (kind providers.Kind, param, hint string) {
	kind = providers.BadRequest
	switch {
	case c.contains("must be verified to"): // OpenAI, of its newest models
		return kind, "", "Verify the organization in the settings of the account, or choose another model."
	case c.contains("budget_tokens"):
		return kind, providers.ParamMaxTokens, "Thinking needs a larger limit of the reply."
	case c.contains("max_tokens", "max_completion_tokens"):
		return kind, providers.ParamMaxTokens, "The limit of the reply must be smaller."
	case c.contains("temperature"):
		return kind, providers.ParamTemperature, "The server does not accept this temperature."
	case c.contains("reasoning", "thinking", "think value"):
		return kind, providers.ParamThink, "The server does not accept this setting of thinking."
	case c.contains("seed"):
		return kind, providers.ParamSeed, "The server does not accept a seed here."
	}
	return kind, "", ""
}

// message names the source of a text, and hides the key.
func (x *Exchange) message(text string) string {
	return x.Server.Title + ": " + cmp.Or(OneLine(WithoutKey(withoutEscapes(text), x.Server.Secret)), "an error without words")
}

// WithoutKey is text without the key, which servers repeat. What is shorter
// than any key would be found in words.
func WithoutKey(text, key string) string {
	if len(key) < 4 {
		return text
	}
	return strings.ReplaceAll(text, key, "[the key]")
}

// wait is how long the server asks to wait.
func (c *ServerError) wait(h http.Header) time.Duration {
	if ms, err := strconv.ParseUint(h.Get("Retry-After-Ms"), 10, 31); err == nil {
		return time.Duration(ms) * time.Millisecond
	}
	return cmp.Or(RetryAfter(h), max(0, c.retry))
}
