// Command baseline is the least a Go program does to ask Ollama something: one
// POST /api/chat to $OLLAMA_HOST, whose reply it copies to stdout.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

func main() {
	body := strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"q"}]}`)
	resp, err := http.Post(os.Getenv("OLLAMA_HOST")+"/api/chat", "application/json", body)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(os.Stdout, resp.Body); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
