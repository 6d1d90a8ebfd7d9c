package main

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/setup"
	"mylm/cmd/mylm/internal/term"
)

// read is a message with the files that it names behind @.
func (t *talk) read(ctx context.Context, text string) (input, error) {
	in := input{question: strings.TrimSpace(text)}
	for _, name := range attached(text) {
		if server, uri, ok := strings.Cut(name, ":"); ok && uri != "" && t.servers.Names(t.config, server) {
			if err := t.resource(ctx, &in, server, uri); err != nil {
				return in, err
			}
			continue
		}
		name, info, err := t.find(name)
		switch {
		case err != nil:
			t.screen.Dim("There is no file " + term.Echoed(name) + ": @" + term.Echoed(name) + " is sent as text.")
			continue
		case info.IsDir():
			t.screen.Dim(term.Echoed(name) + " is a directory: it is sent as text, and the model can look itself.")
			continue
		}
		data, err := term.Wait(ctx, func() ([]byte, error) { return readFileOf("@", t.path(name)) })
		if err == nil {
			if err = in.add(name, data); err != nil {
				err = failure.Usage("@%s: %w", term.Echoed(name), err)
			}
		}
		if err != nil {
			return in, err
		}
	}
	for _, a := range in.attachments { // a picture is told when it is sent
		t.screen.Dim("with " + term.OneLine(term.Printable(a.name), 200) + ", " + term.Plural(len(a.text), "byte"))
	}
	return in, nil
}

// find looks for a file as it is named, then without punctuation behind it.
func (t *talk) find(name string) (string, os.FileInfo, error) {
	for {
		info, err := os.Stat(t.path(name))
		last := len(name) - 1
		if err == nil || last == 0 || !strings.Contains(".,;:!?)]}'\"`", name[last:]) {
			return name, info, err
		}
		name = name[:last]
	}
}

// attached are the names behind @ at the beginning of words, or of brackets and quotes.
// A backslash goes before a space in one.
func attached(text string) (names []string) {
	const space = "\x00"
	for _, word := range strings.Fields(strings.ReplaceAll(text, `\ `, space)) {
		if name, ok := strings.CutPrefix(strings.TrimLeft(strings.ReplaceAll(word, space, " "), "([{'\"`"), "@"); ok && name != "" {
			names = append(names, name)
		}
	}
	return names
}

// path is a file as the user names it: from the workspace on, or from home.
func (t *talk) path(name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(t.config.Workspace, name)
}

// paths completes a path: what its directory holds, without what is ignored.
func (t *talk) paths(ctx context.Context, prefix string) (all []string) {
	dir, _ := path.Split(strings.ReplaceAll(prefix, `\ `, " "))
	names, err := setup.Names(ctx, t.config.Workspace, "./"+dir)
	if err != nil {
		return nil
	}
	for _, n := range names {
		all = append(all, strings.ReplaceAll(dir+n, " ", `\ `))
	}
	return all
}

// shell runs a line by the user's own hand.
func (t *talk) shell(ctx context.Context, line string) error {
	return term.Shell(ctx, t.screen.Streams, t.config.Workspace, line)
}

// edit has a text edited in the user's editor.
func (t *talk) edit(ctx context.Context, text string) (string, error) {
	f, err := os.CreateTemp("", "mylm-*.md")
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	if _, err := f.WriteString(text); err != nil {
		f.Close()
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	if err := term.Edit(ctx, t.screen.Streams, f.Name()); err != nil {
		return "", err
	}
	return readTextOf("the message", f.Name())
}
