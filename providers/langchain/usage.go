package langchain

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"mylm/providers"
)

// contentOf collects text and reasoning of a response. Anthropic's has a choice for
// each block; others put alternatives there, which are never asked for.
func contentOf(r *llms.ContentResponse) (text, reasoning string) {
	if r == nil {
		return "", ""
	}
	for _, c := range r.Choices {
		if c == nil {
			continue
		}
		text += c.Content
		if c.ReasoningContent != "" {
			reasoning += c.ReasoningContent
		} else if s, ok := c.GenerationInfo["ThinkingContent"].(string); ok && c.Content == "" {
			reasoning += s
		}
	}
	return text, reasoning
}

// stopOf is the stop reason of a response, "" if it gives none.
func stopOf(r *llms.ContentResponse) string {
	if r == nil {
		return ""
	}
	stop := ""
	for _, c := range r.Choices {
		if c != nil {
			stop = cmp.Or(stop, c.StopReason)
		}
	}
	return stop
}

// stopReasons are the names that providers have for the two reasons that the engine distinguishes.
var stopReasons = map[string]providers.StopReason{
	"stop": providers.StopEnd, "end_turn": providers.StopEnd, "stop_sequence": providers.StopEnd,
	"complete": providers.StopEnd, "eos": providers.StopEnd, "eos_token": providers.StopEnd,
	"finishreasonstop": providers.StopEnd, "done": providers.StopEnd, "normal": providers.StopEnd,
	"finish": providers.StopEnd, "endoftext": providers.StopEnd,
	"length": providers.StopLength, "max_tokens": providers.StopLength, "max_length": providers.StopLength,
	"finishreasonmaxtokens": providers.StopLength, "model_length": providers.StopLength,
	"model_context_window_exceeded": providers.StopLength, "limit": providers.StopLength,
}

func stopReason(word string) providers.StopReason {
	if stop, ok := stopReasons[strings.ToLower(word)]; ok {
		return stop
	}
	return providers.StopReason(word)
}

// refused reports whether a reply ended since its content was not allowed.
func refused(stop providers.StopReason) bool {
	switch strings.ToLower(string(stop)) {
	case "content_filter", "content_filtered", "refusal", "safety", "sensitive", "error_toxic", "guardrail_intervened",
		"recitation", "blocklist", "prohibited_content", "spii", "finishreasonsafety", "finishreasonrecitation":
		return true
	}
	return false
}

// usageOf reads the numbers in a response under the names that langchaingo's
// backends give them.
func usageOf(r *llms.ContentResponse) (u providers.Usage) {
	if r == nil {
		return u
	}
	for _, c := range r.Choices {
		if c == nil {
			continue
		}
		i := c.GenerationInfo
		cached := number(i, "CacheReadInputTokens") + number(i, "CacheCreationInputTokens")
		n := providers.Usage{
			Prompt: cmp.Or(number(i, "PromptTokens", "prompt_tokens", "input_tokens"), number(i, "InputTokens")+cached),
			Output: number(i, "CompletionTokens", "OutputTokens", "completion_tokens", "output_tokens"),
		}
		// Each choice repeats the numbers of the whole response.
		u.Prompt, u.Output = max(u.Prompt, n.Prompt), max(u.Output, n.Output)
	}
	return u
}

// number is the first of the named values that is a number other than zero.
func number(info map[string]any, names ...string) int {
	for _, name := range names {
		if n, err := strconv.ParseFloat(fmt.Sprint(info[name]), 64); err == nil && n != 0 {
			return int(n)
		}
	}
	return 0
}
