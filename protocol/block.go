package protocol

// blockScan finds the end of a call's block as it arrives. It looks at every
// byte once and keeps only offsets: the block itself is read when it is whole.
type blockScan struct {
	pos   int // next byte to look at
	start int // of the JSON value; 0: none yet
	end   int // after the JSON value; 0: not there yet
	depth int // open braces and brackets
	str   bool
	esc   bool
}

type blockState uint8

const (
	blockOpen   blockState = iota // more to come
	blockClosed                   // ended by its closing tag
	blockEnded                    // ended by what can only come after it
)

// scan goes on in buf, which starts with the opening tag, and returns where
// the block ends once that is known.
func (b *blockScan) scan(buf []byte) (end int, state blockState) {
	for b.pos < len(buf) {
		c := buf[b.pos]
		switch {
		case b.str:
			b.inString(c)
			b.pos++
		case c == '<':
			t, n, more := matchTag(string(buf[b.pos:min(len(buf), b.pos+maxTag+1)]))
			if more {
				return 0, blockOpen
			}
			switch t {
			case toolClose:
				return b.pos + n, blockClosed
			case observationOpen, toolOpen:
				return b.pos, blockEnded
			case paramsClose:
				b.depth = 0 // a value that is still open here is broken
			}
			b.pos += max(n, 1)
		case b.depth > 0:
			b.inJSON(c)
			b.pos++
		default:
			if b.start == 0 && (c == '{' || c == '[') {
				b.start, b.depth = b.pos, 1
			}
			b.pos++
		}
	}
	return 0, blockOpen
}

func (b *blockScan) inString(c byte) {
	switch {
	case b.esc:
		b.esc = false
	case c == '\\':
		b.esc = true
	case c == '"':
		b.str = false
	}
}

func (b *blockScan) inJSON(c byte) {
	switch c {
	case '"':
		b.str = true
	case '{', '[':
		b.depth++
	case '}', ']':
		if b.depth--; b.depth == 0 {
			b.end = b.pos + 1
		}
	}
}
