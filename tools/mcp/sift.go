package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sift leaves out of a list what is no tool, for which the SDK refuses all of it.
func (l *link) sift(result json.RawMessage) json.RawMessage {
	var list map[string]json.RawMessage
	all, kept := []json.RawMessage{}, []json.RawMessage{}
	if json.Unmarshal(result, &list) != nil || json.Unmarshal(list["tools"], &all) != nil {
		return result
	}
	for _, text := range all {
		var named struct{ Name any }
		err := json.Unmarshal(text, &mcp.Tool{})
		if err == nil {
			kept = append(kept, text)
			continue
		}
		_ = json.Unmarshal(text, &named)
		l.leaveOut(Problem{l.asks.server.Name, cutBytes(fmt.Sprint(named.Name), maxToolName), "it does not have the form that MCP has for a tool" + misfit(err.Error())})
	}
	if len(kept) == len(all) {
		return result
	}
	list["tools"], _ = json.Marshal(kept)
	result, _ = json.Marshal(list) // what was read is always written
	return result
}

// siftMessage is sift for a whole message; any other than a list of tools stays.
func (l *link) siftMessage(text []byte) []byte {
	var m map[string]json.RawMessage
	if !bytes.Contains(text, []byte(`"tools"`)) || json.Unmarshal(text, &m) != nil {
		return text
	}
	kept := l.sift(m["result"])
	if bytes.Equal(kept, m["result"]) {
		return text
	}
	m["result"] = kept
	text, _ = json.Marshal(m) // what was read is always written
	return text
}

// sifted is the body of a response whose lists of tools are sifted.
type sifted struct {
	io.ReadCloser
	in     *bufio.Reader // of the body
	link   *link
	events bool   // it is an event stream, and else one message
	ready  []byte // to be returned
	err    error  // after it
}

// Read implements io.Reader.
func (s *sifted) Read(p []byte) (int, error) {
	for len(s.ready) == 0 && s.err == nil {
		if s.events {
			s.event()
			continue
		}
		if s.ready, s.err = io.ReadAll(s.in); s.err == nil {
			s.ready, s.err = s.link.siftMessage(s.ready), io.EOF
		}
	}
	if len(s.ready) == 0 {
		return 0, s.err
	}
	n := copy(p, s.ready)
	s.ready = s.ready[n:]
	return n, nil
}

// event reads up to the end of an event. One that is too long is the last: the SDK, which
// is told of the same bound, ends the connection, and would read the rest.
func (s *sifted) event() {
	var all, line, data, others []byte
	for ended := false; !ended; {
		part, err := s.in.ReadSlice('\n')
		all, line = append(all, part...), append(line, part...)
		cut := err == bufio.ErrBufferFull
		if cut {
			err = nil
		}
		if len(all) > maxMessage {
			err = errTooLong
		}
		if s.err = err; err != nil && err != io.EOF {
			s.ready = all
			return
		}
		if cut {
			continue
		}
		if text, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(append(data, '\n'), bytes.TrimSpace(text)...)
		} else {
			others = append(others, line...)
		}
		ended = err != nil || len(bytes.TrimSpace(line)) == 0
		line = line[:0]
	}
	if s.ready = all; len(data) > 0 {
		if kept := s.link.siftMessage(data); !bytes.Equal(kept, data) {
			s.ready = slices.Concat([]byte("data: "), kept, []byte("\n"), others)
		}
	}
}
