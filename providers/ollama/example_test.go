package ollama_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"mylm/providers"
	"mylm/providers/ollama"
)

func Example() {
	// Stands for a real server, which would be reached with Host: "".
	server := httptest.NewServer(lines(piece("Hello "), piece("yourself."), lastLine))
	defer server.Close()

	client, err := ollama.New(ollama.Options{Host: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	model := client.Model("llama3.2", ollama.ModelOptions{NumCtx: 8192})
	for chunk, err := range model.Generate(context.Background(), providers.Request{
		Messages: []providers.Message{{Role: providers.User, Text: "hello"}},
	}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(chunk.Text)
	}
	// Output: Hello yourself.
}

func ExampleParseHost() {
	for _, s := range []string{"", "box", "http://box", "0.0.0.0:8080", "::1"} {
		u, err := ollama.ParseHost(s)
		fmt.Println(u, err)
	}
	// Output:
	// http://127.0.0.1:11434 <nil>
	// http://box:11434 <nil>
	// http://box:80 <nil>
	// http://127.0.0.1:8080 <nil>
	// http://[::1]:11434 <nil>
}
