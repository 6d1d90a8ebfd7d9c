package demo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// rule is one kind of goal.
type rule struct {
	example string                           // for the list of what the demo supports
	form    *regexp.Regexp                   // of a whole goal in one line
	answer  func(t *turn, m []string) string // a final answer, or a call; m are the groups that took part
}

// rules are tried in order. Programs that ask another model do not pay for them.
var rules = sync.OnceValue(func() []rule {
	const path = "@?(`[^`]+`|\"[^\"]+\"|'[^']+'|[^\\s@-]\\S*)"
	form := func(expr string) *regexp.Regexp { return regexp.MustCompile(`(?is)^(?:` + expr + `)$`) }
	return []rule{
		{"what is 12 * (3.5 + 4) / 7?", form(`(?:what(?:'s| is) |calculate )?([-+*/().\d\s]*\d\s*[-+*/][-+*/().\d\s]*)=?`),
			answerSum},
		{"run `go version`", form("(?:run|execute) (?:the command )?(?:`([^`]+)`|([^`]+))"), runCommand},
		{"what files are here?", form(`(?:what|which) files are (?:here|there)|what(?:'s| is) (?:here|in this (?:directory|` +
			`folder))|(?:list|show)(?: me)?(?: all)?(?: the)? files(?: here)?|ls`), listFiles},
		{"list the files in docs", form(`(?:list|show)(?: me)?(?: all)?(?: the)? files (?:in|of|under) ` + path +
			`|(?:what|which) files are in ` + path + `|ls ` + path), listFiles},
		{"which of these files is the largest?", form(`(?:and )?(?:which|what)?.*?\b(second largest|largest|biggest|smallest)\b.*?(?: in ` +
			path + `)?`), compareSizes},
		{"how many files are here?", form(`(how many|count)(?: the)? files(?: are)?(?: there)?(?: here| in ` + path + `)?`), compareSizes},
		{"what is this project about?", form(`what(?:'s| is) this (?:project|directory|repository) about|what does this project do|` +
			`describe this project`), describeProject},
		{"write a commit message", form(`write (?:a|the) commit message(?: for)?(?: this| it)?(?: @\S+)?`), commitMessage},
		{"what does this do?", form(`what does (?:this|it|@\S+) do|(?:explain|summarize|describe) (?:this|it|@\S+)(?: file| text)?|` +
			`(?:what|is|does)\b.* (?:this|it)\b.* @\S+|@\S+(?: .*)?`), describeAttachment},
		{"count the lines of README.md", form(`(?:count(?: the)? lines (?:of|in)|how many lines (?:does|are in|has)) ` +
			path + `(?: have)?`), countLines},
		{"what is in README.md?", form(`(?:what(?:'s| is) in|read|show(?: me)?|print|cat|open) (?:the file )?` + path),
			readFile},
		{"remember that the staging host is called heron", form(`remember(?: that)? (.+)`), keepNote},
		{"which host is staging?", form(`(?:who|what|which|where|when|how|why|whose)\b.+`), lookBack},
	}
})

// expression is compiled when it is first used. Its declaration runs no code.
type expression struct {
	text     string
	once     sync.Once
	compiled *regexp.Regexp
}

func (e *expression) get() *regexp.Regexp {
	e.once.Do(func() { e.compiled = regexp.MustCompile(e.text) })
	return e.compiled
}

// match returns the first rule that fits a goal, with the groups that took part.
func match(goal string) (*rule, []string) {
	if len(goal) > longestGoal {
		return nil, nil
	}
	goal = strings.Join(strings.Fields(goal), " ")
	for _, r := range rules() {
		if m := r.form.FindStringSubmatch(goal); m != nil {
			var groups []string
			for _, g := range m[1:] {
				if g != "" {
					groups = append(groups, unquote(g))
				}
			}
			return &r, groups
		}
	}
	return nil, nil
}

func unquote(s string) string {
	if len(s) >= 2 && s[0] == s[len(s)-1] && strings.IndexByte("`\"'", s[0]) >= 0 {
		return s[1 : len(s)-1]
	}
	return s
}

var (
	courtesy = expression{text: `(?i)^(?:(?:please|could you|can you|would you|tell me)\b,?\s+)+`}
	ending   = expression{text: "(?i)(?:[\\s,]+please)?(?:\\s*[?!]+|([\\w)`\"'])\\.)?$"}
)

// tidy takes from a goal what does not change its meaning.
func tidy(text string) string {
	text = courtesy.get().ReplaceAllString(strings.TrimSpace(text), "")
	return strings.TrimSpace(ending.get().ReplaceAllString(text, "$1"))
}

const (
	whoIAm = "I am mylm's demo responder, not a language model: a short list of rules that shows how mylm works. "

	// realModel names a model that follows instructions well and fits into the
	// memory of most machines.
	realModel = "For a real model, install Ollama (https://ollama.com/download) and let it fetch one:\n\n" +
		"    ollama pull qwen3:8b\n"
)

// IsHelp reports whether a reply lists what the demo supports, because no rule
// matched or nothing was remembered: it answers nothing, and is not worth remembering.
func IsHelp(reply string) bool { return strings.Contains(reply, whoIAm+noRule) }

const noRule = "I have no rule for what you asked.\n"

// unknown is the answer to a goal that no rule fits.
func unknown() string {
	var b strings.Builder
	b.WriteString(whoIAm + noRule + "\nThings that I understand:\n\n")
	for _, r := range rules() {
		fmt.Fprintf(&b, "- %s\n", r.example)
	}
	return b.String() + "\n" + realModel
}

func runCommand(t *turn, m []string) string {
	body, reply := t.use("I will run that.", "run `"+m[0]+"`", "execute_command", map[string]any{"command": m[0]})
	if reply != "" {
		return reply
	}
	return fmt.Sprintf("`%s` printed:\n\n%s", m[0], show(strings.TrimSpace(body), "That is all of it."))
}

// keepNote stores a sentence.
func keepNote(t *turn, m []string) string {
	body, reply := t.use("I will keep that in mind.", "remember that", "remember", map[string]any{"text": m[0]})
	if strings.HasPrefix(body, "Dry run:") {
		return "This is a dry run: nothing was remembered."
	}
	return cmp.Or(reply, "I will remember that "+m[0]+".")
}

// lookBack answers a question from what was remembered.
func lookBack(t *turn, _ []string) string {
	if !t.has("search_memory") {
		return t.help
	}
	body, reply := t.use("I will look for that in the memory.", "search the memory", "search_memory",
		map[string]any{"query": t.goal})
	if reply != "" {
		return reply
	}
	if day, text := remembered(body, topics(t.goal)); text != "" {
		return fmt.Sprintf(fromMemory+"%s): %s", day, text)
	}
	return "I remember nothing about that.\n\n" + t.help
}

var memoryHead = expression{text: `^\[\S+ \| (\d{4}-\d{2}-\d{2})[^|]*\|(?:.*\| )?([^|\]]+)\]$`}

const fromMemory = "From memory ("

// remembered returns the best memory with content: a note rather than what was
// said, nothing that only asks or repeats a memory, and nothing that lacks a topic.
// A memory is a head at the margin with its text indented below it.
func remembered(body string, topics []string) (day, text string) {
	type memory struct{ day, who, text string }
	var all []memory
	for line := range strings.Lines(body) {
		line = strings.TrimRight(line, "\r\n")
		if m := memoryHead.get().FindStringSubmatch(line); m != nil {
			all = append(all, memory{day: m[1], who: strings.TrimSpace(m[2])})
		} else if part, indented := strings.CutPrefix(line, "  "); indented && len(all) > 0 {
			last := &all[len(all)-1]
			last.text = strings.TrimSpace(last.text + " " + part)
		}
	}
	for _, m := range all {
		about := words(m.text)
		switch {
		case slices.ContainsFunc(topics, func(w string) bool { return !slices.Contains(about, w) }):
		case m.who == "note":
			return m.day, m.text
		case text == "" && m.who != "tool" && !strings.HasSuffix(m.text, "?") && !strings.HasPrefix(m.text, fromMemory):
			day, text = m.day, m.text
		}
	}
	return day, text
}

// formWords make a question, and are not what it is about.
var formWords = expression{text: `^(?:who|what|which|where|when|how|why|whose|i|am|are|wa|were|do|doe|did|can|could|should|` +
	`the|an?|of|for|to|in|on|at|by|with|about|and|my|our|your|we|you|me|it|call|called|name|named|again|say|said|tell|told|)$`}

// topics are the words of a question that its answer has too.
func topics(question string) []string {
	return slices.DeleteFunc(words(question), formWords.get().MatchString)
}

// words are the words of a text, in lower case and without an s at their end.
func words(text string) []string {
	all := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i := range all {
		all[i] = strings.TrimSuffix(all[i], "s")
	}
	return all
}

// A prompt about a plan asks for JSON, and shows the form. The demo goes by
// that.
var planForms = []struct {
	mark   string
	answer func(t *turn) string
}{
	{`{"tasks":`, makePlan},
	{`"selected_task_id":`, chooseTask},
	{`{"success":`, judgeTask},
	{`{"progress":`, func(*turn) string { return `{"progress": "The plan holds."}` }},
}

// aboutPlan answers a prompt about a plan; ok is false if it is none.
func (t *turn) aboutPlan() (reply string, ok bool) {
	if !strings.Contains(t.system, "Reply with one JSON object and nothing else:") {
		return "", false
	}
	for _, f := range planForms {
		if strings.Contains(t.system, f.mark) {
			return f.answer(t), true
		}
	}
	return "", false
}

var (
	goalLine  = expression{text: `(?s)^Goal: (.*?)(?:\n\n|$)`}
	afterThat = expression{text: `(?i)[\s,;.]*\b(?:and\s+)?then\b,?\s+|\s*\n\s*`}
	readyLine = expression{text: `(?m)^Ready:\n- (.+)$`}
	cannot    = expression{text: "(?s)^(?:I could not |I cannot |For that I would need |I am mylm's demo responder.*I have no rule)"}
	taskLine  = expression{text: `(?s)\nIt ended as: (\w+)\nResult:\n(.*)$`}
)

type planned struct {
	ID           string   `json:"id"`
	Description  string   `json:"description"`
	Dependencies []string `json:"dependencies"`
}

// makePlan makes a task of every part of the goal that a "then" divides. Each
// waits for the one before.
func makePlan(t *turn) string {
	goal := t.last
	if m := goalLine.get().FindStringSubmatch(t.last); m != nil {
		goal = m[1]
	}
	tasks, before := []planned{}, []string{}
	for _, part := range afterThat.get().Split(strings.TrimSpace(goal), -1) {
		if part = strings.TrimSpace(part); tidy(part) == "" {
			continue
		}
		id := fmt.Sprintf("t%d", len(tasks)+1)
		tasks, before = append(tasks, planned{id, part, before}), []string{id}
	}
	b, _ := json.Marshal(map[string]any{"tasks": tasks}) // strings
	return string(b)
}

func chooseTask(t *turn) string {
	id := ""
	if m := readyLine.get().FindStringSubmatch(t.last); m != nil {
		id = m[1]
	}
	b, _ := json.Marshal(map[string]string{"thought": "The first one that is ready.", "selected_task_id": id, "rationale": "It waits for nothing."})
	return string(b)
}

// judgeTask recognizes what the demo replies when it cannot do something.
func judgeTask(t *turn) string {
	m := taskLine.get().FindStringSubmatch(t.last)
	success := m != nil && m[1] == "completed" && !cannot.get().MatchString(m[2])
	answer := map[string]any{"success": success, "progress": "One task less."}
	if !success {
		answer["reason"], answer["progress"] = "the demo's rules cannot do this", "This task is not done."
	}
	b, _ := json.Marshal(answer)
	return string(b)
}
