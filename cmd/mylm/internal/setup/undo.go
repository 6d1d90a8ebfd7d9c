package setup

import (
	"path/filepath"

	"mylm/cmd/mylm/internal/config"
	"mylm/tools/files/undo"
)

// UndoStore is where earlier versions of files are kept.
func UndoStore() *undo.Store {
	dir, err := config.DataDir()
	if err != nil {
		return undo.NewStore(undo.Options{}) // which reports it when it is needed
	}
	return undo.NewStore(undo.Options{Dir: filepath.Join(dir, "undo")})
}

// realPath is a directory without links, "" if it is gone: by it runs are found
// again.
func realPath(dir string) string {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "" // the tools say the same
	}
	return real
}
