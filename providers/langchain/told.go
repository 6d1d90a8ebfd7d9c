package langchain

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"mylm/providers"
	"mylm/providers/internal/httpfault"
)

// told classes what a provider says: as the whole answer with its status, or
// in mid-reply, where the status is 0 or stands in the text.
func (m *Model) told(c complaint, status int, h http.Header) *providers.Error {
	e := &providers.Error{Status: status, Message: m.shown(c.text), RetryAfter: retryAfter(c, h)}
	wait := "wait a moment and ask again."
	if e.RetryAfter > 0 {
		wait = fmt.Sprintf("the server asks to wait %v, then ask again.", e.RetryAfter.Round(time.Millisecond))
	}
	switch {
	case c.says("max_tokens*is too large", "max_tokens*greater than*budget_tokens"): // vLLM and Anthropic name the window here too
		e.Kind, e.Hint = providers.BadRequest, hintRequest(c)
	case c.overflow():
		e.Kind, e.PromptTokens, e.Window = providers.Overflow, c.prompt, c.window
		m.describeOverflow(e)
	case c.is("content_filter", "content_policy_violation", "content_filter_error", "data_inspection_failed") || status == 498 || // Cohere's
		c.says("content management policy", "content policy", "content filtering policy", "flagged by*moderation", "requires moderation", "prohibited_content"):
		e.Kind, e.Permanent, e.Hint = providers.Filtered, true, hintFiltered
	case c.is("insufficient_quota", "billing_error", "billing_hard_limit_reached", "insufficient_user_quota", "token_quota_reached") || status == http.StatusPaymentRequired ||
		c.says("exceeded your current quota", "credit balance is too low", "insufficient balance", "insufficient credits", "requires more credits", "daily free allocation"):
		e.Kind, e.Hint = providers.RateLimited, fmt.Sprintf("No quota or credit is left at %s: look into the account's billing.", m.back.Title)
		e.Permanent = e.RetryAfter == 0 // Google says the same of a minute's quota, and how long to wait
	case c.says("not a chat model", "does not support chat", "does not support completions", "only supports embeddings", "does not support this task*embed"):
		e.Kind, e.Hint = providers.CannotChat, "Choose a model that converses. "+m.hintModels()
	case c.noModel(status):
		e.Kind = providers.ModelMissing
		e.Hint = m.hintModels()
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired,
		c.is("authentication_error", "permission_error", "invalid_api_key", "unauthenticated", "permission_denied", "api_key_invalid"),
		c.says("api key not valid", "invalid api key", "incorrect api key"):
		e.Kind, e.Hint = providers.Auth, m.hintKey(status)
	case status == http.StatusTooManyRequests, c.is("rate_limit_error", "rate_limit_exceeded", "resource_exhausted", "rate_limited"):
		e.Kind, e.Hint = providers.RateLimited, upper(wait)
	case c.says("loading model"):
		e.Kind, e.Hint = providers.ServerFault, "The server is loading the model: "+wait
	case c.is("overloaded_error") || status == 529:
		e.Kind, e.Hint = providers.ServerFault, m.back.Title+" is overloaded: "+wait
	case status == http.StatusNotImplemented, badStatus(status), c.is("invalid_request_error", "bad_request") && status < 500:
		e.Kind, e.Hint = providers.BadRequest, hintRequest(c)
	default:
		e.Kind, e.Hint = providers.ServerFault, m.hintFault()
		if e.RetryAfter > 0 {
			e.Hint = upper(wait)
		}
	}
	return e
}

// upper makes the beginning of a sentence of s.
func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// badStatus reports whether the same request fails again.
func badStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, 499: // 499: the server gave up itself
		return false
	}
	return status >= 400 && status < 500
}

// noModel reports whether the model is what is missing.
func (c *complaint) noModel(status int) bool {
	switch {
	case c.is("model_not_found", "invalid_model", "model_decommissioned", "model_not_available", "model_not_supported"),
		c.says("model*does not exist", "model*not found", "model not exist", "is not a valid model id", "no endpoints found for",
			"invalid model", "model identifier is invalid", "no such model", "unknown model", "no models loaded", "is not supported by any provider"):
		return status < 500
	}
	return status == http.StatusNotFound && c.says("model")
}

// shown is the text of a message: who says it, and never the key.
func (m *Model) shown(text string) string {
	if text = httpfault.OneLine(withoutKey(text, m.config.Key)); text == "" {
		text = "an error without words"
	}
	return m.back.Title + ": " + text
}

// withoutKey is text without the key, which servers repeat. What is shorter
// than any key would be found in words.
func withoutKey(text, key string) string {
	if len(key) < 4 {
		return text
	}
	return strings.ReplaceAll(text, key, "[the key]")
}

func (m *Model) describeOverflow(e *providers.Error) {
	httpfault.DescribeOverflow(e)
	e.Hint = "Give it less text, or choose a model with a larger window."
	if m.back.BaseURL != "" && !m.back.NeedsKey {
		e.Hint = "Give it less text, or start the server with a larger window."
	}
}

const hintFiltered = "Put it in other words, or choose another model."

// hintRequest helps with what is commonly not accepted.
func hintRequest(c complaint) string {
	switch {
	case c.says("budget_tokens"):
		return "Set a larger --max-tokens, or ask without --think."
	case c.says("max_tokens", "max_completion_tokens"):
		return "Set a smaller --max-tokens."
	case c.says("temperature"):
		return "Ask without --temperature: this model does not take it."
	case c.says("reasoning", "thinking"):
		return "Ask without --think: this model does not take it."
	case c.says("seed"):
		return "Ask without --seed: this model does not take it."
	}
	return ""
}
