// Package langchain is the backend for every provider beside Ollama: what
// langchaingo has a client for, made to keep the contract of providers.Model.
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
// # Words
//
// A Provider is who answers: a company or a server of one's own. Providers
// lists them, Lookup says what one needs, Open makes a Model of one. New does
// so for any llms.Model, of which it then knows nothing but its answers.
//
// A backend is a provider with what it takes to talk to it. Its wire is how it
// writes requests and replies; many providers share OpenAI's. An exchange
// watches the requests of one call, below langchaingo, as an
// http.RoundTripper.
//
// # What is sent
//
// The model, the messages, that the reply is to be streamed, and what the
// Request sets. Whatever else langchaingo writes into a request is taken out,
// and what it leaves out is put in. Anthropic demands a limit for the reply:
// unset, it is the longest that every model of the generation allows. Tools
// and stop sequences are never sent. Keys travel in headers.
//
// # What counts as a reply
//
// langchaingo takes a cut stream for a reply, so that its word comes last. In
// this order: the context, an error in the stream, the HTTP status, what broke
// the connection, the missing end, success. The stream is read here as it
// comes, and what it says goes straight to the caller: langchaingo makes the
// request and gets the end of an empty stream.
//
// # Adding a backend
//
// One file holds a backend value, and the list in providers.go names it.
// Copy openai_like.go for a provider that speaks OpenAI's wire: it is one
// entry. For another wire copy anthropic.go: edit cuts the request down, a
// reader reads the reply, end is the shortest stream that langchaingo's package
// takes for whole, and open calls the constructor with the client it is given,
// so that every request is seen. What is no client of HTTP at all is an
// llms.Model of our own without a reader, as local.go has it.
//
// The tests go over all wires: describe the new one as a speech, as
// openai_test.go does, and add it to speeches in wire_test.go. The suite of
// providerstest, every fault, leaving in mid-stream and the way of the key are
// then shown for it too. Add its request bodies to TestBodies.
//
// # Limits
//
// Text only. A provider's own way to cache prompts is not used. A window is
// known if Config gives it or the provider's list of models tells it, else from
// the error of a prompt that is too long.
//
// Nothing here reads the environment or a file; net/http reads the proxy
// variables. Bedrock alone, in builds that have it, looks up the configuration
// of AWS at its first call. langchaingo's constructors look up keys by themselves, and are
// therefore always given one.
package langchain
