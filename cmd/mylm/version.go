package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"mylm/cmd/mylm/internal/term"

	"github.com/urfave/cli/v2"
)

func versionCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Action: func(c *cli.Context) error {
			return printVersion(s)
		},
	}
}

func printVersion(s *term.Screen) error {
	_, err := fmt.Fprintf(s.Out, "mylm %s (%s %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// version is the module's version, or the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, kv := range info.Settings {
		if kv.Key == "vcs.revision" {
			return "devel " + kv.Value[:min(12, len(kv.Value))]
		}
	}
	return "devel"
}
