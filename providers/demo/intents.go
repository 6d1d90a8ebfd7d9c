package demo

import (
	"regexp"
	"strings"
	"sync"
)

// intent is one kind of goal.
type intent struct {
	example string                           // for help; "" is not listed
	match   func(goal string) []string       // nil: not this one; else what answer needs
	answer  func(t *turn, m []string) string // a final answer, or a call
}

// intents are tried in order. A kind of goal is added by adding an entry.
var intents []intent

func init() { // not a literal: help lists the table that it is part of
	intents = []intent{
		{"run `go version`", matchCommand, runCommand},
		{"what day is it?", patterns(todayForms), tellToday},
		{"what day was 2024-02-29?", patterns(weekdayForms), tellWeekday},
		{"how many days between 2026-01-01 and 2026-12-25?", patterns(betweenForms), tellBetween},
		{"what is 12 * (3.5 + 4) / 7?", matchSum, tellSum},
		{"which tools do you have?", patterns(toolForms), tellTools},
		{"who are you?", patterns(identityForms), tellIdentity},
		{"", patterns(helpForms), tellHelp},
		{"how many lines does go.mod have?", patterns(lineCountForms), countLines},
		{"first 5 lines of README.md", patterns(partForms), readPart},
		{"how many files are here?", patterns(countForms), countFiles},
		{"list files in cmd", patterns(listForms), listFiles},
		{"what is this project about?", patterns(aboutForms), tellAbout},
		{"remember that the staging host is called heron", patterns(rememberForms), keepNote},
		{"what is in README.md?", matchRead, readFile},
		{"which host is staging?", patterns(recallForms), lookBack},
	}
}

// lazy compiles an expression when it is first used: whoever asks another model
// does not wait for the demo's rules.
func lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// patterns matches a goal that one of the patterns fits. What answer gets are
// the groups that took part, quotes removed, without the whole match.
func patterns(forms []string) func(string) []string {
	compiled := make([]func() *regexp.Regexp, len(forms))
	for i, f := range forms {
		compiled[i] = lazy(`(?is)^(?:` + f + `)$`)
	}
	return func(goal string) []string {
		goal = strings.Join(strings.Fields(goal), " ")
		for _, re := range compiled {
			if m := re().FindStringSubmatch(goal); m != nil {
				return groups(m)
			}
		}
		return nil
	}
}

func groups(m []string) []string {
	out := []string{} // not nil: it matched
	for _, g := range m[1:] {
		if g != "" {
			out = append(out, unquote(g))
		}
	}
	return out
}

func unquote(s string) string {
	if len(s) >= 2 && s[0] == s[len(s)-1] && strings.IndexByte("`\"'", s[0]) >= 0 {
		return s[1 : len(s)-1]
	}
	return s
}

var (
	courtesy = lazy(`(?i)^(?:(?:please|hey|hi|hello|okay|ok|now|then|so|and|could you|can you|would you|will you|` +
		`i want you to|i'd like you to|i want to know|i would like to know|do you know|tell me|just|mylm)\b[,!.:]?\s+)+`)
	thanks  = lazy(`(?i)(?:[\s,]+(?:please|thanks|thank you|for me))+[\s?!.]*$`)
	asking  = lazy(`\s*[?!]+$`)
	fullEnd = lazy("([\\w)`\"'])\\.$")
)

// tidy takes from what the user said what does not change its meaning. A full
// stop after a space or another one is a path.
func tidy(text string) string {
	text = courtesy().ReplaceAllString(strings.TrimSpace(text), "")
	text = thanks().ReplaceAllString(text, "")
	text = asking().ReplaceAllString(text, "")
	text = fullEnd().ReplaceAllString(text, "$1")
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return strings.ReplaceAll(text, "’", "'")
}

// Parts of patterns.
const (
	path  = "(`[^`]+`|\"[^\"]+\"|'[^']+'|[^\\s-]\\S*)"
	here  = `(?:here|there|(?:in |of )?(?:this|the|my)(?: current| working)?(?: directory| folder| workspace| repository| repo| project))`
	where = `(?: ` + here + `| (?:in|of|under|inside|from|at) (?:the )?(?:directory |folder )?` + path + `(?: directory| folder)?)?`
)
