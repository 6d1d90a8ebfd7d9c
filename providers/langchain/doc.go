// Package langchain is the backend for every provider but Ollama, through
// langchaingo.
//
// # Smallest use
//
//	model, err := langchain.Open("openai", langchain.Config{
//		Model: "gpt-4o-mini",
//		Key:   os.Getenv("OPENAI_API_KEY"),
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
package langchain
