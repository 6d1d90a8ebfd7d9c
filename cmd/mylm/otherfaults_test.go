//go:build unix

package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// gzips sends a reply as gzip unasked, without its last cut bytes.
func gzips(cut int, texts ...string) fault {
	return func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write([]byte(strings.Join(texts, "")))
		_ = z.Close()
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(b.Bytes()[:b.Len()-cut])
	}
}

// Further faults of servers and proxies (docs/running.md has the table). The
// command in a hint works once the server does.
func TestOtherFaults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault   fault
		exit    string // "0": the answer is "All of it."
		says    []string
		retries bool
		typed   []string // from the hint
	}{
		"gzip nobody asked for":         {fault: gzips(0, says("All of it."), lastPiece), exit: "0"},
		"gzip without its end":          {fault: gzips(20, says("Half an ans"), lastPiece), exit: "1", says: []string{"broke off in mid-reply"}, retries: true},
		"an encoding that nobody knows": {fault: refuses(200, "xx", "Content-Encoding", "br"), exit: "3", says: []string{"the encoding \"br\"", "Turn compression off"}},
		"no memory on the card":         {fault: refuses(500, `{"error":"llama runner process has terminated: cudaMalloc failed: out of memory"}`), exit: "1", says: []string{"cudaMalloc failed", "a smaller model or a smaller window", "--num-ctx"}, typed: []string{"ask", "q", "--num-ctx", "2048"}},
		"no memory":                     {fault: refuses(500, `{"error":"model requires more system memory (9.1 GiB) than is available (3.5 GiB)"}`), exit: "1", says: []string{"more system memory", "a smaller model or a smaller window", "--num-ctx"}, typed: []string{"ask", "q", "--num-ctx", "2048"}},
		"no memory, in the stream":      {fault: sends(says("Half"), `{"error":"cudaMalloc failed: out of memory"}`+"\n"), exit: "1", says: []string{"cudaMalloc failed", "--num-ctx"}, typed: []string{"ask", "q", "--num-ctx", "2048"}},
		"too long, behind a 500":        {fault: refuses(500, `{"error":"the input length exceeds the context length"}`), exit: "7", says: []string{"does not fit the model's context window", "--num-ctx"}, typed: []string{"ask", "q", "--num-ctx", "65536"}},
		"too long, in the stream":       {fault: sends(`{"error":"the request exceeds the available context size, try increasing it"}` + "\n"), exit: "7", says: []string{"does not fit the model's context window", "--num-ctx"}, typed: []string{"ask", "q", "--num-ctx", "65536"}},
		"401":                           {fault: refuses(401, `{"error":"unauthorized"}`), exit: "2", says: []string{"unauthorized", "user:password@host"}},
		"403":                           {fault: refuses(403, `{"error":"forbidden"}`), exit: "2", says: []string{"forbidden", "user:password@host"}},
		"no such model":                 {fault: refuses(404, `{"error":"model 'm' not found"}`), exit: "3", says: []string{"ollama pull m", "`mylm models`"}, typed: []string{"models"}},
		"no such page":                  {fault: refuses(404, `404 page not found`), exit: "3", says: []string{"is not Ollama (HTTP status 404)", "--host"}},
		"405":                           {fault: refuses(405, `method not allowed`), exit: "3", says: []string{"is not Ollama (HTTP status 405)", "--host"}},
		"redirected":                    {fault: refuses(307, ``, "Location", "http://127.0.0.1:1/elsewhere/api/chat"), exit: "3", says: []string{"make http://127.0.0.1:1/elsewhere the address"}},
		"redirected to itself":          {fault: refuses(307, ``, "Location", "/api/chat"), exit: "3", says: []string{"redirects the request to itself"}},
		"413":                           {fault: refuses(413, `too large`), exit: "1", says: []string{"larger than the server"}},
		"501":                           {fault: refuses(501, `{"error":"not implemented"}`), exit: "1", says: []string{"not implemented"}},
		"a login page":                  {fault: refuses(200, "<html>please log in</html>", "Content-Type", "text/html"), exit: "3", says: []string{"is not Ollama", "--host"}},
		"an empty body":                 {fault: sends(), exit: "1", says: []string{"without a sign that it is whole", "Ask again"}, retries: true, typed: []string{"ask", "q"}},
		"null":                          {fault: sends("null\n"), exit: "3", says: []string{"is not Ollama", "--host"}},
		"a list":                        {fault: sends("[]\n"), exit: "3", says: []string{"is not Ollama", "mylm ask -m demo"}, typed: []string{"ask", "-m", "demo", "what files are here?"}},
		"two ends":                      {fault: sends(says("All of it."), lastPiece, lastPiece), exit: "0"},
		"text behind the end":           {fault: sends(says("All of it."), lastPiece, says(" More.")), exit: "0"},
		"lines as Windows ends them":    {fault: sends(strings.ReplaceAll(says("All of it.")+lastPiece, "\n", "\r\n")), exit: "0"},
		"empty lines":                   {fault: sends(says("All of "), "\n\n", says("it."), "\n", lastPiece), exit: "0"},
		"a mark of the byte order":      {fault: sends("\ufeff"+says("All of it."), lastPiece), exit: "0"},
		"no new line at the end":        {fault: sends(says("All of it."), strings.TrimSuffix(lastPiece, "\n")), exit: "0"},
		"a limit cuts the reply":        {fault: sends(says("Half an ans"), strings.Replace(lastPiece, `"stop"`, `"length"`, 1)), exit: "5", says: []string{"the length limit cut the last 10 replies", "--num-ctx", "--max-turns"}, typed: []string{"ask", "q", "--num-ctx", "65536", "--max-turns", "20"}},
		"the server only loads":         {fault: sends(strings.Replace(lastPiece, `"stop"`, `"load"`, 1)), exit: "5", says: []string{"ended the reply with \"load\""}},
		"an error that is an object":    {fault: sends(`{"error":{"message":"boom"}}` + "\n"), exit: "1", says: []string{"Ollama: boom"}, retries: true},
		"an error that is a number":     {fault: sends(`{"error":42}` + "\n"), exit: "1", says: []string{"the reply ended with an error"}, retries: true},
		"500 with a page":               {fault: refuses(500, "<html>oops</html>", "Content-Type", "text/html"), exit: "1", says: []string{"answers 500"}, retries: true},
		"502":                           {fault: refuses(502, "<html>bad gateway</html>", "Content-Type", "text/html"), exit: "1", says: []string{"A proxy in front of the server"}, retries: true},
		"524 of Cloudflare":             {fault: refuses(524, "<html><title>524: A timeout occurred</title></html>", "Content-Type", "text/html"), exit: "1", says: []string{"A proxy in front of the server"}, retries: true},
		"a budget of LiteLLM":           {fault: refuses(400, `{"error":{"message":"Budget has been exceeded! Current cost: 10.1, Max budget: 10.0","type":"budget_exceeded","param":null,"code":"400"}}`), exit: "1", says: []string{"Budget has been exceeded", "No quota or credit is left"}},
		"402":                           {fault: refuses(402, `{"error":"usage limit reached"}`), exit: "1", says: []string{"No quota or credit is left"}},
		"429 in the stream":             {fault: sends(`{"error":"too many requests","code":429}` + "\n"), exit: "1", says: []string{"too many requests", "Wait a moment and ask again"}, retries: true, typed: []string{"ask", "q"}},
		"a parser refuses the call":     {fault: sends(says("I will look."), `{"error":"tool 'list_dir' not found"}`+"\n"), exit: "1", says: []string{"PARSER passthrough"}},
		"another parser cannot read it": {fault: sends(says("I will look."), `{"error":"error parsing tool call: raw='{\"path\":' , err=unexpected end of JSON input"}`+"\n"), exit: "1", says: []string{"PARSER passthrough"}, retries: true},
		"no such parser":                {fault: refuses(500, `{"error":"unknown parser: qwen9"}`), exit: "1", says: []string{"The server is too old for this model"}},
		"killed for its memory":         {fault: refuses(500, `{"error":"llama-server process died unexpectedly: signal: killed"}`), exit: "1", says: []string{"the next question starts it again", "--num-ctx"}, retries: true, typed: []string{"ask", "q", "--num-ctx", "2048"}},
		"no subscription":               {fault: refuses(403, `{"error":"this model requires a subscription, upgrade for access: https://ollama.com/upgrade"}`), exit: "1", says: []string{"requires a subscription", "check the account's billing"}},
		"a level of thinking":           {fault: refuses(400, `{"error":"think value \"true\" is not supported for this model"}`), exit: "1", says: []string{"Ask without --think"}, typed: []string{"ask", "q"}},
		"a call it takes for its own":   {fault: refuses(500, `{"error":"the reply ended with MALFORMED_FUNCTION_CALL"}`), exit: "1", says: []string{"--form tool_call"}, retries: true, typed: []string{"ask", "q", "--form", "tool_call"}},
		"a limit cuts each call":        {fault: sends(says(listCall[:40]), strings.Replace(lastPiece, `"stop"`, `"length"`, 1)), exit: "6", says: []string{"in the middle of a call", "--max-tokens", "--num-ctx"}, typed: []string{"ask", "q", "--max-tokens", "4000", "--num-ctx", "8192"}},
		"an option is refused":          {fault: refuses(400, `{"error":"option \"num_ctx\" must be of type integer"}`), exit: "1", says: []string{"must be of type integer"}},
		"thinking is refused":           {fault: refuses(400, `{"error":"\"m\" does not support thinking"}`), exit: "1", says: []string{"Ask without --think"}, typed: []string{"ask", "q"}},
		"no chat":                       {fault: refuses(400, `{"error":"\"m\" does not support chat"}`), exit: "1", says: []string{"Choose a chat model", "`mylm models`"}, typed: []string{"models"}},
		"no tools":                      {fault: refuses(400, `{"error":"registry.ollama.ai/library/m does not support tools"}`), exit: "1", says: []string{"does not support tools", "No tools are sent"}, typed: []string{"ask", "q"}},
		"another API":                   {fault: sends(`data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"All of it."}}]}` + "\n\n"), exit: "3", says: []string{"is not Ollama", "-m PROVIDER/MODEL"}, typed: []string{"models", "--providers"}},
		"a model that is too new":       {fault: refuses(500, `{"error":"llama runner process has terminated: error loading model architecture: unknown model architecture: 'm4'"}`), exit: "1", says: []string{"The server is too old for this model"}},
		"a model that is too new, 412":  {fault: refuses(412, `{"error":"this model requires a newer version of Ollama"}`), exit: "1", says: []string{"The server is too old for this model"}},
		"no memory, says Metal":         {fault: refuses(500, `{"error":"Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)"}`), exit: "1", says: []string{"a smaller model or a smaller window", "--num-ctx"}, typed: []string{"ask", "q", "--num-ctx", "2048"}},
		"no memory, says Vulkan":        {fault: sends(says("Half"), `{"error":"llama-server process has terminated: ErrorOutOfDeviceMemory"}`+"\n"), exit: "1", says: []string{"a smaller model or a smaller window", "--num-ctx"}, typed: []string{"ask", "q", "--num-ctx", "2048"}},
		"a limit of use":                {fault: refuses(429, `{"error":"you have reached your hourly usage limit, upgrade for higher limits"}`), exit: "1", says: []string{"hourly usage limit", "No quota or credit is left"}},
		"an object for no calls":        {fault: sends(strings.Replace(says("All of it."), `"role"`, `"tool_calls":{},"role"`, 1), lastPiece), exit: "0"},
		"no message":                    {fault: sends(`{"model":"m","message":null,"done":false}`+"\n", says("All of it."), lastPiece), exit: "0"},
		"a list of parts":               {fault: sends(strings.Replace(says("x"), `"x"`, `[{"type":"text","text":"All of it."}]`, 1), lastPiece), exit: "0"},
		"a number for the reason":       {fault: sends(says("All of it."), strings.Replace(lastPiece, `"stop"`, `1`, 1)), exit: "0"},
		"JSON over several lines":       {fault: sends(strings.ReplaceAll(says("All of it.")+lastPiece, "{\"", "{\n \"")), exit: "0"},
		"a damaged model":               {fault: refuses(500, `{"error":"unable to load model: /x/blobs/sha256-1"}`), exit: "1", says: []string{"installing the model again"}},
		"the runner stops":              {fault: sends(says("Half"), `{"error":"an error was encountered while running the model: unexpected EOF"}`+"\n"), exit: "1", says: []string{"the next question starts it again", "--num-ctx"}, retries: true, typed: []string{"ask", "q", "--num-ctx", "2048"}},
		"loading":                       {fault: refuses(503, `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`), exit: "1", says: []string{"The server is loading the model"}, retries: true, typed: []string{"ask", "q"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &home{t: t, dir: t.TempDir()}
			h.host = newFaulty(t, ever, test.fault).URL
			out, errs, code := h.run("ask", "q")
			if code != test.exit || (code == "0") != (out == "All of it.\n") {
				t.Errorf("exit %s, want %s; stdout %.200q; stderr %s", code, test.exit, out, errs)
			}
			for _, text := range test.says {
				if !strings.Contains(errs, text) {
					t.Errorf("%q is missing on stderr: %s", text, errs)
				}
			}
			if strings.Contains(errs, "retry 3") != test.retries {
				t.Errorf("retries: %s", errs)
			}
			h.host = newPlaced(t, "Well.").URL
			var typed [][]string
			if strings.Contains(errs, "mylm resume") {
				typed = append(typed, []string{"resume", "last"})
			}
			if test.typed != nil {
				typed = append(typed, test.typed)
			}
			for _, args := range typed {
				if out, errs, code := h.run(args...); code != "0" || out == "" {
					t.Errorf("%q: exit %s, %q, %s", args, code, out, errs)
				}
			}
		})
	}
}

// A model whose template takes no system message, or wants the roles to alternate
// from the first message on, is asked without one, which is told once.
func TestNoSystemMessage(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"System role not supported", "Conversation roles must alternate user/assistant/user/assistant/..."} {
		healthy := newPlaced(t, "Done.")
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if r.URL.Path == "/api/chat" && bytes.Contains(body, []byte(`"role":"system"`)) {
				refuses(500, `{"error":"Jinja Exception: `+words+`"}`)(w, r, nil)
				return
			}
			healthy.Config.Handler.ServeHTTP(w, r)
		}))
		defer server.Close()
		h := &home{t: t, dir: t.TempDir(), host: server.URL}
		for _, args := range [][]string{{"ask", "q"}, {"ask", "-c", "q"}} {
			out, errs, code := h.run(args...)
			if out != "Done.\n" || code != "0" || strings.Count(errs, "takes no system message") != 1 {
				t.Errorf("exit %s, %q, %s", code, out, errs)
			}
		}
		if out, errs, code := h.run("ask", "-o", "ndjson", "q"); code != "0" || strings.Count(out, `"code":"adapted"`) != 1 {
			t.Errorf("exit %s, %s, %s", code, out, errs)
		}
	}
}

// The hint for a server that has moved names an address that works.
func TestMovedServer(t *testing.T) {
	t.Parallel()
	healthy := newPlaced(t, "Well.").URL
	h := &home{t: t, dir: t.TempDir()}
	h.host = newFaulty(t, ever, refuses(307, "", "Location", healthy+"/api/chat")).URL
	_, errs, code := h.run("ask", "q")
	if !strings.Contains(errs, "make "+healthy+" the address") || !strings.Contains(errs, "--host") || code != "3" {
		t.Fatalf("exit %s: %s", code, errs)
	}
	if out, errs, code := h.run("ask", "q", "--host", healthy); code != "0" || out != "Well.\n" {
		t.Errorf("exit %s, %q, %s", code, out, errs)
	}
}

// A server that stops in the middle of a run is waited for until it is back.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	behind := newFaulty(t, 1, sends(says(listCall), lastPiece)) // then "Done."
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	down := make(chan struct{})
	var first *http.Server
	first = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		behind.Config.Handler.ServeHTTP(w, r)
		if r.URL.Path == "/api/chat" {
			go func() { _ = first.Close(); close(down) }()
			<-down
		}
	})}
	go func() { _ = first.Serve(listener) }()

	h := &home{t: t, dir: t.TempDir(), host: "http://" + listener.Addr().String()}
	cmd := h.command("ask", "q")
	var out strings.Builder
	cmd.Stdout = &out
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(errs); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "retry 2") {
			again, err := net.Listen("tcp", listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			second := &http.Server{Handler: behind.Config.Handler}
			go func() { _ = second.Serve(again) }()
			t.Cleanup(func() { second.Close() })
		}
	}
	if code := exitWithin(t, cmd); code != "0" || out.String() != "Done.\n" || !strings.Contains(said.String(), "refused") {
		t.Errorf("exit %s, %q, %s", code, out.String(), said.String())
	}
}
