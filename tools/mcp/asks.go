//lint:file-ignore SA1019 servers of today ask for what revision 2026-07-28 deprecates

package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mylm/tools"
)

// Bounds of what a server may send without being asked.
const (
	maxAsks     = 20   // questions to the user and prompts for the model in one connection, each
	maxProgress = 1000 // reports of progress of one call that are passed on

	// askTime is how long a call may wait for people, who may be at lunch, or asleep.
	askTime = 24 * time.Hour
)

// asks handles what a server asks for, in one connection.
type asks struct {
	server *server

	mu        sync.Mutex
	next      int
	watched   map[string]*watched // requests by their progress tokens
	asking    bool                // their time is stopped
	asked     sync.Mutex          // held while somebody is asked: one thing at a time
	questions int
	prompts   int
}

// watched is a request of ours that has no answer yet.
type watched struct {
	ctx     context.Context
	reports int
	alarm   *tools.Alarm  // ends it
	left    time.Duration // until then, while somebody is asked
}

// allow sets what the server may ask for.
func (a *asks) allow(o *mcp.ClientOptions) {
	if a.server.Roots != nil {
		o.Capabilities.RootsV2 = &mcp.RootCapabilities{}
	}
	if a.server.Elicit != nil {
		o.ElicitationHandler = a.elicit
		o.Capabilities.Elicitation = &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}
	}
	if a.server.Sample != nil {
		// The SDK's handler of messages with one content each does not survive null.
		o.CreateMessageWithToolsHandler = a.sample
		o.Capabilities.Sampling = &mcp.SamplingCapabilities{} // without tools
	}
}

// roots tells the client what to say about directories.
func (a *asks) roots(client *mcp.Client) {
	for _, dir := range a.server.Roots {
		client.AddRoots(&mcp.Root{URI: (&url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}).String(), Name: filepath.Base(dir)})
	}
}

// watch bounds a request by a time, which stops while somebody is asked, and has its
// progress reported to its context. Both end when stop is called.
func (a *asks) watch(ctx context.Context, most time.Duration, timedOut error) (_ context.Context, token string, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next++
	token = fmt.Sprintf("call-%d", a.next)
	w := &watched{ctx: ctx, alarm: tools.NewAlarm(most, func() { cancel(timedOut) }), left: most}
	if a.asking {
		w.alarm.Stop()
	}
	if a.watched == nil {
		a.watched = map[string]*watched{}
	}
	a.watched[token] = w
	return ctx, token, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.watched, token)
		w.alarm.Stop()
		cancel(nil)
	}
}

// progress passes a report on. It must not be called once the call has ended, so
// that the lock is held.
func (a *asks) progress(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
	token, _ := r.Params.ProgressToken.(string)
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.watched[token]
	if w == nil || w.reports >= maxProgress {
		return
	}
	w.reports++
	text := plainLine(r.Params.Message)
	if r.Params.Total > 0 {
		text = strings.TrimSpace(fmt.Sprintf("%s %.0f%%", text, 100*r.Params.Progress/r.Params.Total))
	}
	if text != "" {
		tools.Progress(w.ctx, text+"\n")
	}
}

var errTooOften = fmt.Errorf("refused: this server has asked %d times in this connection", maxAsks)

// once admits one question at a time, and not too many of them. No request times out
// meanwhile: a person may take longer.
func (a *asks) once(count *int) (done func(), err error) {
	a.asked.Lock()
	if *count++; *count > maxAsks {
		a.asked.Unlock()
		return nil, errTooOften
	}
	a.pause(true)
	return func() {
		a.pause(false)
		a.asked.Unlock()
	}, nil
}

// pause stops the time of all requests, or has it go on.
func (a *asks) pause(asking bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asking = asking
	for _, w := range a.watched {
		if asking {
			w.left = w.alarm.Stop()
		} else {
			w.alarm.Reset(w.left)
		}
	}
}

// secretWords are in the names of what no server may ask for: the specification
// forbids it, and whoever types a password into such a question has lost it.
var secretWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)pass[\s_-]?(word|phrase|code)|passwd|\bpwd\b|secret|credential|token|api[\s_-]?key|access[\s_-]?key|private[\s_-]?key|ssh[\s_-]?key|\bcvv\b|card[\s_-]?number|credit[\s_-]?card|\bssn\b|social[\s_-]?security|\bpin\b|recovery[\s_-]?(code|phrase)|seed[\s_-]?phrase|\botp\b|one[\s_-]?time[\s_-]?code`)
})

// elicit has the user asked.
func (a *asks) elicit(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	decline := &mcp.ElicitResult{Action: "decline"}
	p := r.Params
	schema, err := json.Marshal(p.RequestedSchema)
	switch {
	case err != nil:
		return nil, err
	case p.Mode == "url" || p.URL != "" || p.RequestedSchema == nil || len(schema) > maxSchema:
		return decline, nil
	case secretWords().MatchString(plain(p.Message + string(schema))):
		a.server.hub.notify("the MCP server %s asked for what looks like a secret, and was refused", a.server.Name)
		return decline, nil
	}
	done, err := a.once(&a.questions)
	if err != nil {
		return nil, err
	}
	defer done()
	values, ok, err := a.server.Elicit(ctx, a.server.Name, cutBytes(plain(p.Message), maxDescription), schema)
	switch {
	case err != nil:
		return &mcp.ElicitResult{Action: "cancel"}, nil
	case !ok:
		return decline, nil
	}
	return &mcp.ElicitResult{Action: "accept", Content: values}, nil
}

var errText = errors.New("refused: only messages of one text each can be put to the model")

// sample has the model answer.
func (a *asks) sample(ctx context.Context, r *mcp.CreateMessageWithToolsRequest) (*mcp.CreateMessageWithToolsResult, error) {
	done, err := a.once(&a.prompts)
	if err != nil {
		return nil, err
	}
	defer done()
	prompt := Prompt{System: plain(r.Params.SystemPrompt), MaxTokens: int(min(r.Params.MaxTokens, 1<<20))}
	for _, m := range r.Params.Messages {
		if m == nil || len(m.Content) != 1 {
			return nil, errText
		}
		text, ok := contentText(m.Content[0])
		if !ok {
			return nil, errText
		}
		role := "user"
		if m.Role == "assistant" {
			role = "assistant"
		}
		prompt.Messages = append(prompt.Messages, Message{role, plain(text)})
	}
	text, err := a.server.Sample(ctx, a.server.Name, prompt)
	if err != nil {
		return nil, err
	}
	return &mcp.CreateMessageWithToolsResult{Role: "assistant", Model: cmp.Or(a.server.hub.options.Name, "mylm"), Content: []mcp.Content{&mcp.TextContent{Text: text}}, StopReason: "endTurn"}, nil
}
