package wire

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"

	"mylm/providers"
)

// decoded is the body of a response as it was before a proxy or server
// compressed it without being asked.
func decoded(resp *http.Response) (io.ReadCloser, error) {
	switch coding := strings.ToLower(resp.Header.Get("Content-Encoding")); coding {
	case "", "identity":
		return resp.Body, nil
	case "gzip", "x-gzip":
		return &unzipped{body: resp.Body}, nil
	default:
		return nil, &providers.Error{Kind: providers.Unreachable, Status: resp.StatusCode, Permanent: true,
			Message: fmt.Sprintf("%s answers in the encoding %q, which was not asked for", resp.Request.URL.Host,
				OneLine(coding)),
			Hint: "Turn compression off in the proxy in front of it."}
	}
}

// unzipped unpacks as it is read: making a gzip.Reader waits for its header.
type unzipped struct {
	body io.ReadCloser
	zip  *gzip.Reader
}

func (u *unzipped) Read(p []byte) (int, error) {
	if u.zip == nil {
		zip, err := gzip.NewReader(u.body)
		if err != nil {
			return 0, err
		}
		u.zip = zip
	}
	return u.zip.Read(p)
}

func (u *unzipped) Close() error { return u.body.Close() }
