package langchain

import (
	"encoding/json"
	"net/http"

	"mylm/providers"
)

// wire is how a family of providers writes requests and replies. The zero wire
// leaves both alone.
type wire struct {
	// edit makes the body of a request that langchaingo wrote say what was
	// asked for and nothing else: what langchaingo adds goes, what it leaves
	// out comes. Nil: the body goes out as it is.
	edit func(body fields, a asked)

	// head changes the address or the headers of a request, such as to take a
	// key out of the address. May be nil.
	head func(req *http.Request, a asked)

	// reader returns a reader of one reply. Nil: langchaingo reads the reply
	// itself.
	reader func() reader

	// end is how a stream without text ends: all that langchaingo gets of a
	// reply that a reader reads.
	end string

	// lines says that a stream is one JSON value a line, not server-sent
	// events.
	lines bool

	// think is what thinking on or off adds to a request. Nil: the provider
	// has no switch.
	think func(on bool, a asked) map[string]any

	noSeed bool // the provider takes no seed
}

// asked is what a request is made for.
type asked struct {
	providers.Request
	model    string
	base     string // where it goes
	window   int    // tokens; 0: unknown
	key      string
	settings map[string]string
}

// reader reads a reply as it comes and notes in r what it tells. An error says
// that the reply makes no sense.
type reader interface {
	// event takes one event of a stream: the data of a server-sent event, or a
	// line of JSON.
	event(r *reply, data []byte) error

	// whole takes a reply that came in one piece.
	whole(r *reply, body []byte) error
}

// reply is what was read of a reply.
type reply struct {
	pieces  []providers.Chunk // said, and not yet passed on
	said    bool              // something was
	known   bool              // something came that a model's API sends
	ended   bool              // the sign that the reply is whole has come
	settled bool              // only the cost may follow; a connection that ends then does no harm
	over    bool              // nothing follows
	stop    string            // why it ended, in the provider's word
	usage   providers.Usage
	fault   *complaint // an error in the place of the rest
}

// understood reports whether the body is that of a model's API at all.
func (r *reply) understood() bool { return r.known || r.said || r.ended || r.fault != nil }

func (r *reply) say(text string) {
	if text != "" {
		r.pieces, r.said = append(r.pieces, providers.Chunk{Text: text}), true
	}
}

func (r *reply) think(thought string) {
	if thought != "" {
		r.pieces, r.said = append(r.pieces, providers.Chunk{Thought: thought}), true
	}
}

// fields is a JSON object that is edited.
type fields map[string]json.RawMessage

// keep drops all fields but the named ones.
func (f fields) keep(names ...string) {
	kept := fields{}
	for _, name := range names {
		if v, ok := f[name]; ok {
			kept[name] = v
		}
	}
	clear(f)
	for name, v := range kept {
		f[name] = v
	}
}

// set adds or replaces a field. v is made of strings, numbers, bools, maps and
// lists of them.
func (f fields) set(name string, v any) {
	b, err := json.Marshal(v)
	if err != nil { // NaN and the like: refused before any call
		return
	}
	f[name] = b
}

// sampling sets what was asked for under the names that most providers share.
func (f fields) sampling(a asked, seed, maxTokens string) {
	if a.Temperature != nil {
		f.set("temperature", *a.Temperature)
	}
	if a.Seed != nil {
		f.set(seed, *a.Seed)
	}
	if a.MaxTokens > 0 {
		f.set(maxTokens, a.MaxTokens)
	}
}

// thinking sets what the request says of thinking.
func (f fields) thinking(a asked, think func(bool, asked) map[string]any) {
	if think == nil || a.Think == providers.ThinkAuto {
		return
	}
	for name, v := range think(a.Think == providers.ThinkOn, a) {
		f.set(name, v)
	}
}
