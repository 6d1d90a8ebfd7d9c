package langchain

import (
	"cmp"
	"reflect"
	"strings"

	"github.com/tmc/langchaingo/llms"
)

// Options describes an llms.Model. The zero value fits every model that reads
// whole conversations. Open of this package needs none of it.
type Options struct {
	// Name is the model's name, for messages. "" is "the model".
	Name string

	// Window is the number of tokens that prompt and reply share; 0: unknown.
	Window int

	// OneMessage sends the conversation as one text, for a backend that reads
	// the first message only.
	OneMessage bool

	// OneSystem joins all system messages into one at the beginning of the
	// conversation, for a backend that reads one system message.
	OneSystem bool

	// NoStream asks for the reply in one piece, for a backend whose stream is
	// not the model's text.
	NoStream bool

	// Images sends pictures, as binary parts. Without it a request with one is an
	// error, since a backend may drop them silently.
	Images bool

	images imageForm // of langchaingo's own clients

	// End is how a complete reply is recognized.
	End End
}

// End is the sign that distinguishes a whole reply from one that was cut.
// llms.Model defines none.
type End string

// The signs. An empty reply is never taken for whole without a stop reason.
const (
	EndOfCall    End = ""            // the call returned without an error
	EndReason    End = "stop reason" // a streamed reply has a stop reason
	EndWholeText End = "whole text"  // a streamed reply is also returned as one text
)

// clients is what langchaingo's own packages need, by their names below llms/.
// Those that are not listed read whole conversations, stream text, and give no
// sign of the end of a reply.
var clients = map[string]Options{
	"anthropic":       {OneSystem: true, images: imageData, End: EndReason},
	"cloudflare":      {NoStream: true}, // streams raw events
	"cohere":          {OneMessage: true},
	"ernie":           {OneMessage: true},
	"googleai":        {OneSystem: true, images: imageData, End: EndReason},
	"googleai/vertex": {OneSystem: true, images: imageData, End: EndReason},
	"huggingface":     {OneMessage: true},
	"local":           {OneMessage: true},
	"maritaca":        {End: EndWholeText},
	"mistral":         {End: EndReason},
	"ollama":          {images: imageData, End: EndWholeText},
	"openai":          {images: imageURLs, End: EndReason},
	"watsonx":         {OneMessage: true},
}

// ownClient returns the table's row for a client of langchaingo's own. The
// path of its package is enough: importing the package would link it.
func ownClient(llm llms.Model) Options {
	t := reflect.TypeOf(llm)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return Options{}
	}
	name, _ := strings.CutPrefix(t.PkgPath(), "github.com/tmc/langchaingo/llms/")
	return clients[name]
}

// New makes a providers.Model of any llms.Model. What langchaingo's own clients
// need is known and added to the options.
//
// The network is out of sight here: a request carries whatever llm adds, and
// failures are classified by the words of its error. Open has more information
// about its providers.
func New(llm llms.Model, o Options) *Model {
	own := ownClient(llm)
	m := &Model{
		llm:    llm,
		config: Config{Model: cmp.Or(o.Name, "the model"), Window: o.Window},
		back: backend{
			Provider:   Provider{Title: "langchaingo", Streams: true},
			oneMessage: o.OneMessage || own.OneMessage,
			oneSystem:  o.OneSystem || own.OneSystem,
			onePiece:   o.NoStream || own.NoStream,
			endOf:      cmp.Or(o.End, own.End),
		},
	}
	if m.back.images = own.images; m.back.images == noImages && o.Images {
		m.back.images = imageData
	}
	m.describe()
	return m
}
