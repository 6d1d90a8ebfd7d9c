// Package langchain is the backend for every provider except Ollama: it makes
// the clients of langchaingo keep the contract of providers.Model.
//
// # Smallest use
//
//	model, err := langchain.Open("anthropic", langchain.Config{
//		Model: "claude-sonnet-4-5",
//		Key:   key,
//	})
//	if err != nil {
//		return err
//	}
//	for chunk, err := range model.Generate(ctx, providers.Request{
//		Messages: []providers.Message{{Role: providers.User, Text: "hello"}},
//	}) {
//		if err != nil {
//			return err
//		}
//		fmt.Print(chunk.Text)
//	}
//
// # Terms
//
// A Provider is a company, or a kind of server that the user runs. Providers
// lists them, Lookup describes one, Open makes a Model of one. New makes a
// Model of any llms.Model, with no other information about it than its replies.
//
// A backend is a provider with everything needed to call it. Its api is the
// form of its requests; many providers share OpenAI's. The exchange of a call,
// in package wire, watches its requests below langchaingo, as an
// http.RoundTripper.
//
// # What is sent
//
// The model, the messages, that the reply is to be streamed, and what the
// Request sets. Whatever else langchaingo writes into a request is removed, and
// what it omits is added. Anthropic requires a limit for the reply: unset, it is
// the longest that every model of the generation allows. Tools and stop
// sequences are never sent. Keys travel in headers.
//
// # What counts as a reply
//
// langchaingo treats a cut stream as a reply, so its own result counts last,
// after the context, an error in the stream, the HTTP status, what broke the
// connection, and the missing end. The stream is read as it arrives, below
// langchaingo, and goes straight to the caller: langchaingo makes the request
// and gets nothing of the reply.
//
// # Adding a backend
//
// A provider that speaks OpenAI's chat completions is a row in openai_like.go.
// For another API copy anthropic.go: body cuts the request down, a wire.Reader
// reads the reply, and open calls the constructor with the client it is given,
// so that every request is seen. Add it to backends in providers.go. A
// backend without an HTTP client is a custom llms.Model without a reader, as in
// local.go.
//
// The tests run over all APIs: describe the new one as a fakeAPI, as
// openai_test.go does, and add it to fakeAPIs in wire_test.go. The suite of
// providerstest, every fault, disconnecting in mid-stream and the use of the
// key are then tested for it too. Add its request bodies to TestBodies.
//
// # Limits
//
// Text only. A provider's own way to cache prompts is not used. A window is
// known if Config gives it or the provider's list of models has it, otherwise
// from the error of a prompt that is too long.
//
// Nothing here reads the environment or a file; net/http reads the proxy
// variables. Only Bedrock, in builds that have it, looks up the configuration of
// AWS at its first call. langchaingo's constructors look up keys by themselves,
// and are therefore always given one.
package langchain
