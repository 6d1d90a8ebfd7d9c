package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// admit refuses what a page of a foreign origin, a name that was rebound to this
// machine, or a stranger could send.
func (h *Handler) admit(x *exchange) *apiError {
	r := x.r
	if !h.knownHost(r.Host) {
		return refuse(http.StatusForbidden, "host_not_allowed", "the host %q is not a name of this server", r.Host)
	}
	if origin, sent := r.Header["Origin"]; sent {
		if len(origin) != 1 || !slices.Contains(h.opts.Origins, origin[0]) {
			return refuse(http.StatusForbidden, "origin_not_allowed", "the origin %q is not allowed", strings.Join(origin, ", "))
		}
		head := x.w.Header()
		head.Set("Access-Control-Allow-Origin", origin[0])
		head.Add("Vary", "Origin")
		head.Set("Access-Control-Expose-Headers", "Retry-After, X-Request-Id, X-Should-Retry")
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" { // which brings no key
			head.Set("Access-Control-Allow-Methods", "GET, POST")
			if want := r.Header.Get("Access-Control-Request-Headers"); want != "" {
				head.Set("Access-Control-Allow-Headers", want)
			}
			head.Set("Access-Control-Max-Age", "600")
			x.status = http.StatusNoContent
			x.w.WriteHeader(x.status)
			return nil
		}
	}
	if !h.hasKey(r) {
		return refuse(http.StatusUnauthorized, "invalid_api_key", "the API key is missing or wrong")
	}
	if r.Method == http.MethodPost {
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			return refuse(http.StatusUnsupportedMediaType, "unsupported_media_type", "Content-Type must be application/json")
		}
	}
	return nil
}

// knownHost reports whether a request means this server: its name may be one that a page
// of somebody else had resolved to this machine.
func (h *Handler) knownHost(host string) bool {
	if host == "" {
		return true // of HTTP/1.0, which no page speaks
	}
	name := host
	if before, _, err := net.SplitHostPort(host); err == nil {
		name = before
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	if ip, err := netip.ParseAddr(name); err == nil && ip.IsLoopback() {
		return true
	}
	return slices.ContainsFunc(h.opts.Hosts, func(known string) bool { return known == "*" || strings.EqualFold(known, name) })
}

// hasKey reports whether a request has the key, in either of its headers: some clients
// send one of another service in the other. It compares in constant time, whatever the
// lengths are.
func (h *Handler) hasKey(r *http.Request) bool {
	if h.opts.Key == "" {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		token = ""
	}
	want, right := sha256.Sum256([]byte(h.opts.Key)), 0
	for _, key := range []string{r.Header.Get("X-Api-Key"), strings.TrimSpace(token)} {
		got := sha256.Sum256([]byte(key))
		right |= subtle.ConstantTimeCompare(want[:], got[:])
	}
	return right == 1
}
