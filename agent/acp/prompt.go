package acp

import (
	"encoding/base64"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf8"

	sdk "github.com/coder/acp-go-sdk"
)

// readPrompt reads the blocks of a prompt of a session in a directory.
func readPrompt(blocks []sdk.ContentBlock, dir string) (Prompt, error) {
	var p Prompt
	var text strings.Builder
	mention := func(f File) {
		// Editors put a mention where it was typed: in the middle of a sentence.
		if s := text.String(); s != "" && !strings.HasSuffix(s, " ") && !strings.HasSuffix(s, "\n") {
			text.WriteByte(' ')
		}
		text.WriteString("@" + strings.ReplaceAll(f.Name, " ", `\ `))
		p.Files = append(p.Files, f)
	}
	for _, b := range blocks {
		switch {
		case b.Text != nil:
			if s := text.String(); len(p.Files) > 0 && s != "" && mentionGoesOn(s, b.Text.Text) {
				text.WriteByte(' ')
			}
			text.WriteString(b.Text.Text)
		case b.ResourceLink != nil:
			f := fileOf(b.ResourceLink.Uri, b.ResourceLink.Name, dir)
			f.Linked = true
			mention(f)
		case b.Resource != nil:
			f, err := embedded(b.Resource.Resource, dir)
			if err != nil {
				return p, err
			}
			mention(f)
		case b.Image != nil:
			return p, Errorf(CodeInvalidParams, "pictures are not supported, and promptCapabilities says so")
		case b.Audio != nil:
			return p, Errorf(CodeInvalidParams, "audio is not supported, and promptCapabilities says so")
		}
	}
	p.Text = strings.TrimSpace(text.String())
	if p.Text == "" {
		return p, Errorf(CodeInvalidParams, "the prompt is empty")
	}
	return p, nil
}

// mentionGoesOn reports whether text would become a part of the mention before it.
func mentionGoesOn(before, text string) bool {
	last := before[strings.LastIndexAny(before, " \n")+1:]
	first, _ := utf8.DecodeRuneInString(text)
	return strings.HasPrefix(last, "@") && text != "" && !strings.ContainsRune(" \t\r\n.,;:!?)]}", first)
}

// embedded is a text that came with a prompt.
func embedded(r sdk.EmbeddedResourceResource, dir string) (File, error) {
	if t := r.TextResourceContents; t != nil {
		f := fileOf(t.Uri, "", dir)
		f.Text = t.Text
		return f, nil
	}
	b := r.BlobResourceContents
	if b == nil {
		return File{}, Errorf(CodeInvalidParams, "a resource has neither text nor a blob")
	}
	f := fileOf(b.Uri, "", dir)
	data, err := base64.StdEncoding.DecodeString(b.Blob)
	if err != nil {
		return f, Errorf(CodeInvalidParams, "the blob of %s is not base64: %v", f.Name, err)
	}
	if !utf8.Valid(data) || strings.ContainsRune(string(data), 0) {
		return f, Errorf(CodeInvalidParams, "%s is not text, and the model reads nothing else", f.Name)
	}
	f.Text = string(data)
	return f, nil
}

// fileOf is what an address names: a file by its path from the directory on, if it
// is in there, and with the part of it that is meant.
func fileOf(uri, name, dir string) File {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || u.Path == "" {
		if filepath.IsAbs(uri) { // some editors give a path
			return File{Name: within(uri, dir), Path: filepath.Clean(uri)}
		}
		if uri == "" {
			uri = name
		}
		return File{Name: strings.Join(strings.Fields(uri), " ")}
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, "/") // file:///C:/x
	}
	path = filepath.Clean(filepath.FromSlash(path))
	f := File{Name: within(path, dir), Path: path}
	if u.Fragment != "" {
		f.Name += "#" + u.Fragment
	}
	return f
}

func within(path, dir string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(path)
}
