package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"mylm/cmd/mylm/internal/failure"
	"mylm/cmd/mylm/internal/term"
	"mylm/providers"
)

// What goes to a model with one question: backends refuse more, or larger ones.
const (
	maxImages     = 16
	maxImageBytes = 20 << 20
)

// imageTokens is what a picture is taken to cost in a window, as the agent does.
const imageTokens = 800

// readImages adds the pictures that --image names.
func (in *input) readImages(ctx context.Context, paths []string, screen *term.Screen) error {
	for _, path := range paths {
		by, name := "--image "+term.Echoed(path), path
		var data []byte
		var err error
		if path == "-" {
			by, name = "stdin", "stdin"
			data, err = readStdin(ctx, screen.In, 0, screen)
		} else {
			data, err = term.Wait(ctx, func() ([]byte, error) { return readFileOf("--image", path) })
		}
		if err != nil {
			return err
		}
		image, err := newImage(name, data)
		if err == nil && image == nil {
			err = providers.ErrNoImage
		}
		if err != nil {
			return failure.Usage("%s: %v", by, err).WithHint("A picture is a PNG, JPEG, WebP or GIF; --file sends the text of a file.")
		}
		if err := in.addImage(*image); err != nil {
			return err
		}
	}
	return nil
}

// newImage is the picture that a file holds, nil if it holds something else.
func newImage(name string, data []byte) (*providers.Image, error) {
	image, err := providers.NewImage(name, data)
	switch {
	case errors.Is(err, providers.ErrNoImage):
		return nil, nil
	case err != nil:
		return nil, err
	case len(data) > maxImageBytes:
		return nil, fmt.Errorf("the picture has %s; at most %s can be sent", term.Bytes(int64(len(data))), term.Bytes(maxImageBytes))
	}
	return &image, nil
}

// addImage sends a picture along, unless there are too many.
func (in *input) addImage(image providers.Image) error {
	if len(in.images) == maxImages {
		return failure.Usage("at most %d pictures can go with a question", maxImages).WithHint("Ask about the others with a question of their own.")
	}
	in.images = append(in.images, image)
	return nil
}

// add sends what a file or stdin holds along: a picture, or text.
func (in *input) add(name string, data []byte) error {
	image, err := newImage(name, data)
	if err != nil {
		return err
	}
	if image != nil {
		return in.addImage(*image)
	}
	text, err := asText(data)
	if err == nil {
		in.attachments = append(in.attachments, attachment{name, text})
	}
	return err
}

// pictureNames are the pictures for a person, or for the memory.
func (in *input) pictureNames() (names []string) {
	for _, i := range in.images {
		size := term.Plural(len(i.Data), "byte")
		if len(i.Data) > 9999 {
			size = term.Bytes(int64(len(i.Data)))
		}
		names = append(names, term.OneLine(term.Printable(i.Name), 200)+", "+strings.ToUpper(strings.TrimPrefix(i.Type, "image/"))+", "+size)
	}
	return names
}

// checkSight makes sure, before anything is sent, that the model can see the
// pictures, as far as its backend reports that.
func (r *run) checkSight(ctx context.Context, in *input) error {
	if err := r.Model.CanSee(ctx, r.out.screen); err != nil {
		return err
	}
	r.out.note("with " + strings.Join(in.pictureNames(), "; "))
	return nil
}

// readAll reads what may be the content of a file, and refuses what is too long.
func readAll(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err == nil && len(b) > maxInput {
		err = fmt.Errorf("it is longer than %s", term.Bytes(maxInput))
	}
	return b, err
}
