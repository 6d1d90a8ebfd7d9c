//go:build !bedrock

package langchain

import (
	"net/http"

	"github.com/tmc/langchaingo/llms"
)

const bedrockMissing = "Build mylm with it, in a clone of its repository: go build -tags bedrock ./cmd/mylm"

// openBedrock is never called: what is missing cannot be opened.
var openBedrock func(Config, *http.Client) (llms.Model, error)
