package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"mylm/protocol"
	"mylm/providers"
)

// Image is a picture in the record. Its content is not part of an entry's JSON:
// whoever keeps entries keeps it under its hash, and puts it back.
type Image struct {
	SHA256 string `json:"sha256"` // of Data, in hexadecimal
	Type   string `json:"type"`   // a media type
	Size   int    `json:"size"`   // bytes
	Name   string `json:"name,omitempty"`

	Data []byte `json:"-"` // nil: it is not kept any more, and the model learns that
}

// recordedImages are pictures as they are recorded.
func recordedImages(images []providers.Image) (all []Image) {
	for _, i := range images {
		sum := sha256.Sum256(i.Data)
		all = append(all, Image{SHA256: hex.EncodeToString(sum[:]), Type: i.Type, Size: len(i.Data), Name: i.Name, Data: i.Data})
	}
	return all
}

// maxResultImages bounds the pictures of one result.
const maxResultImages = 4

// resultImages are the pictures of a result as they are recorded.
func resultImages(images [][]byte) []Image {
	var all []providers.Image
	for _, data := range images {
		if len(all) == maxResultImages {
			break
		}
		if image, err := providers.NewImage(fmt.Sprintf("%d of the result", len(all)+1), data); err == nil {
			all = append(all, image)
		}
	}
	return recordedImages(all)
}

func (p PromptEntry) hashes() (all []string) {
	for _, i := range p.Images {
		all = append(all, i.SHA256)
	}
	return all
}

// imageTokens is what a picture is taken to cost: models make 250 to 1,600 tokens
// of one of usual size.
const imageTokens = 800

// withImages adds the pictures to a message. Of one that is not there any more the
// model learns as much.
func withImages(m providers.Message, images []Image) providers.Message {
	for _, i := range images {
		if i.Data == nil {
			m.Text += lostImage(i.Name, "is not available any more")
			continue
		}
		m.Images = append(m.Images, providers.Image{Name: i.Name, Type: i.Type, Data: i.Data})
	}
	return m
}

func lostImage(name, why string) string {
	name = protocol.Neutralise(strings.Join(strings.Fields(name), " "))
	return fmt.Sprintf("\n\n[The picture %s %s.]", strings.TrimSpace(name), why)
}

// visible is what of a conversation is sent to a model that may not see. To one
// that cannot, pictures of results and of earlier prompts become a line of text: it can
// take over a session. Those of the prompt that is being answered stay, and its backend
// refuses them.
func (w *realEffects) visible(ctx context.Context, entries []Entry, r providers.Request) []providers.Message {
	if !w.looked {
		info, err := w.Info(ctx)
		w.blind, w.looked = err == nil && info.Sees == providers.Unable, true
	}
	if !w.blind {
		return r.Messages
	}
	messages := slices.Clone(r.Messages)
	asked, _ := entries[lastOf[PromptEntry](entries)].Payload.(PromptEntry)
	shown := len(asked.Images) > 0
	for i, m := range slices.Backward(messages) {
		switch {
		case len(m.Images) == 0:
			continue
		case shown && bytes.Equal(m.Images[0].Data, asked.Images[0].Data):
			shown = false
			continue
		}
		for _, img := range m.Images {
			m.Text += lostImage(img.Name, "is not shown to you, since you cannot see")
		}
		m.Images = nil
		messages[i] = m
	}
	return messages
}
