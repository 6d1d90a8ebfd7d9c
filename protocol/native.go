package protocol

// native is the dialect of a call that the server's own parser took out of the
// reply's text: a name, and the text of its arguments.
var native = &dialect{name: "native", read: (*resolver).nativeArguments}

// PushCall takes a call that the server took out of the text at this place of
// the reply. Like Push it returns what is certain now, and the reply is
// decided: a whole call that the text holds before it wins.
func (d *Decoder) PushCall(name, args string) []Part {
	d.parts = d.parts[:0]
	decided := d.mode == done
	for d.mode == inHeld {
		d.push(d.decide(End))
	}
	if n := len(d.parts); !decided && d.mode == done && d.parts[n-1].Kind == Malformed && d.parts[n-1].Err.Reason == Truncated {
		d.parts, d.mode = d.parts[:n-1], inText // the beginning of the call that the server read
	}
	pend := d.pend
	d.pend = ""
	switch d.mode {
	case done:
		d.droppedCall = true
	case inThought:
		d.emitThought(pend)
		d.native(name, args)
	case inAnswer, afterward: // A6: a server's call
		d.emit(pend)
		d.fail(&FormatError{Reason: CallAfterAnswer, Offset: d.off, Tool: tidyName(name), Raw: EncodeCall(name, []byte(args))})
	default:
		d.emit(pend)
		d.native(name, args)
	}
	return d.parts
}

// native reads a call of the server's.
func (d *Decoder) native(name, args string) {
	raw := EncodeCall(name, []byte(args))
	if len(args) > d.opts.MaxArgs { // L1: of a server's call
		d.failBehind(&FormatError{Reason: TooLarge, Offset: d.off, Detail: "the call is longer than the limit", Tool: tidyName(name), Raw: raw[:d.opts.MaxArgs]})
		return
	}
	x := &resolver{d: d, dialect: native, cursor: cursor{src: args}, name: name}
	call, err := x.call()
	d.finish(x.name, call, err, raw)
}

// nativeArguments reads the arguments of such a call. Servers send nothing, or
// null, for none.
func (x *resolver) nativeArguments() {
	x.blank()
	switch rest := x.rest(); {
	case rest == "", trimSpace(rest) == "null":
		x.args = []byte("{}")
	case rest[0] == '{':
		x.object()
	default:
		x.fail(NotObject, "the arguments must be one JSON object")
	}
}
