package serve

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"mylm/providers/calling"
)

// writer puts the events of a reply into the form of one surface.
type writer interface {
	begin()              // the reply has begun, or it has been waited for long enough
	beat()               // nothing has come for a while
	event(calling.Event) // text, a thought or a call
	end(calling.End)     // the reply is complete
	fail(*apiError)      // it broke off after begin
	kind() string        // of the content
	whole([]block, calling.End) any
}

// block is a piece of a whole reply: adjacent texts are one, and adjacent thoughts.
type block struct {
	text, thought string
	call          *calling.Call
}

// run asks the model and writes its reply.
func (x *exchange) run(q *request, w writer) {
	x.record.Model = q.model
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	model, err := x.h.opts.Open(ctx, q.model)
	if err != nil {
		x.fail(x.asAPI(err, q.model))
		return
	}
	x.promptTokens = func() int { n, _ := model.Tokens(q.Request); return n }
	s := &streamer{x: x, w: w, cancel: cancel, on: q.stream}
	stop := sync.OnceFunc(s.beats())
	defer stop() // also when the model panics
	var whole collector
	var end *calling.End
	release, err := x.h.acquire(ctx)
	if err == nil {
		defer release()
		for e, failed := range model.Generate(ctx, q.Request) {
			if err = failed; err != nil {
				break
			}
			if end = e.End; end != nil {
				break
			}
			if x.first.IsZero() {
				x.first = time.Now()
			}
			if !q.stream {
				whole.add(e)
			} else if !s.write(func() { w.event(e) }) {
				break
			}
		}
	}
	stop()
	var unusable *calling.OutputError
	if end != nil {
		x.record.Usage, x.record.Estimated, x.record.Corrections = end.Usage, end.Estimated, end.Corrections
	} else if errors.As(err, &unusable) {
		x.record.Usage, x.record.Corrections = unusable.Usage, unusable.Replies-1
	}
	switch {
	case err != nil:
		e := x.asAPI(err, q.model)
		if _, told := w.(*responsesWriter); !s.begun && !(told && q.stream && e.code == overflowCode) { // its clients look for an overflow in the stream
			x.fail(e)
			return
		}
		x.note(e)
		s.write(func() { w.fail(e) })
	case end == nil: // the client has left
		x.note(&apiError{code: "cancelled", message: "the client left"})
	case q.stream:
		s.write(func() { w.end(*end) })
	default:
		whole.close()
		x.json(http.StatusOK, w.whole(whole.blocks, *end))
	}
}

// collector makes the blocks of a whole reply.
type collector struct {
	blocks  []block
	said    strings.Builder // what is in none of them yet: adjacent texts, or thoughts
	thought bool            // they are thoughts
}

func (c *collector) add(e calling.Event) {
	if thought := e.Thought != ""; e.Call != nil || thought != c.thought {
		c.close()
		c.thought = thought
	}
	c.said.WriteString(e.Text + e.Thought)
	if e.Call != nil {
		c.blocks = append(c.blocks, block{call: e.Call})
	}
}

func (c *collector) close() {
	said := c.said.String()
	c.said.Reset()
	switch {
	case said == "":
	case c.thought:
		c.blocks = append(c.blocks, block{thought: said})
	default:
		c.blocks = append(c.blocks, block{text: said})
	}
}

// streamer writes a stream, with heartbeats in its silences.
type streamer struct {
	x      *exchange
	w      writer
	cancel context.CancelFunc
	on     bool
	begun  bool
	last   time.Time
	broken bool // the client does not read any more
}

// write writes something to the stream, and reports whether the client is still there.
func (s *streamer) write(what func()) bool {
	s.x.mu.Lock()
	defer s.x.mu.Unlock()
	return s.locked(what)
}

func (s *streamer) locked(what func()) bool {
	if s.broken {
		return false
	}
	s.last = time.Now()
	_ = s.x.control.SetWriteDeadline(s.last.Add(s.x.h.opts.WriteTimeout))
	if !s.begun {
		s.begun = true
		s.x.status = http.StatusOK
		head := s.x.w.Header()
		head.Set("Content-Type", s.w.kind())
		head.Set("Cache-Control", "no-cache")
		head.Set("X-Accel-Buffering", "no") // nginx would collect the stream
		s.x.w.WriteHeader(http.StatusOK)
		s.w.begin()
	}
	what()
	if s.x.control.Flush() != nil {
		s.broken = true
		s.cancel()
	}
	return !s.broken
}

// beats sends heartbeats until the function that it returns is called.
func (s *streamer) beats() (stop func()) {
	if !s.on {
		return func() {}
	}
	s.last = time.Now()
	every := s.x.h.opts.Heartbeat
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		timer := time.NewTimer(every)
		defer timer.Stop()
		for {
			select {
			case <-done:
				return
			case <-timer.C:
			}
			s.x.mu.Lock()
			left := every - time.Since(s.last)
			if left <= 0 {
				s.locked(s.w.beat)
				left = every
			}
			s.x.mu.Unlock()
			timer.Reset(left)
		}
	}()
	return func() { close(done); <-ended }
}

// texts joins what a whole reply says, and what it thinks.
func texts(blocks []block) (text, thought string) {
	var t, th strings.Builder
	for _, b := range blocks {
		t.WriteString(b.text)
		th.WriteString(b.thought)
	}
	return t.String(), th.String()
}
