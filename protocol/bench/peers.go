package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/model/parsers"
	"github.com/ollama/ollama/tools"

	"mylm/protocol"
)

// limit is how long a reader may take for one input.
const limit = time.Minute

// hermes is the tag that Ollama finds in the chat template of a model that
// writes calls in the Hermes style.
const hermes = "<tool_call>"

// reader finds the first call in a reply that comes in pieces. It reports how
// many bytes it took before the limit.
type reader func(q query, until time.Time) (first *call, taken int)

// readMylm is the decoder alone: which tools there are is known to it, whether
// the arguments fit is not asked.
func readMylm(q query, until time.Time) (first *call, taken int) {
	d := protocol.NewDecoder(protocol.Options{Tools: declared(q.Tools)})
	take := func(parts []protocol.Part) {
		for _, p := range parts {
			if p.Kind == protocol.Call {
				first = &call{p.Call.Name, p.Call.Args}
			}
		}
	}
	taken = pieces(q, until, func(s string) { take(d.Push(s)) })
	take(d.Close(protocol.End))
	return first, taken
}

func readOllama(q query, until time.Time) (first *call, taken int) {
	known := make([]api.Tool, len(q.Tools))
	for i, t := range q.Tools {
		known[i].Function.Name = t.Name // the parser asks for nothing else
	}
	p := tools.NewParserWithTag(known, hermes)
	taken = pieces(q, until, func(s string) {
		calls, _ := p.Add(s)
		if len(calls) == 0 || first != nil {
			return
		}
		args, err := json.Marshal(calls[0].Function.Arguments)
		if err == nil {
			first = &call{calls[0].Function.Name, args}
		}
	})
	return first, taken
}

// readParser reads as Ollama does for a model whose file says PARSER qwen3, the
// parser of this style.
func readParser(q query, until time.Time) (first *call, taken int) {
	known := make([]api.Tool, len(q.Tools))
	for i, t := range q.Tools {
		known[i].Function.Name = t.Name
	}
	p := parsers.ParserForName("qwen3")
	p.Init(known, nil, nil)
	add := func(s string, done bool) {
		_, _, calls, err := p.Add(s, done)
		if err != nil || len(calls) == 0 || first != nil {
			return
		}
		if args, err := json.Marshal(calls[0].Function.Arguments); err == nil {
			first = &call{calls[0].Function.Name, args}
		}
	}
	taken = pieces(q, until, func(s string) { add(s, false) })
	add("", true)
	return first, taken
}

// pieces cuts the reply as the query wants it, until the time is over.
func pieces(q query, until time.Time, push func(string)) (taken int) {
	size := q.Chunk
	if size == 0 {
		size = max(1, len(q.Input))
	}
	for n := 1; taken < len(q.Input); n++ {
		end := min(len(q.Input), taken+size)
		push(q.Input[taken:end])
		taken = end
		if n%256 == 0 && time.Now().After(until) { // the clock costs more than a small chunk
			break
		}
	}
	return taken
}

// answer is what peer.mjs says.
type answer struct {
	Name  string          `json:"name"`
	Args  json.RawMessage `json:"args"`
	Nanos float64         `json:"nanos"` // of the fastest pass, when the query gave a chunk
	Taken int             `json:"taken"` // bytes, in that pass
}

// node is the process that runs the npm package.
type node struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startNode() (*node, error) {
	n := &node{cmd: exec.Command("node", "peer.mjs", fmt.Sprint(limit.Milliseconds()))}
	n.cmd.Stderr = os.Stderr
	var err error
	if n.in, err = n.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	n.out = bufio.NewReader(out)
	if err := n.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start node, which must be on the PATH: %w", err)
	}
	return n, nil
}

func (n *node) ask(q query) (a answer, err error) {
	if err := json.NewEncoder(n.in).Encode(q); err != nil {
		return a, fmt.Errorf("peer.mjs: %w", err)
	}
	line, err := n.out.ReadBytes('\n')
	if err != nil {
		return a, fmt.Errorf("peer.mjs: %w", err)
	}
	return a, json.Unmarshal(line, &a)
}

// first finds the first call in a reply.
func (n *node) first(q query) (*call, error) {
	a, err := n.ask(q)
	if err != nil || a.Name == "" {
		return nil, err
	}
	return &call{a.Name, a.Args}, nil
}

func (n *node) close() error {
	n.in.Close()
	return n.cmd.Wait()
}
