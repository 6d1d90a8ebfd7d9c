package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"mylm/cmd/mylm/internal/term"

	"github.com/urfave/cli/v2"
)

// What a release sets by the linker, -X main.release=1.2.3, and a build in a clone
// has from version control.
var release, commit, date string

func versionCommand(s *term.Screen) *cli.Command {
	return &cli.Command{
		Action: func(c *cli.Context) error {
			return printVersion(s)
		},
	}
}

func printVersion(s *term.Screen) error {
	b := readBuild()
	facts := []string{runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	if b.commit != "" {
		facts = append([]string{"commit " + b.commit, b.date}, facts...)
	}
	_, err := fmt.Fprintf(s.Out, "mylm %s (%s)\n", b.version, strings.Join(facts, ", "))
	return err
}

// version is the release, the module's version, or that there is none.
func version() string { return readBuild().version }

type build struct{ version, commit, date string }

func readBuild() build {
	b := build{release, commit, date}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	settings := map[string]string{}
	for _, kv := range info.Settings {
		settings[kv.Key] = kv.Value
	}
	if v := info.Main.Version; v != "(devel)" {
		b.version = cmp.Or(b.version, v)
	}
	b.version = cmp.Or(b.version, "devel")
	b.commit = cmp.Or(b.commit, settings["vcs.revision"])
	b.commit = b.commit[:min(12, len(b.commit))]
	b.date = cmp.Or(b.date, settings["vcs.time"], "date unknown")
	return b
}
