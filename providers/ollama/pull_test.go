package ollama_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"

	"mylm/providers"
	"mylm/providers/ollama"
)

// pulled is what a server writes while it downloads two files, as
// server/download.go of Ollama has it: each file has its digest, and its total
// comes with each line.
var pulled = []string{
	`{"status":"pulling manifest"}`,
	`{"status":"pulling aa","digest":"sha256:aa","total":1000}`,
	`{"status":"pulling aa","digest":"sha256:aa","total":1000,"completed":400}`,
	`{"status":"pulling aa","digest":"sha256:aa","total":1000,"completed":1000}`,
	`{"status":"pulling bb","digest":"sha256:bb","total":24,"completed":24}`,
	`{"status":"verifying sha256 digest"}`,
	`{"status":"writing manifest"}`,
	`{"status":"success"}`,
}

// A download is reported with the sum of its files, and is complete only when the
// server says so.
func TestPull(t *testing.T) {
	f := newFake(t, nil)
	f.pull = lines(pulled...)
	var got []ollama.Progress
	if err := client(t, f.URL).Pull(t.Context(), "m", func(p ollama.Progress) { got = append(got, p) }); err != nil {
		t.Fatal(err)
	}
	want := []ollama.Progress{
		{"pulling manifest", 0, 0}, {"pulling aa", 0, 1000}, {"pulling aa", 400, 1000}, {"pulling aa", 1000, 1000}, {"pulling bb", 1024, 1024},
		{"verifying sha256 digest", 1024, 1024}, {"writing manifest", 1024, 1024}, {"success", 1024, 1024},
	}
	if !slices.Equal(got, want) {
		t.Errorf("progress %v, want %v", got, want)
	}
	if err := client(t, f.URL).Pull(t.Context(), "m", nil); err != nil {
		t.Errorf("without progress: %v", err)
	}
}

// A connection that breaks off is made again, since the server goes on where it was.
func TestPullGoesOn(t *testing.T) {
	f := newFake(t, nil)
	f.pull = func(w http.ResponseWriter, r *http.Request) {
		if f.count("/api/pull") < 3 {
			abort(lines(pulled[:3]...))(w, r)
		}
		lines(`{"status":"pulling aa","digest":"sha256:aa","total":1000,"completed":700}`, pulled[7])(w, r)
	}
	var last ollama.Progress
	if err := client(t, f.URL).Pull(t.Context(), "m", func(p ollama.Progress) { last = p }); err != nil || last.Done != 700 {
		t.Errorf("%v after %+v", err, last)
	}
	f = newFake(t, nil)
	f.pull = abort(lines(pulled[:3]...))
	check(t, client(t, f.URL).Pull(t.Context(), "m", nil), providers.Error{Kind: providers.Interrupted}, "broke off", "")
	if n := f.count("/api/pull"); n != 3 {
		t.Errorf("asked %d times, want 3", n)
	}
}

func TestPullFails(t *testing.T) {
	fails := func(text string) http.HandlerFunc { return lines(pulled[0], `{"error":"`+text+`"}`) }
	for name, tt := range map[string]struct {
		pull       http.HandlerFunc
		want       providers.Error
		says, hint string
	}{
		// Ollama 0.32.15 says so without a network.
		"no network": {fails(`pull model manifest: Get \"https://registry.ollama.ai/v2/library/m/manifests/latest\": dial tcp: lookup registry.ollama.ai on 127.0.0.53:53: no such host`),
			providers.Error{Kind: providers.Unreachable}, "no such host", "HTTPS_PROXY"},
		"connection lost": {fails("max retries exceeded: unexpected EOF"), providers.Error{Kind: providers.Unreachable}, "max retries", "network"},
		"no such model":   {fails("pull model manifest: file does not exist"), providers.Error{Kind: providers.ModelMissing, Permanent: true}, `no model "m"`, "https://ollama.com/library"},
		"bad name":        {refuses(400, `{"error":"invalid model name"}`), providers.Error{Kind: providers.ModelMissing, Status: 400, Permanent: true}, `no model "m"`, ""},
		"disk full":       {fails("write /models/blobs/x: no space left on device"), providers.Error{Kind: providers.ServerFault, Permanent: true}, "no space", "Make room"},
		"old server":      {fails("pull model manifest: 412: The model you are attempting to pull requires a newer version of Ollama."), providers.Error{Kind: providers.ServerFault, Permanent: true}, "newer", "Update"},
		"damaged":         {fails("digest mismatch, file must be downloaded again: want sha256:aa, got sha256:bb"), providers.Error{Kind: providers.ServerFault}, "mismatch", "Try again"},
		"no end":          {lines(pulled[:5]...), providers.Error{Kind: providers.Interrupted}, "whole", ""},
		"no Ollama":       {says("<html>"), providers.Error{Kind: providers.Unreachable, Status: 200, Permanent: true}, "is not Ollama", ""},
		"no such path":    {http.NotFound, providers.Error{Kind: providers.Unreachable, Status: 404, Permanent: true}, "is not Ollama", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, nil)
			f.pull = tt.pull
			check(t, client(t, f.URL).Pull(t.Context(), "m", nil), tt.want, tt.says, tt.hint)
		})
	}
}

// Sizes that make no sense give no nonsense.
func TestPullOddSizes(t *testing.T) {
	f := newFake(t, nil)
	f.pull = lines(
		`{"status":"a","digest":"a","total":10,"completed":99}`,
		`{"status":"b","digest":"b","total":10,"completed":-5}`,
		`{"status":"c","digest":"c","total":9223372036854775807,"completed":9223372036854775807}`,
		`{"status":"d","digest":"d","total":-1,"completed":3}`,
		`{"status":"success"}`,
	)
	err := client(t, f.URL).Pull(t.Context(), "m", func(p ollama.Progress) {
		if p.Done < 0 || p.Done > p.Total || p.Total > 20 {
			t.Errorf("%+v", p)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// Whoever gives up has the server give up.
func TestPullCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := newFake(t, nil)
	f.pull = func(w http.ResponseWriter, r *http.Request) {
		lines(pulled[:3]...)(w, r)
		f.hang(r)
	}
	err := client(t, f.URL).Pull(ctx, "m", func(p ollama.Progress) {
		if p.Done > 0 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || f.count("/api/pull") != 1 {
		t.Errorf("%v after %d requests", err, f.count("/api/pull"))
	}
	f.Close() // waits for the handlers
	if f.leavers() != 1 {
		t.Error("the server downloads on")
	}
}
