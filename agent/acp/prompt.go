package acp

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"unicode/utf8"

	sdk "github.com/coder/acp-go-sdk"

	"mylm/providers"
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
			f, data, err := embedded(b.Resource.Resource, dir)
			if err != nil {
				return p, err
			}
			if picture, err := providers.NewImage(f.Name, data); err == nil {
				p.Images = append(p.Images, picture)
			} else if f.Text, err = textOf(f.Name, data); err != nil {
				return p, err
			} else {
				mention(f)
			}
		case b.Image != nil:
			name := "picture " + strconv.Itoa(len(p.Images)+1)
			if uri := b.Image.Uri; uri != nil && *uri != "" {
				name = fileOf(*uri, "", dir).Name
			}
			if err := p.picture(name, b.Image.Data); err != nil {
				return p, err
			}
		case b.Audio != nil:
			return p, Errorf(CodeInvalidParams, "audio is not supported, and promptCapabilities says so")
		}
	}
	p.Text = strings.TrimSpace(text.String())
	if p.Text == "" && len(p.Images) == 0 {
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

// picture adds a picture in base64.
func (p *Prompt) picture(name, text string) error {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return Errorf(CodeInvalidParams, "%s is not base64: %v", name, err)
	}
	image, err := providers.NewImage(name, data)
	if err != nil {
		return Errorf(CodeInvalidParams, "%s: %v", name, err)
	}
	p.Images = append(p.Images, image)
	return nil
}

// embedded is a file that came with a prompt, and its content.
func embedded(r sdk.EmbeddedResourceResource, dir string) (File, []byte, error) {
	if t := r.TextResourceContents; t != nil {
		return fileOf(t.Uri, "", dir), []byte(t.Text), nil
	}
	b := r.BlobResourceContents
	if b == nil {
		return File{}, nil, Errorf(CodeInvalidParams, "a resource has neither text nor a blob")
	}
	f := fileOf(b.Uri, "", dir)
	data, err := base64.StdEncoding.DecodeString(b.Blob)
	if err != nil {
		return f, nil, Errorf(CodeInvalidParams, "the blob of %s is not base64: %v", f.Name, err)
	}
	return f, data, nil
}

func textOf(name string, data []byte) (string, error) {
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return "", Errorf(CodeInvalidParams, "%s is neither text nor a picture, and the model takes nothing else", name)
	}
	return string(data), nil
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
