package langchain_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"

	"mylm/providers"
	"mylm/providers/langchain"
)

func Example() {
	// Stands for a real server, which would be reached without BaseURL.
	server := httptest.NewServer(anthropicAPI.says("Hello ", "yourself."))
	defer server.Close()

	model, err := langchain.Open("anthropic", langchain.Config{Model: "claude-sonnet-4-5", Key: "secret", BaseURL: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer model.Close()
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

func ExampleOpen_hint() {
	_, err := langchain.Open("groq", langchain.Config{Model: "openai/gpt-oss-20b"})
	var e *providers.Error
	if errors.As(err, &e) {
		fmt.Println(e.Message)
		fmt.Println(e.Hint)
	}
	// Output:
	// Groq needs a key
	// Put it into GROQ_API_KEY.
}
