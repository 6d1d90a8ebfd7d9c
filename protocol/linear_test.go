package protocol_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mylm/protocol"
)

// patterns are what a reply may repeat: beginnings of all that means something,
// and what stands between them. Each is tried by itself, and behind each head.
var patterns = []string{
	"x", "word ", "\n", " ", "\t", "<", "</", "< ", "<a>", "<a ", "<a></a>", "<a b=\"c\">", "</a>", "<tool_code>", "</tool_code>", "a <tool_code> b ",
	"<tool_code>\n", "<tool_code><name>", "<name>", "<name>x</name>", "<parameters>", "</parameters>", "<path>", "<path>a</path>", "</path>", "<tags>x</tags>",
	"<read_file>", "<read_file><path>", "</read_file>", "<read_file>\n<path>a</path>\n", "<function=read_file>", "<parameter=path>", "<invoke name=\"read_file\">",
	"<tool_call>{", "{", "}", "[", "]", "(", "{\"a\":", "{\"a\":1},", "[1,", "\"", "\"a\",", "\\\"", "\\", "'", "'a' ", "{'a':'", ",", ":", "1,", "1e9,", "/*", "// x\n", "# x\n", "/* */",
	"`", "``` ", "```\n", "~~~\n", "> ", "    x\n", "\n\n    ", "<!--", "-->", "<!-- --> ", "<pre>", "<code>x</code>", "<example>", "<think>", "</think>", "<think></think>", "`<think>`",
	"<|im_start|>", "\n<|im_start|>", "<|im_end|>", "<|", "<｜", "<|channel|>", "<|channel|>analysis<|message|>", "<|start|>assistant", "<|tool_call_begin|>", "<｜tool▁calls▁begin｜>", "[TOOL_CALLS]", "[THINK]", "◁think▷",
	"Action:", "\nAction: {", "x\nAction: {\n", "Action: read_file\n", "\nObservation:", "read_file(", "read_file(path=1)\n", "read_file(path=\"a\"); ", "[read_file(", "list_jobs(),", "print(",
	"{\"name\": \"read_file\", ", "{ <tool_code>\n</think>", "&lt;", "&amp;", "&lt;tool_code&gt;", "<![CDATA[", "]]>", "<arg_key>a</arg_key>", "<final_answer>", "</final_answer>", "<observation", "Ü", "\u200b", "\xff", "- read_file: ", "\n**read_file** ", "\n{\"read_file\": ",
}

// heads open what the patterns are then repeated in.
var heads = []string{
	"", "So: ", "<tool_code>", "<tool_code><name>write_file</name><parameters>", "<tool_code><name>write_file</name><parameters>{\"content\": \"", "<tool_code><name>search_memory</name>",
	"{\"name\": \"write_file\", \"arguments\": {\"content\": \"", "<write_file>\n<content>", "<function=write_file><parameter=content>", "write_file(content=\"", "Action: write_file\nAction Input: {\"content\": \"",
	"<think>", "```\n", "x <tool_code>{", "<|channel|>commentary to=functions.write_file<|message|>{",
}

// took is how long a reply takes to be read in pieces of n bytes.
func took(tools protocol.Lookup, s string, n int) time.Duration {
	start := time.Now()
	d := protocol.NewDecoder(protocol.Options{Tools: tools})
	for i := 0; i < len(s); i += n {
		d.Push(s[i:min(len(s), i+n)])
	}
	d.Close(protocol.End)
	return time.Since(start)
}

// TestPatterns reads each pattern behind each head whole and byte by byte, with
// limits small and large.
func TestPatterns(t *testing.T) {
	tools := vectorTools(t)
	for _, head := range heads {
		for _, p := range patterns {
			s := head + strings.Repeat(p, 700/len(p)+1)
			for _, limit := range []int{0, 1, 50, 500} {
				o := protocol.Options{Tools: tools, MaxArgs: limit}
				once, bytewise := read(o, protocol.End, s), read(o, protocol.End, bytesOf(s)...)
				if once.whole() != bytewise.whole() || once.broken != "" {
					t.Errorf("%q + %q, at most %d bytes:\n got %s\nwant %s", head, p, limit, bytewise.whole(), once.whole())
				}
			}
		}
	}
}

// maxRatio is how much longer a pattern may take than plain text in small pieces:
// 50 are 500 ms for 1 MB on a machine that reads plain text in 10 ms. Square time
// would be 10,000.
const maxRatio = 50

// BenchmarkPatterns reads 64 KB of each pattern behind each head, whole and in
// small pieces, then 1 MB of the slowest of them, and fails where that takes too
// long beside plain text. Of each only the best run counts, so that other work on
// the machine matters little.
func BenchmarkPatterns(b *testing.B) {
	type candidate struct {
		head, pattern string
		pieces        int
		time          time.Duration
	}
	tools := vectorTools(b)
	best := func(s string, n, runs int) time.Duration {
		t := took(tools, s, n)
		for range runs - 1 {
			t = min(t, took(tools, s, n))
		}
		return t
	}
	const short, long, slowest = 64 << 10, 1 << 20, 12
	for b.Loop() {
		plain := max(best(strings.Repeat(prose, long/len(prose)), 16, 5), 10*time.Millisecond)
		var all []candidate
		for _, head := range heads {
			for _, p := range patterns {
				for _, n := range []int{long, 16} {
					all = append(all, candidate{head, p, n, took(tools, head+strings.Repeat(p, short/len(p)), n)})
				}
			}
		}
		slices.SortFunc(all, func(a, b candidate) int { return cmp.Compare(b.time, a.time) })
		worst, name := time.Duration(0), ""
		for _, c := range all[:slowest] {
			if t := best(c.head+strings.Repeat(c.pattern, long/len(c.pattern)), c.pieces, 3); t > worst {
				worst, name = t, fmt.Sprintf("%q + %q in pieces of %d", c.head, c.pattern, c.pieces)
			}
		}
		b.ReportMetric(float64(worst.Milliseconds()), "ms/worst")
		b.ReportMetric(float64(worst)/float64(plain), "worst/plain")
		if b.Log(name); worst > maxRatio*plain {
			b.Errorf("%s takes %v, plain text %v", name, worst, plain)
		}
	}
}
