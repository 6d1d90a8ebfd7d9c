//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// slowly is a server like Ollama whose answer is what comes from pieces, until they
// are closed.
func slowly(t testing.TB, pieces <-chan string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path != "/api/chat" {
			(&requests{}).ServeHTTP(w, q)
			return
		}
		for {
			select {
			case piece, more := <-pieces:
				text, _ := json.Marshal(piece)
				fmt.Fprintf(w, "{\"message\":{\"role\":\"assistant\",\"content\":%s},\"done\":%v,\"done_reason\":\"stop\"}\n", text, !more)
				w.(http.Flusher).Flush()
				if !more {
					return
				}
			case <-q.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// What becomes final is never shown twice, not even for a moment.
func TestChatNeverJumps(t *testing.T) {
	t.Parallel()
	pieces := make(chan string)
	cmd := command(t, nil, "chat", "-m", "test")
	cmd.Env = append(cmd.Env, "OLLAMA_HOST="+slowly(t, pieces))
	s := chatOn(t, cmd, 60, 12)
	twice := ""
	s.mu.Lock()
	s.each = func() {
		if raw := s.raw.String(); strings.LastIndex(raw, ansi.ResetModeTextCursorEnable) > strings.LastIndex(raw, ansi.SetModeTextCursorEnable) {
			return // the terminal has read a part of a drawing, in which there is no cursor
		}
		screen, before := s.emu.String(), ""
		for row := range strings.SplitSeq(screen, "\n") {
			row = strings.TrimSpace(row)
			if before != "" && twice == "" && (row != "" && strings.HasPrefix(before, row) || strings.HasPrefix(row, before)) {
				twice = screen
			}
			if before = row; !strings.HasPrefix(row, "row ") {
				before = ""
			}
		}
	}
	s.mu.Unlock()
	s.says("go")
	pieces <- "```\n"
	for i := range 40 {
		pieces <- fmt.Sprintf("row %02d", i)
		s.shows(fmt.Sprintf("row %02d", i))
		pieces <- fmt.Sprintf(" of code\nrow %02d, ", i)
		s.shows(fmt.Sprintf("row %02d of code", i))
		pieces <- "too\n"
	}
	close(pieces)
	s.shows("row 39, too")
	s.mu.Lock()
	defer s.mu.Unlock()
	if twice != "" {
		t.Errorf("a row is shown twice:\n%s", twice)
	}
}

// What a library logs about a connection does not reach the terminal: here of a server
// that sends more than its reply.
func TestNothingIsLogged(t *testing.T) {
	t.Parallel()
	turn := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path != "/api/chat" {
			(&requests{}).ServeHTTP(w, q)
			return
		}
		content := "Done."
		if turn++; turn == 1 {
			content = "<tool_code><name>list_dir</name><parameters>{}</parameters></tool_code>"
		}
		body := fmt.Sprintf("{\"message\":{\"role\":\"assistant\",\"content\":%q},\"done\":true,\"done_reason\":\"stop\"}\n", content)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nContent-Length: %d\r\n\r\n%sjunk", len(body), body)
	}))
	t.Cleanup(server.Close)
	cmd := command(t, nil, "ask", "-m", "test", "q")
	cmd.Env = append(cmd.Env, "OLLAMA_HOST="+server.URL)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Done.") || strings.Contains(string(out), "Unsolicited") {
		t.Errorf("%v: %s", err, out)
	}
}
