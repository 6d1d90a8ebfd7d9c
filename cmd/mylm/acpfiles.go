package main

import (
	"context"
	"os"

	"mylm/agent/acp"
	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/providers"
)

// input is a message with the files and pictures that go with it.
func (t *editorTalk) input(ctx context.Context, p acp.Prompt) (input, error) {
	in := input{question: p.Text}
	for _, i := range p.Images {
		if err := in.add(i.Name, i.Data); err != nil {
			return in, failure.Usage("%s: %w", term.OneLine(term.Visible(i.Name), 200), err)
		}
	}
	if in.question == "" {
		return in, failure.Usage("%w about the picture", errNoQuestion)
	}
	for _, f := range p.Files {
		data := []byte(f.Text)
		if f.Linked {
			var err error
			if data, err = t.linked(ctx, f); ctx.Err() != nil {
				return in, err
			} else if err != nil {
				t.onlyNamed(err)
				continue
			} else if data == nil {
				continue
			}
		}
		if err := in.add(f.Name, data); err != nil {
			t.onlyNamed(err)
		}
	}
	return in, nil
}

// onlyNamed tells the user why a file does not go with a message that names it.
func (t *editorTalk) onlyNamed(err error) {
	t.screen.Say("mylm: " + term.OneLine(err.Error(), 200) + ": only its name is sent")
}

// maxLinked bounds the files whose text goes with a message that only names them:
// the model can read from a larger one what it needs.
const maxLinked = 64 << 10

// linked is what a file holds that a message names, nil if it only names it.
func (t *editorTalk) linked(ctx context.Context, f acp.File) ([]byte, error) {
	if f.Path == "" {
		return nil, nil
	}
	var data []byte
	info, err := os.Stat(f.Path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxImageBytes) {
		return nil, nil
	}
	if err == nil {
		data, err = term.Wait(ctx, func() ([]byte, error) { return readFileOf("@", f.Path) })
	}
	if _, is := providers.NewImage(f.Name, data); is == nil || ctx.Err() != nil {
		return data, err
	}
	if t.editor.Reads() {
		if text, failed := t.editor.ReadFile(ctx, f.Path); failed == nil {
			data, err = []byte(text), nil
		}
	}
	if len(data) > maxLinked {
		return nil, err
	}
	return data, err
}
