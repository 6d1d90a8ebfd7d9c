package demo

import (
	"fmt"
	"strings"
)

var (
	aboutForms = []string{
		`(?:what(?:'s| is| does) )?(?:describe |explain |summari[sz]e |about )?(?:this|the|my)(?: current| whole)? (?:project|directory|folder|repository|repo|code|codebase|workspace|program|package)(?: is| do| does| about| all| for| good| here)*`,
		`what(?:'s| is) (?:here|this|it) (?:all )?about`,
	}
	toolForms = []string{
		`(?:which|what|list|show)(?: me)?(?: of)?(?: the| your| all)*(?: available)? tools?(?: do you have| are there| are available| have you(?: got)?| can you use| you have| there are)?`,
		`(?:do you have|have you got)(?: any)? tools`,
	}
	identityForms = []string{
		`(?:who|what) (?:are|r) (?:you|u)(?: really| exactly)?`,
		`(?:what|which)(?: kind of)?(?: language)? (?:model|llm|ai) (?:are you|is this|am i (?:talking|speaking) (?:to|with)|do you use)`,
		`are you\b.*\b(?:model|llm|ai|a\.i|gpt|chatgpt|claude|llama|real|human|bot|robot|person|intelligent|intelligence|demo)`,
		`(?:introduce|explain|describe) yourself|(?:what(?:'s| is) )?your name`,
	}
	helpForms = []string{
		`help(?: me)?|usage|commands|what (?:can|do) you (?:do|know)|how can you help(?: me)?|what are you (?:able to do|good for|capable of)|what can i ask(?: you)?`,
		`hi|hello|hey|hi there|hello there|good (?:morning|day|afternoon|evening)`,
	}
	readme   = lazy(`(?i)^readme(?:\.(?:md|markdown|txt|rst|org))?$`)
	markup   = lazy("^(?:[!<`|=>~:.]|\\[!|[-*+] |-{3}|\\*{3})") // of a line that is no prose
	moduleIs = lazy(`(?m)^module\s+(\S+)`)
	goIs     = lazy(`(?m)^go\s+(\S+)`)
)

const (
	whoIAm = "I am mylm's demo responder, not a language model: a short list of rules that shows how mylm works. "

	// realModel names a model that follows instructions well and fits into the
	// memory of most machines.
	realModel = "For a real model, install Ollama and let it fetch one:\n\n" +
		"    curl -fsSL https://ollama.com/install.sh | sh\n" +
		"    ollama pull qwen3:8b\n" +
		"    ollama run qwen3:8b"
)

func abilities() string {
	var b strings.Builder
	b.WriteString("Things that I understand:\n\n")
	for _, i := range intents {
		if i.example != "" {
			fmt.Fprintf(&b, "- %s\n", i.example)
		}
	}
	return b.String()
}

func unknown() string {
	return whoIAm + "I have no rule for what you asked.\n\n" + abilities() + "\n" + realModel
}

func tellHelp(*turn, []string) string {
	return strings.TrimSpace(whoIAm) + "\n\n" + abilities() + "\n" + realModel
}

func tellIdentity(t *turn, _ []string) string {
	return whoIAm + "What I say comes from fixed rules and from what the tools really return; I understand nothing else. " +
		t.toolSentence() + " Ask me for help to see what I can do.\n\n" + realModel
}

func tellTools(t *turn, _ []string) string {
	if len(t.tools) == 0 {
		return "I have no tools here: none are offered."
	}
	return fmt.Sprintf("I have %s here: %s.", plural(len(t.tools), "tool"), strings.Join(t.tools, ", "))
}

// tellAbout looks at the directory, then reads what should describe it.
func tellAbout(t *turn, _ []string) string {
	l, reply := t.look(".")
	if reply != "" {
		return reply
	}
	name := l.describer()
	if name == "" {
		return "I found no README and no go.mod that would say what this is about. " + l.sentence(".")
	}
	if t.next == len(t.seen) && !t.has("read_file") {
		return fmt.Sprintf("%s would say what this is about, but read_file is not offered. %s", name, l.sentence("."))
	}
	c, reply := t.fetch(name, map[string]any{})
	switch {
	case reply != "":
		return reply
	case c.described():
		return c.description() + " " + l.sentence(".")
	case name == "go.mod":
		return aboutModule(c.text) + " " + l.sentence(".")
	}
	title, says := gist(c.text)
	switch {
	case title == "" && says == "":
		return fmt.Sprintf("%s has %s, but no text that says what this is. %s", name, c.size(), l.sentence("."))
	case says == "":
		return fmt.Sprintf("%s calls this %q and says no more in its beginning. %s", name, title, l.sentence("."))
	case title == "":
		return fmt.Sprintf("According to %s: %s", name, says)
	}
	return fmt.Sprintf("This is %s. According to %s: %s", title, name, says)
}

// describer is the file that should say what a directory is about.
func (l listing) describer() string {
	found := ""
	for _, f := range l.files {
		if readme().MatchString(f) {
			return f
		}
		if f == "go.mod" {
			found = f
		}
	}
	return found
}

func aboutModule(text string) string {
	m := moduleIs().FindStringSubmatch(text)
	if m == nil {
		return "There is a go.mod, but it names no module."
	}
	about := "There is no README; go.mod says that this is the Go module " + m[1]
	if g := goIs().FindStringSubmatch(text); g != nil {
		about += ", for Go " + g[1]
	}
	return about + "."
}

// gist returns the first heading of a README and the first two sentences of
// the first paragraph that is prose.
func gist(text string) (title, says string) {
	var paragraph []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
			if title == "" {
				title = strings.TrimSpace(strings.Trim(line, "#"))
			}
		case len(paragraph) == 1 && title == "" && strings.Trim(line, "=") == "" && line != "":
			title, paragraph = paragraph[0], nil // an underlined heading
			continue
		case line != "" && !markup().MatchString(line):
			paragraph = append(paragraph, line)
			continue
		}
		if len(paragraph) > 0 {
			break
		}
	}
	return title, sentences(strings.Join(paragraph, " "), 2)
}

// sentences returns the first n sentences of a text, at most 400 characters.
func sentences(text string, n int) string {
	const most = 400
	for i := 0; i < len(text); i++ {
		if strings.IndexByte(".!?", text[i]) >= 0 && (i+1 == len(text) || text[i+1] == ' ') {
			if n--; n == 0 {
				text = text[:i+1]
			}
		}
	}
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + " …"
	}
	return text
}
