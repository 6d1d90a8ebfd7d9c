//go:build unix

package shell_test

import (
	"testing"

	"mylm/tools/shell"
)

// BenchmarkOutput is how fast output is read, cleaned and cut.
func BenchmarkOutput(b *testing.B) {
	const size = 256 << 20
	for name, command := range map[string]string{
		"text":   "yes 'a line as a compiler or a test writes it' | head -c 268435456",
		"binary": "head -c 268435456 /dev/zero",
	} {
		b.Run(name, func(b *testing.B) {
			tool, err := shell.New(shell.Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(size)
			for b.Loop() {
				if _, err := tool.Run(b.Context(), []byte(`{"command":"`+command+`"}`)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
