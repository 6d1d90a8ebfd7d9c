package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ServerError is an error as a provider reports it.
type ServerError struct {
	Text   string // its words
	Names  string // codes, types and the names of fields, in lower case, each between spaces
	Status int    // an HTTP status given in the text of an event; 0: none
	prompt int    // tokens of the prompt; 0: unknown
	window int    // tokens of the window; 0: unknown
	retry  time.Duration
	signin string // an address to sign in at
}

// ReadError reads an error in any of the forms that providers give it: an
// object, a list of them or a string, below "error", "errors", "message",
// "detail" and the like, or the top itself. ok is true if there was one.
func ReadError(body []byte) (c ServerError, ok bool) {
	if len(body) > longestFault { // no error is so long, and decoding it into anything costs much
		return c, false
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(bytes.TrimLeft(body, beforeJSON)))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return c, false
	}
	c.read(v, 0)
	c.Names += " "
	c.findRetry()
	return c, c.Text != ""
}

// deepest bounds how far an error is looked for. OpenRouter wraps the error of
// the provider behind it three deep.
const deepest = 6

func (c *ServerError) read(v any, depth int) {
	if depth > deepest {
		return
	}
	switch v := v.(type) {
	case string:
		c.addText(v, depth)
	case []any:
		if len(v) > 0 {
			c.read(v[0], depth+1)
		}
	case map[string]any:
		c.addFields(v)
		for _, name := range []string{"error", "errors", "message", "detail", "msg", "error_msg", "errorMessage",
			"fault", "base_resp", "status_msg"} {
			if inner, ok := v[name]; ok && inner != nil {
				c.read(inner, depth+1)
			}
		}
		if m, ok := v["metadata"].(map[string]any); ok {
			c.read(m["raw"], depth+1)
		}
		if details, ok := v["details"].([]any); ok {
			for _, d := range details {
				if m, ok := d.(map[string]any); ok {
					c.addFields(m)
				}
			}
		}
	}
}

// addText records a text. One may hold the error of a server behind as JSON.
func (c *ServerError) addText(s string, depth int) {
	if i := strings.IndexByte(s, '{'); i >= 0 {
		var v map[string]any
		d := json.NewDecoder(strings.NewReader(s[i:]))
		d.UseNumber()
		if d.Decode(&v) == nil {
			c.Text, s = "", s[:i]
			c.read(v, depth+1)
		}
	}
	switch s = strings.TrimSpace(s); {
	case c.Text == "":
		c.Text = s
	case s != "" && !strings.Contains(c.Text, s):
		c.Text += ": " + s
	}
}

// addFields notes codes, types and numbers of an object.
func (c *ServerError) addFields(m map[string]any) {
	for _, name := range []string{"code", "type", "status", "reason", "error_code", "statusCode", "param"} {
		switch v := m[name].(type) {
		case string:
			if v != "error" {
				c.Names += " " + strings.ToLower(v)
			}
		case json.Number:
			if n, err := strconv.Atoi(v.String()); err == nil && n >= 400 && n < 600 {
				c.Status = n
			}
		}
	}
	if loc, ok := m["loc"].([]any); ok && len(loc) > 0 { // FastAPI's way to name a field
		c.Names += fmt.Sprintf(" %v", loc[len(loc)-1])
	}
	whole := func(name string) int {
		v, _ := m[name].(json.Number)
		n, _ := strconv.Atoi(v.String()) // 0 where it is none
		return n
	}
	if n := whole("n_prompt_tokens"); n > 0 { // llama.cpp
		c.prompt, c.window = n, whole("n_ctx")
	}
	if s, ok := m["signin_url"].(string); ok { // Ollama
		c.signin = s
	}
	if s, ok := m["retryDelay"].(string); ok { // Google
		c.retry, _ = time.ParseDuration(s)
	}
}

// hasCode reports whether one of the names is among the codes and types.
func (c *ServerError) hasCode(names ...string) bool {
	for _, name := range names {
		if strings.Contains(c.Names, " "+name+" ") {
			return true
		}
	}
	return false
}

// contains reports whether the text has one of the phrases, which are in small
// letters. A * matches anything.
func (c *ServerError) contains(phrases ...string) bool {
	text := strings.ToLower(c.Text)
	for _, phrase := range phrases {
		rest, found := text, true
		for part := range strings.SplitSeq(phrase, "*") {
			i := strings.Index(rest, part)
			if found = i >= 0; !found {
				break
			}
			rest = rest[i+len(part):]
		}
		if found {
			return true
		}
	}
	return false
}

// overflows are the phrases of providers for a prompt that is too long; the
// groups p and w are its size and the window's. They are compiled when an error
// comes, not at every start.
var overflows = sync.OnceValue(func() []*regexp.Regexp {
	var all []*regexp.Regexp
	for _, s := range []string{
		// OpenAI, vLLM, DeepSeek, Groq, OpenRouter.
		`maximum context length (?:is|of) (?P<w>\d+)(?: tokens)?.*?(?:resulted in|requested(?: about)?|contains at least|prompt contains|your request has) (?P<p>\d+)`,
		`maximum context length (?:is|of) (?P<w>\d+)`,
		// OpenAI and Groq, of a request that no minute's allowance holds.
		`request too large.*limit (?P<w>\d+), requested (?P<p>\d+)`,
		// Anthropic.
		`prompt is too long: (?P<p>\d+) tokens > (?P<w>\d+)`,
		"input length and `?max_tokens`? exceed context limit: (?P<p>\\d+) \\+ \\d+ > (?P<w>\\d+)",
		// llama.cpp.
		`request \((?P<p>\d+) tokens\) exceeds the available context size \((?P<w>\d+)`,
		`exceeds? the available context size`,
		// Mistral.
		`prompt contains (?P<p>\d+) tokens.*too large for model with (?P<w>\d+)`,
		// Google.
		`input token count(?: is)? \(?(?P<p>\d+)\)? (?:but model only supports up to|exceeds the maximum number of tokens allowed) \(?(?P<w>\d+)`,
		// LM Studio.
		`n_keep: (?P<p>\d+) ?>= n_ctx: (?P<w>\d+)`,
		`context length of only (?P<w>\d+) tokens`,
		// IBM.
		`number of input tokens (?P<p>\d+) cannot exceed the total tokens limit (?P<w>\d+)`,
		// xAI, SGLang, Hugging Face's TGI, OpenRouter's, Atlas.
		`maximum prompt length is (?P<w>\d+) but the request contains (?P<p>\d+)`,
		`input \((?P<p>\d+) tokens\) is longer than the model's context length \((?P<w>\d+)`,
		"`inputs` tokens \\+ `max_new_tokens` must be <= (?P<w>\\d+)\\. given: (?P<p>\\d+)",
		`input length \(?(?P<p>\d+)\)? exceeds (?:the )?(?:model's )?maximum (?:allowed )?(?:input|context) length (?:of )?\(?(?P<w>\d+)`,
		`prompt too long: (?P<p>\d+) tokens exceeds \w+ (?P<w>\d+)`,
		// Others, without numbers.
		`context size has been exceeded|prompt too long; exceeded`,
		`context[_ ]length[_ ]exceeded|context window (?:is )?exceeded|exceeds? (?:the )?(?:model'?s? )?(?:maximum )?context (?:length|window|size|limit)|input is too long|please reduce the length of the (?:messages|prompt|input)|prompt is too long|too many input tokens|too many tokens: total|greater than the context length`,
	} {
		all = append(all, regexp.MustCompile(s))
	}
	return all
})

// overflow reports whether the prompt was too long, and notes the numbers.
func (c *ServerError) overflow() bool {
	text := strings.ToLower(c.Text)
	for _, r := range overflows() {
		m := r.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		for i, name := range r.SubexpNames() {
			n, _ := strconv.Atoi(m[i]) // a group of digits
			switch {
			case name == "p" && c.prompt == 0:
				c.prompt = n
			case name == "w" && c.window == 0:
				c.window = n
			}
		}
		return true
	}
	return c.hasCode("context_length_exceeded", "exceed_context_size_error", "string_above_max_length")
}

// retryIn finds how long to wait if no header gives it: OpenAI and Groq write
// "Please try again in 7.66s", Azure "retry after 26 seconds".
var retryIn = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:try again|retry) (?:in|after) ((?:\d+(?:\.\d+)?(?:ms| ?s|m|h))+)`)
})

func (c *ServerError) findRetry() {
	if m := retryIn().FindStringSubmatch(strings.ToLower(c.Text)); m != nil && c.retry == 0 {
		c.retry, _ = time.ParseDuration(strings.ReplaceAll(m[1], " ", ""))
	}
}
