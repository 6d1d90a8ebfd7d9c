package protocol_test

import (
	"os"
	"strings"
	"testing"

	"mylm/protocol"
)

// patterns are what a reply may repeat: beginnings of all that means something,
// and what stands between them. Each is tried by itself, and behind each head.
var patterns = []string{
	"x", "word ", "\n", " ", "\t", "<", "</", "< ", "<a>", "<a ", "<a></a>", "<a b=\"c\">", "</a>", "<tool_code>", "</tool_code>", "a <tool_code> b ",
	"<tool_code>\n", "<tool_code><name>", "<name>", "<name>x</name>", "<parameters>", "</parameters>", "<path>", "<path>a</path>", "</path>", "<tags>x</tags>",
	"<read_file>", "<read_file><path>", "</read_file>", "<read_file>\n<path>a</path>\n", "<function=read_file>", "<parameter=path>", "<invoke name=\"read_file\">",
	"<tool_call>{", "{", "}", "[", "]", "(", "{\"a\":", "{\"a\":1},", "[1,", "\"", "\"a\",", "\\\"", "\\", "'", "'a' ", "{'a':'", ",", ":", "1,", "1e9,", "/*", "// x\n", "# x\n", "/* */",
	"`", "``` ", "```\n", "~~~\n", "> ", "    x\n", "\n\n    ", "<!--", "-->", "<!-- --> ", "<pre>", "<code>x</code>", "<code>\nread_file(a=1)\n</code>\n", "<code>\n", "<example>", "<think>", "</think>", "<think></think>", "`<think>`",
	"<|im_start|>", "\n<|im_start|>", "<|im_end|>", "<|", "<｜", "<|channel|>", "<|channel|>analysis<|message|>", "<|start|>assistant", "<|tool_call_begin|>", "<｜tool▁calls▁begin｜>", "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]a", "[THINK]", "◁think▷",
	"Action:", "\nAction: {", "x\nAction: {\n", "Action: read_file\n", "\nObservation:", "read_file(", "read_file(path=1)\n", "read_file(path=\"a\"); ", "[read_file(", "list_jobs(),", "print(",
	"{\"name\": \"read_file\", ", "{\"name\": \"x\", \"arguments\": {\n", "x [TOOL_CALLS]x[ARGS]{} ", "{ <tool_code>\n</think>", "&lt;", "&amp;", "&lt;tool_code&gt;", "<![CDATA[", "]]>", "<arg_key>a</arg_key>", "<final_answer>", "</final_answer>", "<observation", "Ü", "\u200b", "\xff", "- read_file: ", "\n**read_file** ", "- read_file(path): reads a file\n", "read_file(paths[i])\n", "\n{\"read_file\": ", "# Tool\n", "--- Tool\n", "(Tool\n", "TOOL RESULT (\n", "name: read_file\n", "[read_file]: ", "$ read_file --path ", "{\"role\": \"tool\", ", "```python\nimport a\n", "\"properties\":1,", "Tool result\n", "[Observation ", "x [read_file ", "**\n", "TOOL\n",
}

// heads open what the patterns are then repeated in.
var heads = []string{
	"", "So: ", "<tool_code>", "<tool_code><name>write_file</name><parameters>", "<tool_code><name>write_file</name><parameters>{\"content\": \"", "<tool_code><name>search_memory</name>",
	"{\"name\": \"write_file\", \"arguments\": {\"content\": \"", "<write_file>\n<content>", "<function=write_file><parameter=content>", "write_file(content=\"", "Action: write_file\nAction Input: {\"content\": \"",
	"<think>", "```\n", "x <tool_code>{", "{\"name\": \"read_file\", \"b\": {", "<|channel|>commentary to=functions.write_file<|message|>{", "[TOOL_CALLS]name",
}

// TestPatterns reads each pattern behind each head whole and byte by byte, without a
// limit and with one of three in turn; with all of them with MYLM_SLOW; with -short,
// behind every eighth head.
func TestPatterns(t *testing.T) {
	tools, limits := vectorTools(t), []int{1, 50, 500}
	for i, head := range heads {
		for j, p := range patterns {
			if testing.Short() && (i+j)%8 != 0 {
				continue
			}
			s := head + strings.Repeat(p, 700/len(p)+1)
			tried := append(limits[(i+j)%3:][:1:1], 0)
			if os.Getenv("MYLM_SLOW") != "" {
				tried = append(limits[:3:3], 0)
			}
			for _, limit := range tried {
				o := protocol.Options{Tools: tools, MaxArgs: limit}
				once, bytewise := read(o, protocol.End, s), read(o, protocol.End, bytesOf(s)...)
				if once.whole() != bytewise.whole() || once.broken != "" {
					t.Errorf("%q + %q, at most %d bytes:\n got %s\nwant %s", head, p, limit, bytewise.whole(), once.whole())
				}
			}
		}
	}
}
