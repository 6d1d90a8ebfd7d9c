//go:build bedrock

package langchain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/aws/smithy-go"
	"github.com/tmc/langchaingo/llms"

	"mylm/providers"
	"mylm/providers/internal/wire"
)

const bedrockMissing = ""

// bedrockModel is an llms.Model of Bedrock's.
type bedrockModel struct {
	config Config
	client *http.Client

	mu     sync.Mutex
	loaded *aws.Config
}

// transportFunc is a RoundTripper that changes requests on their way.
type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func openBedrock(c Config, client *http.Client) (llms.Model, error) {
	next := client.Transport
	return &bedrockModel{config: c, client: &http.Client{CheckRedirect: client.CheckRedirect,
		Transport: transportFunc(func(req *http.Request) (*http.Response, error) {
			req = req.Clone(req.Context())
			if err := keepBody(req); err != nil {
				return nil, err
			}
			if c.Key != "" { // the SDK sends a key over HTTPS only, which a proxy of one's own may not speak
				bearer(req.Header, c)
			}
			return next.RoundTrip(req)
		})}}, nil
}

// keepBody gives a request a body of its own: the SDK closes that which it made
// when a response begins, and where net/http has not seen its end by then, it
// gives up the connection in the middle of the reply.
func keepBody(req *http.Request) error {
	if req.Body == nil {
		return nil
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	setBody(req, body)
	return nil
}

// aws is the configuration of AWS. It is read at the first call, since Open
// looks at neither environment nor files.
func (m *bedrockModel) aws(ctx context.Context) (*aws.Config, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.loaded != nil {
		return m.loaded, nil
	}
	set := m.config.Settings
	loaded, err := config.LoadDefaultConfig(ctx, config.WithRegion(set["region"]),
		config.WithSharedConfigProfile(set["profile"]))
	if err != nil {
		return nil, err
	}
	if loaded.Region == "" {
		return nil, errNoRegion
	}
	m.loaded = &loaded
	return m.loaded, nil
}

// runtime is the SDK's client for one call: the streams of one client share a
// buffer that they read into. The credentials are kept.
func (m *bedrockModel) runtime(ctx context.Context) (*bedrockruntime.Client, error) {
	loaded, err := m.aws(ctx)
	if err != nil {
		return nil, err
	}
	return bedrockruntime.NewFromConfig(*loaded, func(o *bedrockruntime.Options) {
		o.HTTPClient = m.client // credentials are fetched by another one
		o.Retryer = aws.NopRetryer{}
		if m.config.Key != "" {
			o.AuthSchemePreference = []string{"noAuth"} // the transport adds it
		}
		if m.config.BaseURL != "" {
			o.BaseEndpoint = &m.config.BaseURL
		}
	}), nil
}

// Call implements llms.Model.
func (m *bedrockModel) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, m, prompt, options...)
}

// GenerateContent implements llms.Model. What it finds out goes into the
// exchange, as it does with a wire's reader.
func (m *bedrockModel) GenerateContent(ctx context.Context, messages []llms.MessageContent,
	_ ...llms.CallOption) (*llms.ContentResponse, error) {
	x, r := wire.Of(ctx), ctx.Value(requestKey{}).(providers.Request)
	api, err := m.runtime(ctx)
	if err != nil {
		return nil, unsent(x, err)
	}
	out, err := api.ConverseStream(ctx, converse(m.config.Model, messages, r))
	if err != nil {
		return nil, unsent(x, err)
	}
	stream := out.GetStream()
	defer stream.Close()
	var call providers.ServerCall // whose arguments are coming
	for event := range stream.Events() {
		if err := passEvent(x, event, &call); err != nil {
			return nil, err
		}
	}
	return &llms.ContentResponse{}, ended(x, stream.Err())
}

// converse writes the request. Messages of one role in a row become one with
// several blocks, since the roles have to alternate.
func converse(model string, messages []llms.MessageContent, r providers.Request) *bedrockruntime.ConverseStreamInput {
	in := &bedrockruntime.ConverseStreamInput{ModelId: &model}
	for _, m := range messages {
		role := types.ConversationRoleUser
		switch m.Role {
		case llms.ChatMessageTypeSystem:
			in.System = append(in.System, &types.SystemContentBlockMemberText{Value: m.Parts[0].(llms.TextContent).Text})
			continue
		case llms.ChatMessageTypeAI:
			role = types.ConversationRoleAssistant
		}
		if n := len(in.Messages); n > 0 && in.Messages[n-1].Role == role {
			in.Messages[n-1].Content = append(in.Messages[n-1].Content, contentBlocks(m.Parts)...)
			continue
		}
		in.Messages = append(in.Messages, types.Message{Role: role, Content: contentBlocks(m.Parts)})
	}
	if r.Temperature != nil || r.MaxTokens > 0 {
		in.InferenceConfig = &types.InferenceConfiguration{}
	}
	if r.Temperature != nil {
		in.InferenceConfig.Temperature = aws.Float32(float32(*r.Temperature))
	}
	if r.MaxTokens > 0 {
		in.InferenceConfig.MaxTokens = aws.Int32(int32(min(r.MaxTokens, 1<<31-1)))
	}
	return in
}

func contentBlocks(parts []llms.ContentPart) (blocks []types.ContentBlock) {
	for _, part := range parts {
		switch p := part.(type) {
		case llms.TextContent:
			blocks = append(blocks, &types.ContentBlockMemberText{Value: p.Text})
		case llms.BinaryContent:
			blocks = append(blocks, &types.ContentBlockMemberImage{Value: types.ImageBlock{
				Format: types.ImageFormat(strings.TrimPrefix(p.MIMEType, "image/")), Source: &types.ImageSourceMemberBytes{Value: p.Data}}})
		}
	}
	return blocks
}

// passEvent passes one event on.
func passEvent(x *wire.Exchange, event types.ConverseStreamOutput, call *providers.ServerCall) error {
	switch e := event.(type) {
	case *types.ConverseStreamOutputMemberContentBlockStart:
		if s, ok := e.Value.Start.(*types.ContentBlockStartMemberToolUse); ok {
			*call = providers.ServerCall{Name: aws.ToString(s.Value.Name)}
			return x.Pass(providers.Chunk{CallPart: call.Name})
		}
	case *types.ConverseStreamOutputMemberContentBlockStop:
		if whole := *call; whole.Name != "" {
			*call = providers.ServerCall{}
			return x.Pass(providers.Chunk{Call: &whole})
		}
	case *types.ConverseStreamOutputMemberContentBlockDelta:
		switch d := e.Value.Delta.(type) {
		case *types.ContentBlockDeltaMemberToolUse:
			call.Args += aws.ToString(d.Value.Input)
			return x.Pass(providers.Chunk{CallPart: aws.ToString(d.Value.Input)})
		case *types.ContentBlockDeltaMemberText:
			return x.Pass(providers.Chunk{Text: d.Value})
		case *types.ContentBlockDeltaMemberReasoningContent:
			if t, ok := d.Value.(*types.ReasoningContentBlockDeltaMemberText); ok {
				return x.Pass(providers.Chunk{Thought: t.Value})
			}
		}
	case *types.ConverseStreamOutputMemberMessageStop:
		reason := string(e.Value.StopReason)
		switch e.Value.StopReason {
		case types.StopReasonMalformedToolUse, types.StopReasonMalformedModelOutput:
			x.Note(func(r *wire.Reply) {
				r.Fault = &wire.ServerError{Text: fmt.Sprintf("the reply ended with %q", reason), Names: " "}
			})
		default:
			x.Note(func(r *wire.Reply) { r.Ended, r.Stop = true, reason })
		}
	case *types.ConverseStreamOutputMemberMetadata:
		if u := e.Value.Usage; u != nil {
			fresh := int(aws.ToInt32(u.InputTokens) + aws.ToInt32(u.CacheWriteInputTokens))
			cached := int(aws.ToInt32(u.CacheReadInputTokens))
			usage := providers.Usage{Prompt: fresh + cached, Output: int(aws.ToInt32(u.OutputTokens))}
			if cached > 0 {
				usage.Evaluated = fresh
			}
			x.Note(func(r *wire.Reply) { r.Usage = usage })
		}
	}
	return nil
}

// ended finds out how a stream ended.
func ended(x *wire.Exchange, err error) error {
	var apiError smithy.APIError
	kind, broken := x.Answered()
	whole := false
	x.Note(func(r *wire.Reply) {
		if whole = r.Ended; errors.As(err, &apiError) && !broken {
			r.Fault = exception(apiError)
		}
	})
	switch {
	case broken, apiError != nil, whole:
	case !strings.Contains(kind, "eventstream"):
		x.Foreign()
	default: // cut, or with a frame that is damaged
		return wire.Interrupted(x.Server, wire.NoEnd, err)
	}
	return err
}

// exceptions are the statuses of the errors in a stream.
var exceptions = map[string]int{
	"validationexception": http.StatusBadRequest, "throttlingexception": http.StatusTooManyRequests,
	"serviceunavailableexception": http.StatusServiceUnavailable,
}

func exception(e smithy.APIError) *wire.ServerError {
	code := strings.ToLower(e.ErrorCode())
	status := exceptions[code]
	if status == 0 {
		status = http.StatusInternalServerError
	}
	return &wire.ServerError{Text: e.ErrorMessage(), Names: " " + code + " ", Status: status}
}

// unsent reports why a request was not sent for lack of a region or of
// credentials. The Exchange has the error of one that was.
func unsent(x *wire.Exchange, err error) error {
	switch {
	case x.Sent() || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, errNoRegion):
		return &providers.Error{Kind: providers.BadRequest, Permanent: true, Err: err,
			Message: "Amazon Bedrock: " + err.Error(),
			Hint:    "Set it in the configuration. " + variables(bedrockBackend().Settings[0].Vars)}
	}
	return &providers.Error{Kind: providers.Auth, Permanent: true, Err: err,
		Message: "Amazon Bedrock: no usable AWS credentials: " +
			wire.OneLine(err.Error()), Hint: bedrockBackend().ownKeys}
}

var errNoRegion = errors.New("no region is set")
