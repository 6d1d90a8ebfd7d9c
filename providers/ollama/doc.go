// Package ollama is the backend for models that an Ollama server runs.
//
// # Smallest use
//
//	client, err := ollama.New(ollama.Options{Host: "127.0.0.1:11434"})
//	if err != nil {
//		return err
//	}
//	model := client.Model("llama3.2", ollama.ModelOptions{})
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
// A Client is one server, a Model one of its models. The window is num_ctx, the
// tokens that prompt and reply share. A Model determines it once, when it is
// first used, and keeps it: the server reloads a model whose num_ctx changes,
// and waits for running replies before it does.
//
// # What is sent
//
// Every call sends truncate:false and shift:false, so that a conversation that
// does not fit is an error and never silently loses its beginning. Beyond
// num_ctx, an option is sent only if the request sets it. Thinking is left to
// the model unless the request sets it: by default a server lets a model think
// if it can. Neither tools nor stop sequences are sent.
//
// # Limits
//
// Usage.Evaluated stays 0: the server counts the whole prompt, cached or not.
//
// No environment variable is read here, but the packages below read some:
// net/http the proxy variables, and Ollama's own client OLLAMA_AUTH, which
// makes it sign requests with ~/.ollama/id_ed25519 (as it always does for
// ollama.com).
package ollama
