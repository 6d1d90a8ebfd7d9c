package langchain

import (
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/tmc/langchaingo/llms"

	"mylm/providers"
)

// imageForm is how pictures reach a backend.
type imageForm int

const (
	noImages  imageForm = iota // not at all
	imageURLs                  // as OpenAI's image_url, with the data in the address
	imageData                  // as langchaingo's binary parts
	ownImages                  // the request is rewritten from the conversation
)

// checkImages refuses pictures that the backend would not take, before anything
// is sent.
func (m *Model) checkImages(r providers.Request) error {
	if !r.HasImages() {
		return nil
	}
	if m.back.images == noImages {
		return providers.CannotSee(m.server.Name, m.back.Title+" takes no pictures here")
	}
	for _, msg := range r.Messages {
		for _, img := range msg.Images {
			if slices.Contains(m.back.refusedImages, img.Type) {
				return providers.CannotSee(m.server.Name, fmt.Sprintf("%s takes no pictures of the type %s", m.back.Title, img.Type))
			}
		}
	}
	return nil
}

// imageParts are the pictures of a message as langchaingo sends them.
func (b *backend) imageParts(m providers.Message) (parts []llms.ContentPart) {
	for _, img := range m.Images {
		switch b.images {
		case imageURLs:
			parts = append(parts, llms.ImageURLPart("data:"+img.Type+";base64,"+base64.StdEncoding.EncodeToString(img.Data)))
		case imageData:
			parts = append(parts, llms.BinaryPart(img.Type, img.Data))
		}
	}
	return parts
}

// sees is what is known of a model of the backend.
func (b *backend) sees() providers.Ability {
	if b.images == noImages {
		return providers.Unable
	}
	return providers.AbilityUnknown
}
