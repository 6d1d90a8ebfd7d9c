package command

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// What only reads may still fill the memory: by a width that blanks are made for, or a pattern that is written out as
// often as it says.

// wide is a number that is no width that anybody prints with.
var wide = late(`[0-9]{6}`)

// wideFormat is one in a format of printf, date or git.
var wideFormat = late(`%[^%]*[0-9]{6}`)

// wrapFormat is git's for lines with an indent, which it puts in front of each one.
var wrapFormat = late(`%[-+ ]*w\(`)

// roomy refuses a word that a program makes room for.
func roomy(name string, w word, form *regexp.Regexp) objection {
	if form.MatchString(w.text) {
		return objection{why: fmt.Sprintf("%s of the width in %s may take all memory", name, quotedName(w.text))}
	}
	return objection{}
}

// repeats is a part of a pattern that says how often something comes.
var repeats = late(`\{([0-9]*),?([0-9]*)`)

// maxRepeats is how often a pattern may say that a part of it comes, parts inside others multiplied: matchers write them out.
const maxRepeats = 10_000

// searching are programs whose words are patterns of that kind.
var searching = strings.Fields("grep egrep fgrep rg git find nl awk jq")

// maxNested is how many parts of a pattern may be repeated as a whole without a number: each inside another has the
// matcher hold more at once.
const maxNested = 5

// nested are the signs + and * in a pattern that repeat a group, or what is repeated already. A \ may make them
// signs or take that away.
func nested(pattern string) (n int) {
	before := ' '
	for _, r := range strings.ReplaceAll(pattern, `\`, "") {
		if (r == '+' || r == '*') && strings.ContainsRune(")+*?}", before) {
			n++
		}
		before = r
	}
	return n
}

func explosive(name string, args []word) objection {
	for _, w := range args {
		if nested(w.text) > maxNested {
			return objection{why: fmt.Sprintf("%s with repeats in repeats (%s) may take all memory", name, quotedName(w.text))}
		}
		product := 1
		for _, m := range repeats().FindAllStringSubmatch(w.text, -1) {
			for _, number := range m[1:] {
				n, err := strconv.Atoi(number)
				if number == "" {
					continue
				}
				if product *= max(n, 1); err != nil || product > maxRepeats {
					return objection{why: fmt.Sprintf("%s with the repeats in %s may take all memory", name, quotedName(w.text))}
				}
			}
		}
	}
	return objection{}
}

// translation checks the sets of tr, which may repeat a letter.
func translation(c *parsed, _ Place) objection {
	for _, w := range c.operands {
		if o := roomy("tr", w, wide()); o.why != "" {
			return o
		}
	}
	return objection{}
}
