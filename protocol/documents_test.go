package protocol_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mylm/protocol"
)

// sectionsOf cuts a document at its headings, and long sections at their paragraphs. Fences
// stay whole.
func sectionsOf(text string) (sections []string) {
	const long = 1500
	var b strings.Builder
	fence := false
	for line := range strings.Lines(text) {
		heading := strings.HasPrefix(line, "#")
		if !fence && (heading || b.Len() > long && strings.TrimSpace(line) == "") {
			sections = append(sections, b.String())
			b.Reset()
		}
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fence = !fence
		}
		b.WriteString(line)
	}
	return append(sections, b.String())
}

// An answer that quotes a document of this project is an answer: nothing in it runs, and
// at most one in a hundred is malformed, also where the tools are those that it is about.
func TestDocuments(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.md", "../*.md", "../docs/*.md", "../docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	own := newToolset()
	for _, name := range []string{"list_dir", "read_file", "write_file", "edit_file", "search_files", "find_files", "run_command", "search_memory", "web_fetch", "get_weather", "calculator"} {
		own.names = append(own.names, name)
		own.schemas[name] = vectorTools(t).schemas["write_file"]
	}
	for _, tools := range []*toolset{vectorTools(t), own} {
		all, malformed := 0, 0
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range sectionsOf(string(text)) {
				if strings.TrimSpace(s) == "" {
					continue
				}
				all++
				switch out := read(protocol.Options{Tools: tools}, protocol.End, s); {
				case out.call != nil:
					t.Errorf("%s: a call of %s is read:\n%s", file, out.call.Name, s)
				case out.fault != nil:
					malformed++
					t.Logf("%s: %v", file, out.fault)
				}
			}
		}
		if t.Log(malformed, "of", all); malformed*100 > all || all < 300 {
			t.Errorf("%d of %d sections are malformed", malformed, all)
		}
	}
}
