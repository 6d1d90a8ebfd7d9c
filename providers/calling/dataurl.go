package calling

import (
	"encoding/base64"
	"errors"
	"strings"
)

// DataURL is the data of a URL that holds it in base64. Any other is an error: nothing is
// fetched.
func DataURL(url string) ([]byte, error) {
	head, data, ok := strings.Cut(url, ",")
	if !ok || len(head) < len("data:") || !strings.EqualFold(head[:len("data:")], "data:") || !strings.HasSuffix(strings.ToLower(head), ";base64") {
		return nil, errors.New("the picture is not a data: URL in base64; none is fetched")
	}
	return Base64(data)
}

// Base64 reads base64 with or without padding, and with line ends in it.
func Base64(text string) ([]byte, error) {
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.NewReplacer("\r", "", "\n", "").Replace(text), "="))
	if err != nil {
		return nil, errors.New("it is not base64")
	}
	return b, nil
}
