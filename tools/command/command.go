package command

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxLine is how long a line may be to be understood, in bytes. What somebody
// would type is shorter, and the parser's stack is bounded by it.
const maxLine = 32 << 10

// maxCalls is how many commands a line may hold: nobody reads more of them in a
// question, and each may read for a while.
const maxCalls = 50

// Place is where a command line would run.
type Place struct {
	Root string   // the workspace, absolute
	Dir  string   // the working directory, absolute, in Root; "": Root
	Env  []string // the environment, as os.Environ has it
}

// Analysis is what a command line would do.
type Analysis struct {
	OnlyReads bool   // it changes nothing and reads nothing outside the workspace
	Leaves    bool   // it would only read, but outside the workspace
	Why       string // why it does not only read, for a person; "" if it does

	// Plain tells that nothing but Calls would happen.
	Plain bool
	// Calls are the simple commands in their order, if the line is plain.
	Calls []Call
	// Seen are all commands that can be seen in the line, also in what is not
	// plain. A redirect is seen as the call of ">" or "<" with the file.
	// Variables stand in the words as $NAME.
	Seen []Call
	// Bomb tells that a function of the line starts itself again and again.
	Bomb bool
	// Lost tells that the line holds more commands than were looked at.
	Lost bool
}

// Call is one simple command.
type Call struct {
	Words     []string // the program and its arguments, without quotes
	OnlyReads bool
	Leaves    bool   // it would only read, but outside the workspace
	Outside   bool   // a word or a redirect names something outside the workspace, or in .git
	Why       string // why it does not only read
	Starts    bool   // of what is seen: its later words may be a command, for it is not known what it does with them

	odd bool // which program it starts is not certain
	fed bool // something is piped or redirected into it
}

// Analyse tells what a line would do at a place. It looks at files there, and
// changes nothing. It may be called from several goroutines at once.
func Analyse(line string, at Place) Analysis {
	at = at.clean()
	var a Analysis
	l := look(line)
	a.Seen, a.Bomb, a.Lost = l.seen, l.bomb, l.lost
	calls, why := understand(line, at)
	if why != "" {
		a.Why = why
		return a
	}
	a.Plain, a.Calls = true, calls
	a.OnlyReads = true
	for i := range calls {
		c := &calls[i]
		a.OnlyReads = a.OnlyReads && c.OnlyReads
	}
	if !a.OnlyReads {
		a.Leaves, a.Why = summary(calls)
	}
	return a
}

// summary is the reason of the first call that may do more than read, or else of
// the first that leaves the workspace.
func summary(calls []Call) (leaves bool, why string) {
	for _, c := range calls {
		if !c.OnlyReads && !c.Leaves {
			return false, c.Why
		}
	}
	i := slices.IndexFunc(calls, func(c Call) bool { return c.Leaves })
	return true, calls[i].Why
}

// understand reads the line as both shells do. why is what it is not understood
// for.
func understand(line string, at Place) (calls []Call, why string) {
	if why := suspicious(line); why != "" {
		return nil, why
	}
	var posix, bash reading
	for lang, r := range map[syntax.LangVariant]*reading{syntax.LangPOSIX: &posix, syntax.LangBash: &bash} {
		file, err := parse(line, lang)
		if err != nil {
			return nil, "it cannot be read as a command line: " + reason(err)
		}
		r.stmts(file.Stmts)
	}
	switch {
	case posix.why != "":
		return nil, posix.why
	case bash.why != "":
		return nil, bash.why
	case !slices.EqualFunc(posix.calls, bash.calls, same) || !same(posix.dir, bash.dir):
		return nil, "sh and bash read it in different ways"
	case len(posix.calls) == 0:
		return nil, "it is empty"
	case len(posix.calls) > maxCalls:
		return nil, fmt.Sprintf("it holds more than %d commands", maxCalls)
	}
	if posix.dir != nil {
		var o objection
		if at, o = at.enter(posix.dir); o.why != "" {
			return nil, o.why
		}
	}
	for i, words := range posix.calls {
		c := judge(words, at)
		c.fed = posix.fed[i]
		calls = append(calls, c)
	}
	for _, file := range posix.inputs {
		calls[0].object(at.input(file)) // whichever reads it: one is enough to ask
	}
	return calls, ""
}

// enter is the place that a cd in front of everything leads to. The shell goes by names where
// files go by links, so that .. is not followed.
func (at Place) enter(cd []word) (Place, objection) {
	if _, set := at.variable("CDPATH"); set {
		return at, objection{why: "CDPATH is set, so that cd may lead elsewhere"}
	}
	if o := at.program(cd[0]); o.why != "" {
		return at, o
	}
	if slices.Contains(strings.Split(cd[1].text, "/"), "..") {
		return at, leaves("cd " + cd[1].text)
	}
	return at.in(cd[1])
}

func same(a, b []word) bool { return slices.Equal(a, b) }

func parse(line string, lang syntax.LangVariant) (*syntax.File, error) {
	return syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(line), "")
}

// reason is a parser's error without its position, which counts lines from 1 and
// says nothing about a line.
func reason(err error) string {
	text := err.Error()
	if _, after, ok := strings.Cut(text, ": "); ok {
		text = after
	}
	return text
}

// objection is why something is not only read.
type objection struct {
	why    string // "": nothing is wrong
	leaves bool   // all that is wrong is that it lies outside the workspace
}

// object notes an objection. What lies outside counts less than what may change
// something.
func (c *Call) object(o objection) {
	if o.why == "" {
		return
	}
	if c.OnlyReads || c.Leaves && !o.leaves {
		c.Why = o.why
	}
	c.Leaves = o.leaves && (c.OnlyReads || c.Leaves)
	c.OnlyReads = false
	c.Outside = c.Outside || o.leaves
}

// judge tells whether one call only reads.
func judge(words []word, at Place) Call {
	c := Call{OnlyReads: true}
	for _, w := range words {
		c.Words = append(c.Words, w.text)
	}
	c.object(at.program(words[0]))
	c.odd = !c.OnlyReads
	if !at.within(at.Dir) {
		c.object(leaves("the working directory"))
	}
	if c.OnlyReads || c.Leaves {
		c.object(known(words[0].text, words[1:], at))
	}
	for _, w := range words[1:] {
		switch {
		case w.tilde:
			c.object(leaves(w.text))
		case w.glob: // whatever the program takes it for
			c.object(at.glob(w))
		}
		c.Outside = c.Outside || at.outside(w)
	}
	return c
}
