package langchain

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/tmc/langchaingo/llms"
)

// OpenOdd opens a backend with the oddities that langchaingo's backends have
// and OpenAI's and Anthropic's do not: it drops the call's context or insists
// on a client of its own, reads one message, streams lines of JSON, gives its
// callback these lines, and carries its key in the address.
func OpenOdd(c Config, ownClient, dropsContext bool, llm func(base string, client *http.Client) llms.Model) (*Model, error) {
	return openBackend(backend{
		Provider:   Provider{Name: "odd", Title: "Odd", BaseURL: "http://localhost", Streams: true},
		ownClient:  ownClient,
		serial:     dropsContext,
		oneMessage: true,
		chunk: func(b []byte) []byte {
			var l oddLine
			_ = json.Unmarshal(b, &l) // what the test sends is JSON
			return []byte(l.Say)
		},
		open: func(c Config, client *http.Client) (llms.Model, error) { return llm(c.BaseURL, client), nil },
		wire: wire{
			lines:  true,
			reader: func() reader { return oddReader{} },
			head: func(req *http.Request, _ asked) {
				req.Header.Set("Authorization", "Bearer "+req.URL.Query().Get("key"))
				req.URL.RawQuery = ""
			},
		},
	}, c)
}

type oddLine struct {
	Say  string `json:"say"`
	Done bool   `json:"done"`
}

type oddReader struct{}

func (oddReader) event(r *reply, data []byte) ([]byte, error) {
	var l oddLine
	if err := json.Unmarshal(data, &l); err != nil {
		return nil, errGarbled
	}
	r.passed += len(l.Say)
	r.ended, r.over = l.Done, l.Done
	return append(bytes.Clone(data), '\n'), nil
}

func (o oddReader) whole(r *reply, body []byte) ([]byte, error) { return o.event(r, body) }
