package providers

import (
	"bytes"
	"errors"
	"fmt"
)

// Image is a picture in a Message. Models that see get it before the text of the
// message, in the order of Message.Images.
type Image struct {
	Name string `json:"name,omitempty"` // what people call it; it is not sent
	Type string `json:"type"`           // one of the constants Image…
	Data []byte `json:"data"`           // the file, whole
}

// The formats of pictures, as media types. PNG and JPEG are taken by every
// backend that takes pictures.
const (
	ImagePNG  = "image/png"
	ImageJPEG = "image/jpeg"
	ImageWebP = "image/webp"
	ImageGIF  = "image/gif"
)

// Errors of NewImage.
var (
	ErrNoImage   = errors.New("it is not a picture")
	ErrImageType = errors.New("its format is not one that models take: PNG, JPEG, WebP or GIF")
	ErrImageCut  = errors.New("the picture is not whole")
)

// NewImage makes an Image of the content of a file, whose format shows in its
// first bytes whatever the file is called. The error is ErrNoImage for what is no
// picture, ErrImageType for one of another format, and ErrImageCut for one whose
// end is missing, as far as the format has an end. They may come wrapped.
func NewImage(name string, data []byte) (Image, error) {
	is := func(magic string) bool { return bytes.HasPrefix(data, []byte(magic)) }
	from := func(at int, magic string) bool { return len(data) > at && bytes.HasPrefix(data[at:], []byte(magic)) }
	whole, kind := true, ""
	switch {
	case is("\x89PNG\r\n\x1a\n"):
		kind, whole = ImagePNG, bytes.Contains(data[max(0, len(data)-1024):], []byte("IEND"))
	case is("\xff\xd8\xff"):
		kind, whole = ImageJPEG, bytes.Contains(data, []byte("\xff\xd9"))
	case is("GIF87a"), is("GIF89a"):
		kind, whole = ImageGIF, bytes.HasSuffix(bytes.TrimRight(data, "\x00\r\n"), []byte(";"))
	case is("RIFF") && from(8, "WEBP"):
		size := int64(data[4]) | int64(data[5])<<8 | int64(data[6])<<16 | int64(data[7])<<24
		kind, whole = ImageWebP, int64(len(data)) >= size+8
	}
	if kind == "" {
		if other := otherFormat(data); other != "" {
			return Image{}, fmt.Errorf("it is %s: %w", other, ErrImageType)
		}
		return Image{}, ErrNoImage
	}
	if !whole {
		return Image{}, ErrImageCut
	}
	return Image{Name: name, Type: kind, Data: data}, nil
}

// otherFormat is a format of pictures that models do not take, or "".
func otherFormat(data []byte) string {
	for magic, name := range map[string]string{"BM": "a BMP", "II*\x00": "a TIFF", "MM\x00*": "a TIFF", "\x00\x00\x01\x00": "an icon"} {
		if bytes.HasPrefix(data, []byte(magic)) && (name != "a BMP" || len(data) > 10 && bytes.Equal(data[6:10], make([]byte, 4))) {
			return name
		}
	}
	if len(data) > 12 && bytes.Equal(data[4:8], []byte("ftyp")) {
		switch string(data[8:12]) {
		case "heic", "heix", "mif1", "msf1":
			return "a HEIC"
		case "avif", "avis":
			return "an AVIF"
		}
	}
	return ""
}

// CannotSee is the error of a model that takes no pictures, or none of such a
// format. why says so in one line. Nothing was sent.
func CannotSee(backend, why string) *Error {
	return &Error{Kind: BadRequest, Permanent: true, Backend: backend, Param: ParamImages, Message: why}
}
