// Loc prints the lines of Go code per package: without tests, comments and
// blank lines.
//
//	go run ./scripts/loc [DIR]
package main

import (
	"cmp"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	log.SetFlags(0)
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	lines, files := map[string]int{}, map[string]int{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (name == "testdata" || name[0] == '.' || name[0] == '_'):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		n, err := code(path)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		lines[dir] += n
		files[dir]++
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	total, count := 0, 0
	for _, dir := range slices.SortedFunc(maps.Keys(lines), cmp.Compare) {
		fmt.Printf("%6d %4d  %s\n", lines[dir], files[dir], filepath.ToSlash(dir))
		total += lines[dir]
		count += files[dir]
	}
	fmt.Printf("%6d %4d  in all (lines, files)\n", total, count)
}

// code counts the lines of a file on which a token other than a comment begins
// or, for a raw string, goes on.
func code(path string) (int, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	set := token.NewFileSet()
	file := set.AddFile(path, -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, 0)
	seen := map[int]bool{}
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return len(seen), nil
		}
		if tok == token.SEMICOLON && text == "\n" {
			continue
		}
		first := file.Line(pos)
		for line := range strings.Count(text, "\n") + 1 {
			seen[first+line] = true
		}
	}
}
