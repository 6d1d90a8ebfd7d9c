package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// input is a reply that is read for its length.
type input struct {
	what string
	query
	call bool // a call stands in it
}

const (
	prose    = "The quick brown agent reads the file, runs the command and reports the result to the user, who is content with it.\n"
	markdown = "Use `a < b` or `<b>`; a <i>word</i>, 1 << 2, `x`, <https://example.com> and ``code`` or a < b > c.\n"
	code     = "if (a < b) { say(\"it is {less}\"); }\n"
)

func inputs() ([]input, error) {
	write := []tool{{"write", json.RawMessage(`{"type":"object","properties":{"content":{"type":"string"}},"required":["content"]}`)}}
	text := func(what, line string, chunk int) input {
		return input{what, query{Input: "So: " + strings.Repeat(line, 1<<20/len(line)), Tools: write, Chunk: chunk}, false}
	}
	all := []input{
		text("plain prose, 1 MB in 4 KB chunks", prose, 4096),
		text("Markdown full of < and backticks, 1 MB in 4 KB chunks", markdown, 4096),
		text("plain prose, 1 MB in 8-byte chunks", prose, 8),
	}
	for _, size := range []struct {
		name  string
		bytes int
	}{{"128 KB", 128 << 10}, {"10 MB", 10 << 20}} {
		content, err := json.Marshal(strings.Repeat(code, size.bytes/(len(code)+3))) // 3 more are escaped
		if err != nil {
			return nil, err
		}
		content = []byte(strings.NewReplacer(`\u003c`, "<").Replace(string(content)))
		reply := fmt.Sprintf("<tool_call>\n{\"name\": \"write\", \"arguments\": {\"content\": %s}}\n</tool_call>", content)
		all = append(all, input{"an argument of " + size.name + " in 16-byte chunks", query{Input: reply, Tools: write, Chunk: 16}, true})
	}
	return all, nil
}

// speed tells how long each reader takes for an input.
func speed(c config) error {
	all, err := inputs()
	if err != nil {
		return err
	}
	n, err := startNode()
	if err != nil {
		return err
	}
	defer n.close()
	fmt.Fprintf(c.out, "\n| | mylm | Ollama | ai-sdk-tool |\n|---|---|---|---|\n")
	for _, in := range all {
		row := []string{in.what}
		for _, read := range []reader{readMylm, readOllama} {
			row = append(row, timed(in, read))
		}
		a, err := n.ask(in.query)
		if err != nil {
			return err
		}
		row = append(row, in.cell(time.Duration(a.Nanos), a.Taken, a.Name != ""))
		fmt.Fprintf(c.out, "| %s |\n", strings.Join(row, " | "))
	}
	return nil
}

// timed takes the fastest of the passes that fit into a second, at least one:
// whatever else runs on the machine only makes a pass slower.
func timed(in input, read reader) string {
	var first *call
	var taken int
	fastest := time.Duration(math.MaxInt64)
	testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			start := time.Now()
			first, taken = read(in.query, start.Add(limit))
			fastest = min(fastest, time.Since(start))
		}
	})
	return in.cell(fastest, taken, first != nil)
}

// cell says how long a pass took, how fast that is, and what was wrong with it.
func (in input) cell(took time.Duration, taken int, found bool) string {
	size := len(in.Input)
	switch {
	case taken < size:
		return fmt.Sprintf("stopped after %s at %.1f%%", took.Round(time.Second), 100*float64(taken)/float64(size))
	case found != in.call:
		return fmt.Sprintf("%s, but a call was found: %v", took, found)
	}
	perChunk := took / time.Duration((size+in.Chunk-1)/in.Chunk)
	return fmt.Sprintf("%s, %s, %d ns a chunk", short(took), rate(size, took), perChunk.Nanoseconds())
}

// short keeps three digits.
func short(d time.Duration) string {
	unit := time.Nanosecond
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}

func rate(bytes int, d time.Duration) string {
	mb := float64(bytes) / 1e6 / d.Seconds()
	switch {
	case mb >= 1000:
		return fmt.Sprintf("%.1f GB/s", mb/1000)
	case mb >= 10:
		return fmt.Sprintf("%.0f MB/s", mb)
	}
	return fmt.Sprintf("%.2g MB/s", mb)
}
