package memory_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"mylm/memory"
)

func Example() {
	dir, err := os.MkdirTemp("", "mylm")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	store, err := memory.Open(ctx, filepath.Join(dir, "memory.db"), memory.Options{})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	if saved := store.Salvaged(); saved != nil {
		fmt.Println(saved) // the file was damaged
	}
	_, err = store.Add(ctx,
		memory.Document{Text: "The staging host is called heron; password=hunter2", Project: "shop"},
		memory.Document{Text: "The build needs an hour.", Project: "shop"})
	if err != nil {
		panic(err)
	}
	hits, err := store.Search(ctx, memory.Query{Text: "which host is staging?", Projects: []string{"shop"}, Limit: 1})
	if err != nil {
		panic(err)
	}
	for _, hit := range hits {
		fmt.Println(hit.Text)
		fmt.Println(hit.Found.Terms)
	}
	// Output:
	// The staging host is called heron; password=[redacted: password]
	// [host staging]
}
