package command

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The parts of an awk program that are known to do no more than print. A pattern in slashes is
// known at the begin alone: elsewhere a slash may divide.
var (
	awkPattern = late(`^\s*!?/[^/\\"{}\[\]\n]*/`)
	awkString  = late(`"([^"\\\n]|\\[ntr"\\])*"`)
	awkWord    = late(`[A-Za-z_][A-Za-z0-9_]*`)
	awkRest    = late(`^[A-Za-z0-9_$(),;{}+\-*%=!<>&|~?:. \t]*$`)
)

// awkFields is an assignment to a field or to their number, which makes as many as it says.
var awkFields = late(`(\$[^=;{}]*|\bNF\s*[-+*/%]?)=[^=]|\bNF\s*(\+\+|--)|(\+\+|--)\s*(NF|\$)`)

// What fills the memory: a format that is not written out, a text that is made of itself, a field with a large number. Of each the
// first pattern is what it looks like, and the second what is known to be harmless. Texts stand in it as "".
var awkGrowing = [][2]func() *regexp.Regexp{
	{late(`printf\b`), late(`\bs?printf[ \t]*\(?[ \t]*""[ \t]*([,;})]|$)`)},
	{late(`(^|[^=!<>+\-*%])=([^=]|$)`), late(`[^=!<>+\-*%]=[ \t]*(""|[0-9.]+|\$[0-9]+|\$?NF|F?NR)[ \t]*([;})]|$)`)},
	{late(`\$`), late(`\$([0-9]{1,5}\b|NF\b|\( *NF *- *[0-9]+ *\))`)},
}

// awkWide is a width in a format, as a number or as the next argument.
var awkWide = late(`%[^%]*([0-9]{6}|\*)`)

// grows reports whether a program may make something of any size.
func grows(program string) bool {
	if slices.ContainsFunc(awkString().FindAllString(program, -1), awkWide().MatchString) {
		return true
	}
	rest := awkString().ReplaceAllString(program, `""`)
	return slices.ContainsFunc(awkGrowing, func(g [2]func() *regexp.Regexp) bool {
		return len(g[0]().FindAllString(rest, -1)) != len(g[1]().FindAllString(rest, -1))
	})
}

// awkWords are those of the language that neither start, open nor repeat
// anything, and the usual names of sums. ARGV and ENVIRON reach further.
var awkWords = strings.Fields("print printf NF NR FNR FS OFS ORS BEGIN END FILENAME length substr toupper tolower index sprintf int if else next n s c i sum total count max min")

// prints lets awk run programs that only print what they read.
func prints(c *parsed, _ Place) objection {
	if len(c.operands) == 0 || c.operands[0].glob || !onlyPrints(c.operands[0].text) {
		return objection{why: "awk is only known to read when its program does nothing but print"}
	}
	for _, w := range c.operands[1:] {
		if strings.Contains(w.text, "=") {
			return objection{why: fmt.Sprintf("awk takes %s for a variable", quotedName(w.text))}
		}
	}
	return objection{}
}

func onlyPrints(program string) bool {
	program = awkPattern().ReplaceAllString(program, "")
	rest := awkString().ReplaceAllString(program, " 0 ")
	if grows(program) || !awkRest().MatchString(rest) || strings.ContainsAny(strings.NewReplacer("||", "", "&&", "").Replace(rest), "|&") {
		return false
	}
	if awkFields().MatchString(rest) {
		return false
	}
	depth := 0
	for _, r := range rest {
		switch r {
		case '{':
			depth++
		case '}':
			depth--
		case '>':
			if depth > 0 { // where print writes to files; a pattern compares
				return false
			}
		}
		if depth < 0 {
			return false
		}
	}
	return depth == 0 && !slices.ContainsFunc(awkWord().FindAllString(rest, -1), func(w string) bool { return !slices.Contains(awkWords, w) })
}
