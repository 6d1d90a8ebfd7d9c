package files_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"mylm/tools/files"
	"mylm/tools/files/undo"
)

func TestMain(m *testing.M) {
	if root := os.Getenv("MYLM_FILES_ROOT"); root != "" {
		writeForever(root, os.Getenv("MYLM_FILES_UNDO"))
	}
	os.Exit(m.Run())
}

// often is how many times a test of chance is repeated: more with MYLM_SLOW.
func often(quick, slow int) int {
	if os.Getenv("MYLM_SLOW") != "" {
		return slow
	}
	return quick
}

// long is a text that takes several writes: all of it is one letter.
func long(letter byte) string { return strings.Repeat(string(letter), 1<<20) }

// writeForever writes one file again and again, until it is killed. It says so
// after each time. Two of them never write the same at once: a write that changes
// nothing is none.
func writeForever(root, dir string) {
	journal := undo.NewStore(undo.Options{Dir: dir}).Begin(root, "killed")
	tool, err := files.WriteFile(files.Options{Root: root, Journal: journal})
	for i := 0; err == nil; i++ {
		args, _ := json.Marshal(map[string]any{"path": "deep/er/f", "content": long(byte('a' + (i+os.Getpid())%26)), "create_parents": true})
		if _, err = tool.Run(context.Background(), args); err == nil {
			fmt.Println(i)
		}
	}
	fmt.Println(err)
	os.Exit(1)
}
