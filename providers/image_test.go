package providers_test

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"

	"mylm/providers"
)

// The content decides what a file is, and one that is cut is not sent.
func TestNewImage(t *testing.T) {
	var asPNG, asJPEG, asGIF bytes.Buffer
	picture := image.NewPaletted(image.Rect(0, 0, 40, 30), color.Palette{image.White, image.Black})
	for _, err := range []error{png.Encode(&asPNG, picture), jpeg.Encode(&asJPEG, picture, nil), gif.Encode(&asGIF, picture, nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	webp := []byte("RIFF\x0c\x00\x00\x00WEBPVP8 \x00\x00\x00\x00")
	for name, tt := range map[string]struct {
		data []byte
		kind string
		err  error
	}{
		"png":      {asPNG.Bytes(), providers.ImagePNG, nil},
		"jpeg":     {asJPEG.Bytes(), providers.ImageJPEG, nil},
		"gif":      {asGIF.Bytes(), providers.ImageGIF, nil},
		"webp":     {webp, providers.ImageWebP, nil},
		"cut png":  {asPNG.Bytes()[:asPNG.Len()-20], "", providers.ErrImageCut},
		"cut jpeg": {asJPEG.Bytes()[:asJPEG.Len()-20], "", providers.ErrImageCut},
		"cut gif":  {asGIF.Bytes()[:asGIF.Len()-1], "", providers.ErrImageCut},
		"cut webp": {webp[:len(webp)-1], "", providers.ErrImageCut},
		"text":     {[]byte("GIF is a format"), "", providers.ErrNoImage},
		"none":     {nil, "", providers.ErrNoImage},
		"bmp":      {[]byte("BM\x46\x00\x00\x00\x00\x00\x00\x00\x36\x00"), "", providers.ErrImageType},
		"a letter": {[]byte("BMW builds cars"), "", providers.ErrNoImage},
		"heic":     {[]byte("\x00\x00\x00\x18ftypheic\x00\x00"), "", providers.ErrImageType},
	} {
		got, err := providers.NewImage("x.txt", tt.data)
		if !errors.Is(err, tt.err) || got.Type != tt.kind || err == nil && (!bytes.Equal(got.Data, tt.data) || got.Name != "x.txt") {
			t.Errorf("%s: %q, %v; want %q, %v", name, got.Type, err, tt.kind, tt.err)
		}
	}
}
