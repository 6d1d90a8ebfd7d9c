// Package serve answers the chat APIs of OpenAI, Anthropic and Ollama with function
// calling, in front of models without it.
//
// # Smallest use
//
//	model := &calling.Model{Model: backend}
//	handler := serve.New(serve.Options{
//		Open: func(context.Context, string) (*calling.Model, error) { return model, nil },
//	})
//	listener, err := net.Listen("tcp", "127.0.0.1:11435")
//	...
//	err = (&serve.Server{Handler: handler}).Serve(ctx, listener)
//
// # Terms
//
// A surface is one of the APIs: OpenAI's Chat Completions and Responses, Anthropic's
// Messages, Ollama's. Each turns its requests into a calling.Request, and the events of
// the reply into its own form. A heartbeat is what a stream sends while the model says
// nothing that can be passed on yet.
//
// # Who is let in
//
// Requests for a foreign host, of a foreign origin, without the key if there is one, or
// with another type of body than JSON are refused before they are read. A server that
// others can reach needs a key: the handler does not know where it listens.
//
// # Limits
//
// Text and pictures only. Nothing is stored but the last items of Responses, in memory, so that
// clients can refer to them. The handler does not limit the time of headers: that is the
// Server's.
package serve
