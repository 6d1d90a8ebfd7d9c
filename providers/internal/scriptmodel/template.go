package scriptmodel

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Template returns the chat template in the language of a Modelfile, "" if it
// is part of the model (Jinja). It is ChatML that ends with the control token
// of the first script whose conditions hold.
//
// Ollama's template language has neither string search nor arithmetic, only
// len, index, slice and eq. So texts are looked for byte by byte, in one pass
// over a message for all scripts together.
func (m *Model) Template() string {
	if m.Jinja {
		return ""
	}
	t := template{m: m}
	t.out("{{- $last := `` }}")
	for kind, needles := range t.found() {
		for i := range needles {
			t.out("{{ $n%d_%d := false }}", kind, i)
		}
	}
	t.out("{{ range .Messages }}{{ $last = .Content }}{{ if eq .Role `system` }}")
	t.scan(".Content", condSystem)
	t.out("{{ else if eq .Role `assistant` }}")
	t.scan(".Content", condReplied)
	t.out("{{ end }}")
	t.scan(".Content", condAny)
	t.out("%s{{ .Role }}\n", startText)
	if m.Thinking {
		t.out("{{ if .Thinking }}<think>{{ .Thinking }}</think>{{ end }}")
	}
	t.out("{{ .Content }}%s\n{{ end }}%sassistant\n", endText, startText)
	t.scan("$last", condLast)
	return t.choose(language{"{{ if false }}", "{{ else if and true", " %s", " }}", "{{ else }}", "{{ end }}", "$", "$.Think"})
}

// jinja returns the chat template in the language of tokenizer.chat_template,
// which Ollama 0.30 and later leaves to its runner when a model comes without
// a template of the other kind.
func (m *Model) jinja() string {
	t := template{m: m}
	t.out("{%%- set ns = namespace(x=0")
	for kind, needles := range t.found() {
		for i := range needles {
			t.out(", n%d_%d=false", kind, i)
		}
	}
	t.out(") -%%}{%%- for m in messages -%%}")
	where := []string{"loop.last", "m['role'] == 'system'", "true", "m['role'] == 'assistant'"} // by kind of condition
	for kind, needles := range t.found() {
		for i, n := range needles {
			t.out("{%%- if %s and %s in m['content'] -%%}{%%- set ns.n%d_%d = true -%%}{%%- endif -%%}", where[kind],
				jinjaLiteral(n), kind, i)
		}
	}
	t.out("{{ '%s' + m['role'] + '\\n' }}", startText)
	if m.Thinking {
		t.out("{%%- if m['reasoning_content'] -%%}{{ '<think>' + m['reasoning_content'] + '</think>' }}{%%- endif -%%}")
	}
	t.out("{{ m['content'] + '%s\\n' }}{%%- endfor -%%}{{ '%sassistant\\n' }}", endText, startText)
	return t.choose(language{"{%- if false -%}", "{%- elif true", " and (%s)", " -%}", "{%- else -%}", "{%- endif -%}", "ns.",
		"enable_thinking is not defined or enable_thinking"})
}

// template writes a chat template. Its variable nK_I reports whether needle I
// of the conditions of kind K was found.
type template struct {
	m *Model
	b strings.Builder
}

func (t *template) out(format string, args ...any) { fmt.Fprintf(&t.b, format, args...) }

// found lists the needles by kind of condition.
func (t *template) found() [][]string {
	return [][]string{condLast: t.m.needles(condLast), condSystem: t.m.needles(condSystem), condAny: t.m.needles(condAny), condReplied: t.m.needles(condReplied)}
}

// scan looks in source for the needles of a kind, in Ollama's language.
func (t *template) scan(source string, kind condKind) {
	needles := t.m.needles(kind)
	if len(needles) == 0 {
		return
	}
	first := map[byte][]int{} // needles by their first byte
	for i, n := range needles {
		first[n[0]] = append(first[n[0]], i)
	}
	bytes := slices.Sorted(maps.Keys(first))
	t.out("{{ $t := %s }}{{ range $i := len $t }}{{ if eq (index $t $i)", source)
	for _, b := range bytes {
		t.out(" %d", b)
	}
	t.out(" }}{{ $c := index $t $i }}{{ $u := slice $t $i }}{{ if false }}")
	for _, b := range bytes {
		t.out("{{ else if eq $c %d }}", b)
		for _, i := range first[b] {
			t.out("{{ if ge (len $u) %d }}{{ if eq (slice $u 0 %[1]d) %s }}{{ $n%d_%d = true }}{{ end }}{{ end }}",
				len(needles[i]), goLiteral(needles[i]), kind, i)
		}
	}
	t.out("{{ end }}{{ end }}{{ end }}")
}

// language is what differs in how template languages choose.
type language struct{ begin, next, and, then, otherwise, end, variable, thinks string }

// choose ends the template with the choice of a script.
func (t *template) choose(l language) string {
	t.b.WriteString(l.begin)
	for i, s := range t.m.Scripts {
		t.b.WriteString(l.next)
		for _, c := range s.When {
			condition := l.thinks
			if c.kind != condThinks {
				condition = fmt.Sprintf("%sn%d_%d", l.variable, c.kind, slices.Index(t.m.needles(c.kind), c.text))
			}
			t.out(l.and, condition)
		}
		t.b.WriteString(l.then + sayToken(i))
	}
	t.b.WriteString(l.otherwise + sayToken(len(t.m.Scripts)) + l.end)
	return t.b.String()
}

func goLiteral(s string) string {
	if strconv.CanBackquote(s) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}

func jinjaLiteral(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s) + "'"
}
