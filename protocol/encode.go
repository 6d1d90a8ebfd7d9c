package protocol

import (
	"encoding/json"
	"strings"
)

// EncodeCall writes a call in mylm's own form, as the model is asked to write
// it. args must be a JSON object.
func EncodeCall(name string, args json.RawMessage) string {
	var b strings.Builder
	b.WriteString("<tool_code>\n<name>")
	b.WriteString(name)
	b.WriteString("</name>\n<parameters>")
	b.Write(args)
	b.WriteString("</parameters>\n</tool_code>")
	return b.String()
}
