package wire

import (
	"encoding/json"
	"time"

	"mylm/providers"
)

// OllamaLines is how Ollama writes the replies of /api/chat.
var OllamaLines = Format{Reader: func() Reader { return ollamaReader{} }, Lines: true}

type ollamaReader struct{}

type ollamaReply struct {
	Error   json.RawMessage `json:"error"`
	Message *struct {
		Content  json.RawMessage `json:"content"`
		Thinking json.RawMessage `json:"thinking"`
		Calls    ServerCalls     `json:"tool_calls"`
	} `json:"message"`
	Done       *Flag     `json:"done"`
	Reason     EndReason `json:"done_reason"`
	Load       Count     `json:"load_duration"`
	Prompt     Count     `json:"prompt_eval_count"`
	PromptTime Count     `json:"prompt_eval_duration"`
	Output     Count     `json:"eval_count"`
	OutputTime Count     `json:"eval_duration"`
}

func (ollamaReader) Event(r *Reply, data []byte) error {
	var e ollamaReply
	if err := json.Unmarshal(data, &e); err != nil {
		return ErrGarbled
	}
	r.Known = r.Known || e.Message != nil || e.Done != nil
	if Present(e.Error) {
		r.Fail(data)
		return nil
	}
	if e.Message != nil {
		r.Thinking(e.Message.Thinking)
		if err := r.Content(e.Message.Content); err != nil {
			return err
		}
		for _, c := range e.Message.Calls {
			if c.Name == "" {
				return ErrOddCall
			}
			r.Call(c.Name, c.Args)
		}
	}
	if e.Done == nil || !*e.Done {
		return nil
	}
	r.Ended, r.Over, r.Stop = true, true, e.Reason.Words()
	r.Usage = providers.Usage{Prompt: int(e.Prompt), Output: int(e.Output), Load: time.Duration(e.Load),
		PromptTime: time.Duration(e.PromptTime), OutputTime: time.Duration(e.OutputTime)}
	return nil
}

func (o ollamaReader) Whole(r *Reply, body []byte) error { return o.Event(r, body) }
