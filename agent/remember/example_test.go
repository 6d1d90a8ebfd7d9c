package remember_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"mylm/agent"
	"mylm/agent/journal"
	"mylm/agent/remember"
	"mylm/memory"
	"mylm/providers/langchain"
	"mylm/tools"
)

// Any model of langchaingo, a tool, a memory, and a session on disk.
func Example() {
	ctx, dir := context.Background(), must(os.MkdirTemp("", "example"))
	defer os.RemoveAll(dir)
	store := must(memory.Open(ctx, filepath.Join(dir, "memory.db"), memory.Options{}))
	defer store.Close()
	sessions := journal.New(filepath.Join(dir, "sessions"))
	defer sessions.Close()

	session, mem := agent.NewSession(), remember.New(store, "/src/shop")
	shout := must(tools.New("shout", "Write text in capitals.", tools.None, shout))
	registry := must(tools.NewRegistry(append(must(mem.Tools(session)), shout)...))
	a := must(agent.New(agent.Options{
		Model: langchain.New(llm, langchain.Options{}), Tools: registry, Approve: agent.AllowAll, Recorder: sessions,
	}))
	result := must(agent.Collect(a.Run(ctx, session, "Shout hello.")))
	kept := must(mem.Keep(ctx, remember.Run{Session: session, Result: result}))

	fmt.Println(result.Response, result.StopReason)
	fmt.Println(kept, "documents;", len(must(sessions.List(ctx, journal.Filter{}))), "session")
	// Output:
	// It is HELLO. complete
	// 3 documents; 1 session
}

func shout(_ context.Context, in struct {
	Text string `json:"text"`
}) (tools.Result, error) {
	return tools.Result{Text: strings.ToUpper(in.Text)}, nil
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// llm stands for a client of langchaingo, such as openai.New returns.
var llm = &canned{
	`<tool_code><name>shout</name><parameters>{"text": "hello"}</parameters></tool_code>`,
	"It is HELLO.",
}

type canned []string

func (c *canned) GenerateContent(ctx context.Context, _ []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	text := (*c)[0]
	*c = (*c)[1:]
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: text, StopReason: "stop"}}}, nil
}

func (c *canned) Call(context.Context, string, ...llms.CallOption) (string, error) { panic("not used") }
