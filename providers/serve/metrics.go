package serve

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// metrics counts for /metrics. Its labels are a fixed set: nothing that a client sends
// becomes one.
type metrics struct {
	running atomic.Int64

	mu          sync.Mutex
	requests    map[string]int64 // by labels
	refusals    map[string]int64
	tokens      map[string]int64
	corrections int64
	seconds     float64
}

func (m *metrics) count(r *Record, surface string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.requests == nil {
		m.requests, m.refusals, m.tokens = map[string]int64{}, map[string]int64{}, map[string]int64{}
	}
	m.requests[fmt.Sprintf("api=%q,code=\"%d\"", surface, r.Status)]++
	if r.Code != "" {
		m.refusals[fmt.Sprintf("api=%q,reason=%q", surface, r.Code)]++
	}
	m.tokens[`kind="prompt"`] += int64(r.Usage.Prompt)
	m.tokens[`kind="output"`] += int64(r.Usage.Output)
	m.corrections += int64(r.Corrections)
	m.seconds += r.Duration.Seconds()
}

func (h *Handler) showMetrics(x *exchange) {
	m := &h.metrics
	var b strings.Builder
	head := func(name, kind, help string) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	}
	counter := func(name, help string, values map[string]int64) {
		head(name, "counter", help)
		for _, labels := range slices.Sorted(maps.Keys(values)) {
			fmt.Fprintf(&b, "%s{%s} %d\n", name, labels, values[labels])
		}
	}
	m.mu.Lock()
	counter("mylm_requests_total", "Requests that ended, by API and HTTP status.", m.requests)
	counter("mylm_refusals_total", "Requests that ended in an error, by its code.", m.refusals)
	counter("mylm_tokens_total", "Tokens of prompts and replies.", m.tokens)
	head("mylm_corrections_total", "counter", "Replies of models that were corrected, unseen.")
	fmt.Fprintf(&b, "mylm_corrections_total %d\n", m.corrections)
	head("mylm_request_seconds_total", "counter", "Seconds that requests took, in all.")
	fmt.Fprintf(&b, "mylm_request_seconds_total %.3f\n", m.seconds)
	m.mu.Unlock()
	asking := len(h.gate)
	for _, g := range []struct {
		name, help string
		value      int64
	}{
		{"mylm_requests_running", "Requests that have not ended.", m.running.Load()},
		{"mylm_models_asked", "Requests that are asking a model.", int64(asking)},
		{"mylm_queue_length", "Requests that wait to ask a model.", int64(max(0, len(h.queue)-asking))},
		{"mylm_uptime_seconds", "Seconds since the server began.", int64(time.Since(h.start).Seconds())},
	} {
		head(g.name, "gauge", g.help)
		fmt.Fprintf(&b, "%s %d\n", g.name, g.value)
	}
	x.w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	x.status = cmp.Or(x.status, http.StatusOK)
	_, _ = x.w.Write([]byte(b.String()))
}
