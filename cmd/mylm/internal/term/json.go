package term

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// PrintJSON writes v as indented JSON. Control characters of any kind are
// escaped, since w may be a terminal.
func PrintJSON(w io.Writer, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	return printJSON(w, b, err)
}

// PrintJSONLine writes v as one line of JSON, otherwise as PrintJSON does.
func PrintJSONLine(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	return printJSON(w, b, err)
}

func printJSON(w io.Writer, b []byte, err error) error {
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, r := range string(b) {
		if r < 0x80 || Printable(string(r)) != "" {
			text.WriteRune(r)
		} else {
			fmt.Fprintf(&text, `\u%04x`, r) // all of them are below U+10000
		}
	}
	text.WriteByte('\n')
	_, err = io.WriteString(w, text.String())
	return err
}
