package scriptmodel

import (
	"fmt"
	"slices"
	"strings"
)

// jinja returns the chat template in the language of tokenizer.chat_template,
// which Ollama 0.30 and later leaves to its runner when a model comes without
// a template of the other kind.
func (m *Model) jinja() string {
	t := jinjaTemplate{system: m.needles(condSystem), count: m.needles(condCount)}
	t.declare()
	t.messages(m.Thinking)
	t.out("{%%- if add_generation_prompt -%%}{{ '%sassistant\\n' }}", startText)
	t.choose(m.Scripts)
	t.out("{%%- endif -%%}")
	return t.b.String()
}

// jinjaTemplate writes a Jinja template. ns.s0 says whether the first of
// system was found, ns.c0 how many messages hold the first of count.
type jinjaTemplate struct {
	b             strings.Builder
	system, count []string
}

func (t *jinjaTemplate) out(format string, args ...any) { fmt.Fprintf(&t.b, format, args...) }

func (t *jinjaTemplate) declare() {
	t.out("{%%- set ns = namespace(replies=0")
	for i := range t.system {
		t.out(", s%d=false", i)
	}
	for i := range t.count {
		t.out(", c%d=0", i)
	}
	t.out(") -%%}")
}

func (t *jinjaTemplate) messages(thinking bool) {
	t.out("{%%- for m in messages -%%}")
	t.out("{%%- if m['role'] == 'assistant' -%%}{%%- set ns.replies = ns.replies + 1 -%%}{%%- endif -%%}")
	for i, n := range t.system {
		t.out("{%%- if m['role'] == 'system' and %s in m['content'] -%%}{%%- set ns.s%d = true -%%}{%%- endif -%%}",
			jinjaLiteral(n), i)
	}
	for i, n := range t.count {
		t.out("{%%- if %s in m['content'] -%%}{%%- set ns.c%d = ns.c%[2]d + 1 -%%}{%%- endif -%%}", jinjaLiteral(n), i)
	}
	t.out("{{ '%s' + m['role'] + '\\n' }}", startText)
	if thinking {
		t.out("{%%- if m['reasoning_content'] -%%}{{ '<think>' + m['reasoning_content'] + '</think>' }}{%%- endif -%%}")
	}
	t.out("{{ m['content'] + '%s\\n' }}{%%- endfor -%%}", endText)
}

func (t *jinjaTemplate) choose(scripts []Script) {
	keyword := "if"
	for i, s := range scripts {
		t.out("{%%- %s true", keyword)
		for _, c := range s.When {
			t.out(" and (%s)", t.expression(c))
		}
		t.out(" -%%}{{ '%s' }}", sayToken(i))
		keyword = "elif"
	}
	if len(scripts) == 0 {
		t.out("{{ '%s' }}", sayToken(0))
		return
	}
	t.out("{%%- else -%%}{{ '%s' }}{%%- endif -%%}", sayToken(len(scripts)))
}

func (t *jinjaTemplate) expression(c Cond) string {
	var e string
	switch c.kind {
	case condLast:
		e = jinjaLiteral(c.text) + " in messages[-1]['content']"
	case condSystem:
		e = fmt.Sprintf("ns.s%d", slices.Index(t.system, c.text))
	case condCount:
		e = fmt.Sprintf("ns.c%d == %d", slices.Index(t.count, c.text), c.n)
		if c.n < 0 {
			e = fmt.Sprintf("ns.c%d > 0", slices.Index(t.count, c.text))
		}
	case condReplies:
		e = fmt.Sprintf("ns.replies == %d", c.n)
	case condThinks:
		e = "enable_thinking is not defined or enable_thinking"
	}
	if c.not {
		return "not (" + e + ")"
	}
	return e
}

func jinjaLiteral(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s) + "'"
}
