package protocol_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mylm/protocol"
)

const prose = "The quick brown agent reads the file, runs the command and reports the result to the user, who is content with it.\n"

// markdown is full of what begins tags and code.
const markdown = "Use `a < b` or `<b>`; a <i>word</i>, 1 << 2, `x`, <https://example.com> and ``code`` or a < b > c.\n"

// text pushes text in chunks; one operation is one chunk.
func text(b *testing.B, line string, chunk int) {
	s := strings.Repeat(line, 1<<20/len(line))
	d := protocol.NewDecoder(protocol.Options{Tools: known})
	d.Push("So: ")
	b.SetBytes(int64(chunk))
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if i+chunk > len(s) {
			i = 0
		}
		d.Push(s[i : i+chunk])
		i += chunk
	}
}

// BenchmarkReply reads whole replies of 64 KB to the verdict, in chunks of the size of
// a token and of a read from the network.
func BenchmarkReply(b *testing.B) {
	for name, line := range map[string]string{"prose": prose, "markdown": markdown} {
		for _, chunk := range []int{16, 4096} {
			b.Run(fmt.Sprint(name, chunk), func(b *testing.B) {
				s := strings.Repeat(line, 64<<10/len(line))
				b.SetBytes(int64(len(s)))
				for b.Loop() {
					d := protocol.NewDecoder(protocol.Options{Tools: known})
					for i := 0; i < len(s); i += chunk {
						d.Push(s[i:min(len(s), i+chunk)])
					}
					d.Close(protocol.End)
				}
			})
		}
	}
}

// BenchmarkNeutralise neutralises a line that is full of what might be guarded.
func BenchmarkNeutralise(b *testing.B) {
	s := strings.Repeat("Action: < ", 1<<17)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		protocol.Neutralise(s)
	}
}

func BenchmarkProse4K(b *testing.B)    { text(b, prose, 4096) }
func BenchmarkMarkdown4K(b *testing.B) { text(b, markdown, 4096) }
func BenchmarkProse8(b *testing.B)     { text(b, prose, 8) }

// BenchmarkArgument reads a call with one long argument in pieces. The time a
// byte must not grow with the length.
func BenchmarkArgument(b *testing.B) {
	for _, size := range []int{128 << 10, 10 << 20} {
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			args, err := json.Marshal(map[string]string{"content": strings.Repeat("if (a < b) { say(\"</tool_code>\"); }\n", size/40)})
			if err != nil {
				b.Fatal(err)
			}
			reply := protocol.EncodeCall("write", args)
			b.SetBytes(int64(len(reply)))
			for b.Loop() {
				d := protocol.NewDecoder(protocol.Options{Tools: known})
				for i := 0; i < len(reply); i += 16 {
					d.Push(reply[i:min(len(reply), i+16)])
				}
				if !d.Done() {
					b.Fatal("the call is not read")
				}
			}
		})
	}
}

// BenchmarkJSON is the machine's measure for the others: what encoding/json takes to check
// an argument of 128 KB.
func BenchmarkJSON(b *testing.B) {
	args, err := json.Marshal(strings.Repeat("if (a < b) { say(\"</tool_code>\"); }\n", 128<<10/40))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(args)))
	for b.Loop() {
		json.Valid(args)
	}
}
