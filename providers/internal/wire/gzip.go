package wire

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"mylm/providers"
)

// decoded is the body of a response as it was before a proxy or server
// compressed it without being asked. Proxies also unpack a body and leave the
// header, so that the first bytes count.
func decoded(resp *http.Response) (io.ReadCloser, error) {
	var body io.Reader = resp.Body
	codings := strings.Split(resp.Header.Get("Content-Encoding"), ",")
	slices.Reverse(codings) // the last one was applied last
	for _, coding := range codings {
		switch coding = strings.ToLower(strings.TrimSpace(coding)); coding {
		case "", "identity":
			continue
		case "gzip", "x-gzip", "deflate":
		default:
			return nil, &providers.Error{Kind: providers.Unreachable, Status: resp.StatusCode, Permanent: true,
				Message: fmt.Sprintf("%s answers in the encoding %q, which was not asked for", resp.Request.URL.Host,
					OneLine(coding)),
				Hint: "Turn compression off in the proxy in front of it."}
		}
		var err error
		packed := bufio.NewReader(body)
		head, _ := packed.Peek(2) // if there are fewer, nothing is packed
		switch {
		case len(head) == 2 && head[0] == 0x1f && head[1] == 0x8b:
			body, err = gzip.NewReader(packed)
		case len(head) == 2 && head[0]&15 == 8 && (int(head[0])<<8+int(head[1]))%31 == 0:
			body, err = zlib.NewReader(packed)
		case coding == "deflate" && len(head) == 2 && strings.IndexByte(beforeJSON+"{[<:deir", head[0]) < 0: // without its header, and no text
			body = flate.NewReader(packed)
		default:
			body = packed
		}
		if err != nil {
			return nil, err
		}
	}
	return struct {
		io.Reader
		io.Closer
	}{body, resp.Body}, nil
}
