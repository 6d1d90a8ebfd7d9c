package files_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mylm/tools"
	"mylm/tools/files"
)

func TestBoundedErrors(t *testing.T) {
	entries := map[string]string{}
	for i := range 1500 {
		entries[fmt.Sprintf("%0200d", i)] = ""
	}
	o := files.Options{Root: tree(t, entries), MaxEntries: 1}
	for _, n := range []int{300, 4000, 1 << 20} {
		path := strings.Repeat("x", n)
		for _, out := range []tools.Outcome{read(t, o, path), read(t, o, path+"/x"), list(t, o, path)} {
			if out.Success() || len(out.Body()) > 2*4096+2048 {
				t.Errorf("a path of %d bytes: %d bytes of error: %.200s", n, len(out.Body()), out.Body())
			}
		}
	}
	wantError(t, read(t, o, strings.Repeat("x", 1<<20)), "the path is 1048576 bytes long", "give a shorter one")
}

func TestLineNumberOutOfRange(t *testing.T) {
	inv, err := registry(t, files.Options{Root: t.TempDir()}).Prepare(files.ReadFileName,
		json.RawMessage(`{"path":"f","start_line":99999999999999999999999}`))
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, inv.Run(t.Context(), patience), "start_line: the number 99999999999999999999999 is out of range")
}
