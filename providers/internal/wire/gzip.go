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
		zip, err := gzip.NewReader(resp.Body)
		return struct {
			io.Reader
			io.Closer
		}{zip, resp.Body}, err
	default:
		return nil, &providers.Error{Kind: providers.Unreachable, Status: resp.StatusCode, Permanent: true,
			Message: fmt.Sprintf("%s answers in the encoding %q, which was not asked for", resp.Request.URL.Host,
				OneLine(coding)),
			Hint: "Turn compression off in the proxy in front of it."}
	}
}
