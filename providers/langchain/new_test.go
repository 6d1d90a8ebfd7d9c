package langchain_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tmc/langchaingo/llms"

	"mylm/providers"
	"mylm/providers/langchain"
)

// model is an llms.Model made of one function.
type model func(ctx context.Context, messages []llms.MessageContent, o llms.CallOptions) (*llms.ContentResponse, error)

func (m model) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, option := range options {
		option(&o)
	}
	return m(ctx, messages, o)
}

func (m model) Call(context.Context, string, ...llms.CallOption) (string, error) { return "", nil }

func response(c llms.ContentChoice) *llms.ContentResponse {
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{&c}}
}

// TestNew is for models of which nothing but their answer is known.
func TestNew(t *testing.T) {
	say := func(o llms.CallOptions, texts ...string) {
		for _, s := range texts {
			_ = o.StreamingFunc(context.Background(), []byte(s))
		}
	}
	tests := []struct {
		name          string
		m             model
		text, thought string
		last          providers.Chunk
	}{
		{"in one piece", func(context.Context, []llms.MessageContent, llms.CallOptions) (*llms.ContentResponse, error) {
			return response(llms.ContentChoice{Content: "yes", ReasoningContent: "hm", GenerationInfo: map[string]any{"input_tokens": float64(7), "output_tokens": int32(2)}}), nil
		}, "yes", "hm", providers.Chunk{Stop: providers.StopEnd, Usage: providers.Usage{Prompt: 7, Output: 2}}},
		{"streamed", func(_ context.Context, _ []llms.MessageContent, o llms.CallOptions) (*llms.ContentResponse, error) {
			say(o, "y", "", "es")
			_ = o.StreamingReasoningFunc(context.Background(), []byte("hm"), []byte("twice"))
			return response(llms.ContentChoice{Content: "yes", ReasoningContent: "hm", StopReason: "MAX_TOKENS", GenerationInfo: map[string]any{"PromptTokens": 7, "CompletionTokens": int64(2)}}), nil
		}, "yes", "hm", providers.Chunk{Stop: providers.StopLength, Usage: providers.Usage{Prompt: 7, Output: 2}}},
		{"blocks", func(context.Context, []llms.MessageContent, llms.CallOptions) (*llms.ContentResponse, error) {
			usage := map[string]any{"InputTokens": 5, "CacheReadInputTokens": 2, "OutputTokens": 2}
			return &llms.ContentResponse{Choices: []*llms.ContentChoice{
				{StopReason: "end_turn", GenerationInfo: map[string]any{"ThinkingContent": "hm", "InputTokens": 5}}, nil,
				{Content: "yes", StopReason: "end_turn", GenerationInfo: usage},
			}}, nil
		}, "yes", "hm", providers.Chunk{Stop: providers.StopEnd, Usage: providers.Usage{Prompt: 7, Output: 2}}},
		{"streamed in part", func(_ context.Context, _ []llms.MessageContent, o llms.CallOptions) (*llms.ContentResponse, error) {
			say(o, "The answer")
			return response(llms.ContentChoice{Content: "The answer is 42", StopReason: "stop"}), nil
		}, "The answer is 42", "", providers.Chunk{Stop: providers.StopEnd}},
		{"streamed, and no reason", func(_ context.Context, _ []llms.MessageContent, o llms.CallOptions) (*llms.ContentResponse, error) {
			say(o, "y", "es")
			return response(llms.ContentChoice{Content: "yes"}), nil
		}, "yes", "", providers.Chunk{Stop: providers.StopEnd}},
		{"streamed, and nothing returned", func(_ context.Context, _ []llms.MessageContent, o llms.CallOptions) (*llms.ContentResponse, error) {
			say(o, "yes")
			return nil, nil
		}, "yes", "", providers.Chunk{Stop: providers.StopEnd}},
		{"nothing, and a reason", func(context.Context, []llms.MessageContent, llms.CallOptions) (*llms.ContentResponse, error) {
			return response(llms.ContentChoice{StopReason: "stop"}), nil
		}, "", "", providers.Chunk{Stop: providers.StopEnd}},
		{"another reason", func(context.Context, []llms.MessageContent, llms.CallOptions) (*llms.ContentResponse, error) {
			return response(llms.ContentChoice{Content: "and", StopReason: "tool_calls"}), nil
		}, "and", "", providers.Chunk{Stop: "tool_calls"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, thought, last, err := generate(t, langchain.New(tt.m, langchain.Options{}), providers.Request{})
			if err != nil || text != tt.text || thought != tt.thought || last != tt.last {
				t.Errorf("%q, thought %q, %+v, %v; want %q, %q, %+v", text, thought, last, err, tt.text, tt.thought, tt.last)
			}
		})
	}
}

func TestNewFails(t *testing.T) {
	fails := func(err error) model {
		return func(context.Context, []llms.MessageContent, llms.CallOptions) (*llms.ContentResponse, error) {
			return nil, err
		}
	}
	tests := []struct {
		name string
		m    model
		want providers.Error
		says string
	}{
		{"streamed, no reason", func(_ context.Context, _ []llms.MessageContent, o llms.CallOptions) (*llms.ContentResponse, error) {
			return response(llms.ContentChoice{Content: "and"}), o.StreamingFunc(context.Background(), []byte("and"))
		}, providers.Error{Kind: providers.Interrupted}, "without a sign"},
		{"another text streamed", func(_ context.Context, _ []llms.MessageContent, o llms.CallOptions) (*llms.ContentResponse, error) {
			return response(llms.ContentChoice{Content: "The answer is 42", StopReason: "stop"}), o.StreamingFunc(context.Background(), []byte("Well, "))
		}, providers.Error{Kind: providers.Interrupted}, "another text"},
		{"nothing", fails(nil), providers.Error{Kind: providers.Interrupted}, "without a sign"},
		{"no choice", func(context.Context, []llms.MessageContent, llms.CallOptions) (*llms.ContentResponse, error) {
			return &llms.ContentResponse{}, nil
		}, providers.Error{Kind: providers.Interrupted}, "without a sign"},
		{"a choice that is none", func(context.Context, []llms.MessageContent, llms.CallOptions) (*llms.ContentResponse, error) {
			return &llms.ContentResponse{Choices: []*llms.ContentChoice{nil}}, nil
		}, providers.Error{Kind: providers.Interrupted}, "without a sign"},
		{"its goroutine ended", func(context.Context, []llms.MessageContent, llms.CallOptions) (*llms.ContentResponse, error) {
			runtime.Goexit()
			return nil, nil
		}, providers.Error{Kind: providers.ServerFault, Permanent: true}, "goroutine"},
		{"panic", func(context.Context, []llms.MessageContent, llms.CallOptions) (*llms.ContentResponse, error) {
			var none []int
			return nil, errors.New(strings.Repeat("x", none[0]))
		}, providers.Error{Kind: providers.ServerFault, Permanent: true}, "cannot handle"},
		{"status in words", fails(errors.New("API returned unexpected status code: 429: slow down, try again in 3s")),
			providers.Error{Kind: providers.RateLimited, Status: 429, RetryAfter: 3 * time.Second}, "slow down"},
		{"too long", fails(errors.New("status 400: prompt is too long: 9 tokens > 8 maximum")),
			providers.Error{Kind: providers.Overflow, PromptTokens: 9, Window: 8}, "9 tokens"},
		{"cut", fails(io.ErrUnexpectedEOF), providers.Error{Kind: providers.Interrupted}, "broke off"},
		{"anything", fails(errors.New("the model is tired")), providers.Error{Kind: providers.ServerFault}, "tired"},
		{"safety", func(context.Context, []llms.MessageContent, llms.CallOptions) (*llms.ContentResponse, error) {
			return response(llms.ContentChoice{StopReason: "SAFETY"}), nil
		}, providers.Error{Kind: providers.Filtered, Permanent: true}, "SAFETY"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, last, err := generate(t, langchain.New(tt.m, langchain.Options{End: langchain.EndReason}), providers.Request{})
			if last.Stop != "" {
				t.Errorf("ended with %q", last.Stop)
			}
			checkError(t, err, tt.want, tt.says, "")
		})
	}
}

// TestNothingIsNoReply holds however little is known about a model.
func TestNothingIsNoReply(t *testing.T) {
	for _, end := range []langchain.End{langchain.EndOfCall, langchain.EndReason, langchain.EndWholeText} {
		m := model(func(context.Context, []llms.MessageContent, llms.CallOptions) (*llms.ContentResponse, error) {
			return response(llms.ContentChoice{}), nil
		})
		_, _, _, err := generate(t, langchain.New(m, langchain.Options{End: end}), providers.Request{})
		checkError(t, err, providers.Error{Kind: providers.Interrupted}, "without a sign", "")
	}
}

// TestDeafModel uses one that ignores its context and its callback's error.
func TestDeafModel(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	m := langchain.New(model(func(_ context.Context, _ []llms.MessageContent, o llms.CallOptions) (*llms.ContentResponse, error) {
		_ = o.StreamingFunc(context.Background(), []byte("one"))
		<-release
		return nil, o.StreamingFunc(context.Background(), []byte("two"))
	}), langchain.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got error
	for _, err := range m.Generate(ctx, hello) {
		cancel()
		got = err
	}
	if !errors.Is(got, context.Canceled) {
		t.Errorf("ended with %v", got)
	}
}

func TestFlatten(t *testing.T) {
	tests := []struct {
		name  string
		o     langchain.Options
		given []providers.Message
		want  string
	}{
		{"one message", langchain.Options{OneMessage: true}, talk[1:2], "human: List the files."},
		{"a conversation", langchain.Options{OneMessage: true}, talk,
			"human: Be brief.\n\nUser: List the files.\n\nAssistant: <tool_code><name>ls</name></tool_code>\n\nUser: <observation>[ls] Success:\na & b</observation>\n\nAssistant:"},
		{"one system message", langchain.Options{OneSystem: true}, append(talk[:2:2], talk[0]), "system: Be brief.\n\nBe brief.|human: List the files."},
		{"as it is", langchain.Options{}, append(talk[:2:2], talk[0]), "system: Be brief.|human: List the files.|system: Be brief."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			m := model(func(_ context.Context, messages []llms.MessageContent, _ llms.CallOptions) (*llms.ContentResponse, error) {
				for _, m := range messages {
					got = append(got, string(m.Role)+": "+m.Parts[0].(llms.TextContent).Text)
				}
				return response(llms.ContentChoice{Content: "yes"}), nil
			})
			if _, _, _, err := generate(t, langchain.New(m, tt.o), providers.Request{Messages: tt.given}); err != nil {
				t.Fatal(err)
			}
			if s := strings.Join(got, "|"); s != tt.want {
				t.Errorf("got %q, want %q", s, tt.want)
			}
		})
	}
}
