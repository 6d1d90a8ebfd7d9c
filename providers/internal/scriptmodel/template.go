package scriptmodel

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Template returns the chat template in the language of a Modelfile, "" if the
// model has it inside (Jinja). It is ChatML that ends with the control token of
// the first script whose conditions hold.
//
// Ollama's template language has neither string search nor arithmetic, only
// len, index, slice and eq. So texts are looked for byte by byte, in one pass
// over a message for all scripts together, and counting is growing a string.
func (m *Model) Template() string {
	if m.Jinja {
		return ""
	}
	t := goTemplate{last: m.needles(condLast), system: m.needles(condSystem), count: m.needles(condCount)}
	t.out("{{- $last := `` }}{{ $replies := `` }}")
	t.declare("l", "false", t.last)
	t.declare("s", "false", t.system)
	t.declare("c", "``", t.count)
	t.messages(m.Thinking)
	t.scan("$last", "l", t.last)
	t.choose(m.Scripts)
	return t.b.String()
}

// goTemplate writes a Go template. Variable $l0 says whether the first of
// last was found, $s0 and $c0 the same for system and count.
type goTemplate struct {
	b                   strings.Builder
	last, system, count []string
}

func (t *goTemplate) out(format string, args ...any) { fmt.Fprintf(&t.b, format, args...) }

func (t *goTemplate) declare(prefix, zero string, needles []string) {
	for i := range needles {
		t.out("{{ $%s%d := %s }}", prefix, i, zero)
	}
}

// scan sets variable i with the prefix for each needle i that occurs in source.
func (t *goTemplate) scan(source, prefix string, needles []string) {
	if len(needles) == 0 {
		return
	}
	var first []string
	for _, n := range needles {
		if c := strconv.Itoa(int(n[0])); !slices.Contains(first, c) {
			first = append(first, c)
		}
	}
	t.out("{{ $t := %s }}{{ range $i := len $t }}{{ if eq (index $t $i) %s }}{{ $u := slice $t $i }}", source,
		strings.Join(first, " "))
	for i, n := range needles {
		t.out("{{ if ge (len $u) %d }}{{ if eq (slice $u 0 %[1]d) %s }}{{ $%s%d = true }}{{ end }}{{ end }}", len(n),
			goLiteral(n), prefix, i)
	}
	t.out("{{ end }}{{ end }}")
}

func (t *goTemplate) messages(thinking bool) {
	t.out("{{ range .Messages }}{{ $last = .Content }}")
	t.out("{{ if eq .Role `assistant` }}{{ $replies = print $replies `x` }}{{ end }}")
	if len(t.system) > 0 {
		t.out("{{ if eq .Role `system` }}")
		t.scan(".Content", "s", t.system)
		t.out("{{ end }}")
	}
	if len(t.count) > 0 {
		t.declare("m", "false", t.count)
		t.scan(".Content", "m", t.count)
		for i := range t.count {
			t.out("{{ if $m%d }}{{ $c%[1]d = print $c%[1]d `x` }}{{ end }}", i)
		}
	}
	t.out("%s{{ .Role }}\n", startText)
	if thinking {
		t.out("{{ if .Thinking }}<think>{{ .Thinking }}</think>{{ end }}")
	}
	t.out("{{ .Content }}%s\n{{ end }}%sassistant\n", endText, startText)
}

func (t *goTemplate) choose(scripts []Script) {
	keyword := "if"
	for i, s := range scripts {
		t.out("{{ %s and true", keyword)
		for _, c := range s.When {
			t.out(" %s", t.expression(c))
		}
		t.out(" }}%s", sayToken(i))
		keyword = "else if"
	}
	if len(scripts) == 0 {
		t.out("%s", sayToken(0))
		return
	}
	t.out("{{ else }}%s{{ end }}", sayToken(len(scripts)))
}

func (t *goTemplate) expression(c Cond) string {
	var e string
	switch c.kind {
	case condLast:
		e = fmt.Sprintf("$l%d", slices.Index(t.last, c.text))
	case condSystem:
		e = fmt.Sprintf("$s%d", slices.Index(t.system, c.text))
	case condCount:
		e = fmt.Sprintf("(eq (len $c%d) %d)", slices.Index(t.count, c.text), c.n)
		if c.n < 0 {
			e = fmt.Sprintf("(gt (len $c%d) 0)", slices.Index(t.count, c.text))
		}
	case condReplies:
		e = fmt.Sprintf("(eq (len $replies) %d)", c.n)
	case condThinks:
		e = "$.Think"
	}
	if c.not {
		return "(not " + e + ")"
	}
	return e
}

func goLiteral(s string) string {
	if strconv.CanBackquote(s) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}
