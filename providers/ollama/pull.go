package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ollama/ollama/api"

	"mylm/providers"
	"mylm/providers/internal/wire"
)

// Progress is how far a download has come.
type Progress struct {
	Status      string // what the server is doing, in its words
	Done, Total int64  // bytes of the files that have begun; 0 before the first
}

// Pull has the server download a model from its library, and returns once the model
// is installed. progress is called by the same goroutine for each report of the
// server; nil is not called. The server keeps what it has downloaded when Pull fails
// or ctx ends, and the next Pull continues there. If the connection to the server
// breaks off, the request is made again, up to twice.
//
// A server reports nothing while it checks what it has downloaded, which takes
// minutes for a large model: only ctx limits the wait.
func (c *Client) Pull(ctx context.Context, name string, progress func(Progress)) (err error) {
	for range 3 {
		x := &wire.Exchange{Server: &c.server, Format: wire.Format{Lines: true, Reader: func() wire.Reader {
			return &pullReader{progress: progress, files: map[string]api.ProgressResponse{}}
		}}}
		err = c.exchange(ctx, "", x, func(ctx context.Context) error {
			return c.api.Pull(ctx, &api.PullRequest{Model: name}, func(api.ProgressResponse) error { return nil })
		})
		if providers.KindOf(err) != providers.Interrupted {
			break
		}
	}
	var fault *providers.Error
	if errors.As(err, &fault) {
		explainPull(fault, name)
	}
	return err
}

// explainPull says what the words of a server about a failed download mean. The
// words are those of Ollama's server/images.go and server/download.go.
func explainPull(e *providers.Error, name string) {
	has := func(words string) bool { return strings.Contains(e.Message, words) }
	switch {
	case has("pull model manifest: file does not exist"), has("invalid model name"):
		e.Kind, e.Permanent = providers.ModelMissing, true
		e.Message, e.Hint = fmt.Sprintf("Ollama: the library has no model %q", wire.OneLine(name)), "Its models: https://ollama.com/library"
	case has("no space left"):
		e.Permanent, e.Hint = true, "Make room on the disk of Ollama's models, or choose a smaller model."
	case has("newer version of Ollama"):
		e.Permanent, e.Hint = true, "Update Ollama: https://ollama.com/download"
	case has("digest mismatch"):
		e.Hint = "Try again: the damaged file is downloaded anew."
	case has("pull model manifest: Get "), has("max retries exceeded"):
		e.Kind = providers.Unreachable
		e.Hint = "Check the network of the machine that Ollama runs on; a proxy is set by HTTPS_PROXY where Ollama is started."
	}
}

// maxFile is more than any disk holds, and far below what overflows.
const maxFile = 1 << 50

// pullReader reads the lines of /api/pull.
type pullReader struct {
	progress    func(Progress)
	files       map[string]api.ProgressResponse // by digest
	done, total int64                           // of all files
}

// Event implements wire.Reader.
func (p *pullReader) Event(r *wire.Reply, data []byte) error {
	var e struct {
		Error json.RawMessage `json:"error"`
		api.ProgressResponse
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return wire.ErrGarbled
	}
	r.Known = r.Known || e.Status != ""
	if wire.Present(e.Error) {
		r.Fail(data)
		return nil
	}
	if e.Total > 0 && e.Total <= maxFile {
		e.Completed = min(max(e.Completed, 0), e.Total)
		p.done += e.Completed - p.files[e.Digest].Completed
		p.total += e.Total - p.files[e.Digest].Total
		p.files[e.Digest] = e.ProgressResponse
	}
	if p.progress != nil && e.Status != "" {
		p.progress(Progress{Status: e.Status, Done: p.done, Total: p.total})
	}
	if e.Status == "success" {
		r.Ended, r.Over = true, true
	}
	return nil
}

// Whole implements wire.Reader.
func (p *pullReader) Whole(r *wire.Reply, body []byte) error { return p.Event(r, body) }
