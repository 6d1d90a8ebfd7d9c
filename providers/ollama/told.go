package ollama

import (
	"encoding/json"
	"net/http"
	"strings"

	"mylm/providers"
	"mylm/providers/internal/httpfault"
)

// told classes what the server itself says: as the whole answer, with its
// status, or with StatusOK as a line in mid-reply. The status says little: 500
// may be a fault of the request, and in mid-reply there is none.
func (c *Client) told(text string, status int) fault {
	e := &providers.Error{Status: status}
	if status == http.StatusOK {
		e.Status = 0
	}
	if overflow(e, text) {
		return fault{Error: e}
	}
	e.Message = "Ollama: " + httpfault.OneLine(innerMessage(text))
	for _, k := range known {
		if containsAll(text, k.words) && (k.status == 0 || k.status == status) {
			e.Kind, e.Permanent, e.Hint = k.kind, k.permanent, k.hint
			return fault{Error: e, missing: k.missing}
		}
	}
	e.Kind, e.Hint = providers.ServerFault, hintLog
	switch {
	case status == http.StatusNotFound:
		return fault{Error: c.notOllama(&exchange{status: status})}
	case status == http.StatusNotImplemented, status >= 400 && status < 500 && status != statusCancelled && status != http.StatusRequestTimeout:
		e.Kind, e.Hint = providers.BadRequest, ""
	}
	return fault{Error: e}
}

// statusCancelled is what the server answers when it ends a request itself.
const statusCancelled = 499

// known is what servers say, by words that their versions share.
var known = []struct {
	words     []string
	status    int // 0: any
	kind      providers.Kind
	permanent bool
	missing   bool
	hint      string
}{
	{words: []string{"model", "not found"}, status: http.StatusNotFound, kind: providers.ModelMissing, missing: true},
	{words: []string{"invalid model name"}, kind: providers.ModelMissing, missing: true},
	{words: []string{"does not support chat"}, kind: providers.CannotChat, hint: "Choose a model that converses: `mylm models` lists them."},
	{words: []string{"does not support thinking"}, kind: providers.BadRequest, hint: "Ask without --think on."},
	{words: []string{"option ", "must be of type"}, kind: providers.ServerFault, permanent: true},
	{words: []string{"invalid format"}, kind: providers.ServerFault, permanent: true},
	{words: []string{"more system memory"}, kind: providers.ServerFault, permanent: true, hint: hintMemory},
	{words: []string{"out-of-memory"}, kind: providers.ServerFault, permanent: true, hint: hintMemory},
	{words: []string{"unable to load model"}, kind: providers.ServerFault, permanent: true, hint: hintReload},
	{words: []string{"error loading model"}, kind: providers.ServerFault, permanent: true, hint: hintReload},
	{words: []string{"binary not found"}, kind: providers.ServerFault, permanent: true, hint: "The server's installation is incomplete: install Ollama again."},
	{words: []string{"template", "error"}, status: http.StatusInternalServerError, kind: providers.ServerFault, permanent: true, hint: hintReload},
	{words: []string{"unexpected EOF"}, kind: providers.ServerFault, hint: "The model's process ended; the next question starts it again. " + hintMemory},
	{words: []string{"unexpectedly stopped"}, kind: providers.ServerFault, hint: hintMemory},
}

func containsAll(s string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(s, w) {
			return false
		}
	}
	return true
}

// nested is the error of the model's process, which the server passes on as
// JSON inside its own message.
type nested struct {
	Error struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Prompt  int    `json:"n_prompt_tokens"`
		Window  int    `json:"n_ctx"`
	} `json:"error"`
}

func parseNested(text string) (n nested) {
	if i := strings.IndexByte(text, '{'); i >= 0 {
		// What is not of this form stays zero.
		_ = json.Unmarshal([]byte(text[i:]), &n)
	}
	return n
}

func innerMessage(text string) string {
	if m := parseNested(text).Error.Message; m != "" {
		return m
	}
	return text
}

// overflow fills in e if text says that the prompt does not fit. Servers
// before 0.30 say so in plain words, later ones with numbers.
func overflow(e *providers.Error, text string) bool {
	n := parseNested(text).Error
	if n.Type != "exceed_context_size_error" && !strings.Contains(text, "exceeds the context length") &&
		!strings.Contains(text, "exceeds the available context size") {
		return false
	}
	e.Kind, e.PromptTokens, e.Window = providers.Overflow, n.Prompt, n.Window
	describeOverflow(e)
	return true
}
