package providerstest

import (
	"testing"
	"time"

	"mylm/providers"
)

// Reply is the script of one answer. The pieces of thought come first, then
// those of text, each as a chunk of its own where the backend has chunks.
// Then, in this order of precedence: Hang, Fail, Cut, or the proper end.
type Reply struct {
	Thought []string
	Text    []string

	Stop  providers.StopReason // why it ended; "" is StopEnd
	Usage providers.Usage      // reported with the end

	Cut  bool           // the stream ends without a sign that the reply is whole
	Fail providers.Kind // the backend fails in this way; without pieces, instead of a reply
	Hang bool           // nothing more arrives until the caller goes away
}

// Rig is a model under test and what its other side saw.
type Rig struct {
	Model providers.Model

	// Requests returns the calls that arrived so far, translated back: a field
	// that was not sent is zero. Nil: unknown.
	Requests func() []providers.Request

	// Left returns how many calls that were under way the other side has seen
	// the caller abandon. Nil: unknown.
	Left func() int
}

// Backend is one implementation of providers.Model.
type Backend struct {
	// Open makes a model that answers every call with r. It cleans up with
	// t.Cleanup. The model is used by several goroutines at once.
	Open func(t *testing.T, r Reply) Rig

	// Unscripted means that Open ignores r, since the model has its own
	// replies. Only what holds for every reply is then checked.
	Unscripted bool

	Thoughts bool             // separates thought from text
	Usage    bool             // reports Usage.Prompt and Usage.Output
	OnePiece bool             // the reply comes as one chunk: nobody can leave in the middle of it
	NoSeed   bool             // takes no seed: a request with one is a BadRequest and is not sent
	Patience time.Duration    // bounds each wait; 0 is a minute
	Fails    []providers.Kind // the failures it can show before a reply begins
	Breaks   []providers.Kind // the failures it can show in the middle of one
}

// Run runs the suite as subtests of t.
func Run(t *testing.T, b Backend) {
	t.Helper()
	if b.Open == nil {
		t.Fatal("providerstest: the backend has no Open")
	}
	if b.Patience == 0 {
		b.Patience = time.Minute
	}
	t.Run("contract", func(t *testing.T) { contract(t, b) })
	t.Run("cancel", func(t *testing.T) { cancellation(t, b) })
	if b.Unscripted {
		return
	}
	t.Run("reply", func(t *testing.T) { replies(t, b) })
	t.Run("failure", func(t *testing.T) { failures(t, b) })
	t.Run("hang", func(t *testing.T) { hangs(t, b) })
	t.Run("request", func(t *testing.T) { requests(t, b) })
}
