package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mylm/tools"
)

// maxResult bounds the text of a result, in bytes. What a model is shown of it is
// less, and is bounded by who runs the model.
const maxResult = 1 << 20

// complete reports why a result is none: it is of another type than a client of MCP
// without extensions knows.
func complete(r *mcp.CallToolResult) error {
	head := *r // whose type only its JSON shows
	head.Content, head.StructuredContent, head.InputRequests = nil, nil, nil
	text, err := json.Marshal(&head)
	var of struct{ ResultType string }
	if err == nil {
		err = json.Unmarshal(text, &of)
	}
	if err != nil || of.ResultType == "" || of.ResultType == "complete" {
		return err
	}
	return fmt.Errorf("it answers with a result of the type %q and not with what the tool returns", plainLine(of.ResultType))
}

// misshapen is what a person should know of structured content that does not fit the
// tool's own schema of it, and "" if it fits, or if that is not found out: a schema
// with references can take any time to check.
func misshapen(content, schema any) string {
	text, err := json.Marshal(schema)
	if err != nil || len(text) > maxSchema || depth(text) > maxSchemaDepth {
		return ""
	}
	s := &jsonschema.Schema{}
	if json.Unmarshal(text, s) != nil {
		return ""
	}
	for part := range subschemas(s) {
		if part.Ref != "" || part.DynamicRef != "" {
			return ""
		}
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return ""
	}
	if err = resolved.Validate(content); err != nil {
		return "[its structured content does not fit the schema that the tool itself has for it: " + plainLine(err.Error()) + "]"
	}
	return ""
}

// resultOf turns a result into text and pictures. The words are the server's. Output is
// the schema of its structured content; nil: none.
func resultOf(r *mcp.CallToolResult, output any) (tools.Result, error) {
	if err := complete(r); err != nil {
		return tools.Result{}, err
	}
	var parts []string
	var images [][]byte
	texts := 0
	for _, c := range r.Content {
		text, isText := contentText(c)
		if isText {
			texts++
		}
		if text != "" {
			parts = append(parts, text)
		}
		switch c := c.(type) {
		case *mcp.ImageContent:
			images = append(images, c.Data)
		case *mcp.EmbeddedResource:
			if c.Resource != nil && c.Resource.Blob != nil {
				images = append(images, c.Resource.Blob)
			}
		}
	}
	// Servers that return structured content repeat it as text, as they should.
	if r.StructuredContent != nil && texts == 0 {
		b, err := json.Marshal(r.StructuredContent)
		if err != nil {
			return tools.Result{}, fmt.Errorf("its structured content cannot be written as JSON: %w", err)
		}
		parts = append(parts, string(b))
	}
	if r.StructuredContent != nil && output != nil && !r.IsError {
		if note := misshapen(r.StructuredContent, output); note != "" {
			parts = append(parts, note)
		}
	}
	result := bounded(strings.Join(parts, "\n"))
	result.Images = images
	return result, nil
}

// bounded is a result of the server's words.
func bounded(text string) tools.Result {
	result := tools.Result{Text: plain(text), Origin: tools.Web}
	if len(result.Text) > maxResult {
		result.Text, result.Truncated = cutBytes(result.Text, maxResult)+"\n[cut: the result has "+size(len(text))+"]", true
	}
	return result
}

// contentText is a piece of content as text; what is no text is named.
func contentText(c mcp.Content) (text string, isText bool) {
	switch c := c.(type) {
	case *mcp.TextContent:
		return c.Text, true
	case *mcp.ImageContent:
		return fmt.Sprintf("[a picture, %s, %s]", plainLine(c.MIMEType), size(len(c.Data))), false
	case *mcp.AudioContent:
		return fmt.Sprintf("[a recording, %s, %s]", plainLine(c.MIMEType), size(len(c.Data))), false
	case *mcp.ResourceLink:
		return strings.TrimSpace(fmt.Sprintf("[resource %s %s] %s", plainLine(c.URI), plainLine(c.Name), plainLine(c.Description))), false
	case *mcp.EmbeddedResource:
		if c.Resource != nil {
			return resourceText(c.Resource), c.Resource.Text != ""
		}
	}
	return "", false
}

// resourceText is the content of a resource with a line that names it.
func resourceText(r *mcp.ResourceContents) string {
	if r.Blob != nil {
		return fmt.Sprintf("[resource %s, %s, %s]", plainLine(r.URI), plainLine(r.MIMEType), size(len(r.Blob)))
	}
	return fmt.Sprintf("[resource %s]\n%s", plainLine(r.URI), r.Text)
}

// size is a number of bytes for a reader.
func size(n int) string {
	if n < 1024 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d KB", (n+1023)/1024)
}
