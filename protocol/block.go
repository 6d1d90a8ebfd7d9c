package protocol

// blockScan looks for the end of a block as it arrives. It takes what stands in
// the block for strict JSON and notes every tag that may end it: outside a
// value for certain, inside a string perhaps, since quotes that a model did not
// escape put the scan off. It looks at every byte once.
type blockScan struct {
	pos     int // next byte to look at
	depth   int // open braces and brackets
	str     bool
	esc     bool
	any     bool // a value or an element was seen
	byTag   bool // the end that was found is a closing tag
	inside  int  // where that tag begins: the end of what stands in the block
	held    bool // what follows decides: the end of a thought ends the block too
	tries   int  // places inside a string where an end was tried
	lastTry int
}

type blockState uint8

const (
	blockOpen   blockState = iota // more to come
	blockClosed                   // ended by its closing tag
	blockEnded                    // ended by what can only come after it
	blockMaybe                    // a tag that ends it stands inside what looks like a string
)

// maxTries bounds how often an end inside a string is tried, or an action, beside
// every time that what is held back, or the reply, has grown fourfold: the work
// stays linear.
const maxTries = 8

// scan goes on in buf and returns the next place where the block ends, or may
// end: before a tag that follows it, or behind its own.
func (b *blockScan) scan(buf string) (end int, state blockState) {
	for b.pos < len(buf) {
		if b.str && !b.esc {
			b.pos += plainString(buf[b.pos:])
			if b.pos == len(buf) {
				break
			}
		}
		c := buf[b.pos]
		if c == '<' {
			end, state, more := b.tag(buf)
			if more {
				return 0, blockOpen
			}
			if state != blockOpen {
				return end, state
			}
			continue
		}
		b.step(c)
		b.pos++
	}
	return 0, blockOpen
}

// plainString is the length of what a string holds before a byte that matters.
func plainString(s string) int {
	for i := range len(s) {
		if c := s[i]; c == '"' || c == '\\' || c == '<' {
			return i
		}
	}
	return len(s)
}

func (b *blockScan) step(c byte) {
	switch {
	case b.esc:
		b.esc = false
	case b.str && c == '\\':
		b.esc = true
	case c == '"':
		if b.depth > 0 {
			b.str = !b.str
		}
	case b.str:
	case c == '{' || c == '[':
		b.depth++
		b.any = true
	case (c == '}' || c == ']') && b.depth > 0:
		b.depth--
	}
}

// tag looks at the tag at pos, and moves past it.
func (b *blockScan) tag(buf string) (end int, state blockState, more bool) {
	m, more := matchTag(buf[b.pos:min(len(buf), b.pos+maxTag+1)])
	if more {
		return 0, blockOpen, true
	}
	at := b.pos
	b.esc = false
	b.pos += max(m.n, 1)
	switch {
	case m.tag == toolClose:
		end, state = b.pos, blockClosed
	case m.tag == toolOpen && b.any, m.tag == thinkClose && b.held && !b.str, m.tag == observationOpen, m.tag == delimiter, m.tag == control:
		end, state = at, blockEnded
	case m.tag == paramsClose && !b.str:
		b.depth = 0 // a value that is still open here is broken
		return 0, blockOpen, false
	default:
		b.any = b.any || m.tag == toolOpen || m.tag == noTag
		return 0, blockOpen, false
	}
	b.byTag, b.inside = m.tag == toolClose, at
	if b.str {
		if b.tries >= maxTries && at < 4*b.lastTry {
			return 0, blockOpen, false
		}
		b.tries, b.lastTry = b.tries+1, at
		state = blockMaybe
	}
	return end, state, false
}
