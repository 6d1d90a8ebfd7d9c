//go:build !bedrock

package langchain

import (
	"net/http"

	"github.com/tmc/langchaingo/llms"
)

const bedrockMissing = "It needs a build with the tag bedrock: go build -tags bedrock, in a clone of the repository."

// openBedrock is never called: what is missing cannot be opened.
var openBedrock func(Config, *http.Client) (llms.Model, error)
