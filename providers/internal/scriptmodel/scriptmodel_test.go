package scriptmodel_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"text/template"

	. "mylm/providers/internal/scriptmodel"
)

type message struct{ Role, Content, Thinking string }

// choose evaluates the template as Ollama does and returns the script chosen.
func choose(t *testing.T, m *Model, messages ...message) string {
	t.Helper()
	tmpl, err := template.New("").Option("missingkey=zero").Parse(m.Template())
	if err != nil {
		t.Fatal(err)
	}
	var ptrs []*message
	for i := range messages {
		ptrs = append(ptrs, &messages[i])
	}
	var b bytes.Buffer
	if err := tmpl.Execute(&b, map[string]any{"Messages": ptrs, "Think": false}); err != nil {
		t.Fatal(err)
	}
	_, choice, _ := strings.Cut(b.String(), "<|im_start|>assistant\n<|say:")
	return strings.TrimSuffix(choice, "|>")
}

func TestConditions(t *testing.T) {
	user := func(s string) message { return message{Role: "user", Content: s} }
	model := func(s string) message { return message{Role: "assistant", Content: s} }
	system := func(s string) message { return message{Role: "system", Content: s} }
	tests := []struct {
		name     string
		cond     Cond
		messages []message
		want     bool
	}{
		{"start of last", LastContains("<obs>"), []message{user("<obs>x")}, true},
		{"end of last", LastContains("<obs>"), []message{user("x <obs>")}, true},
		{"cut off", LastContains("<obs>"), []message{user("x <obs")}, false},
		{"only in an earlier one", LastContains("<obs>"), []message{user("<obs>"), model("y")}, false},
		{"after a false start", LastContains("aab"), []message{user("aaab")}, true},
		{"empty message", LastContains("a"), []message{user("")}, false},
		{"quotes", LastContains("a`\"\n\\b"), []message{user("xa`\"\n\\bx")}, true},
		{"braces", LastContains("}}{{ end }}"), []message{user("a }}{{ end }} b")}, true},
		{"UTF-8", LastContains("→"), []message{user("a → b")}, true},
		{"system", SystemContains("rules"), []message{system("the rules"), user("x")}, true},
		{"user is not system", SystemContains("rules"), []message{system("x"), user("rules")}, false},
		{"any", AnyContains("k"), []message{user("ok"), model("no")}, true},
		{"replied", Replied("k"), []message{model("ok"), user("no")}, true},
		{"replied, none", Replied("k"), []message{user("k"), model("b"), user("k")}, false},
		{"any, none", AnyContains("k"), []message{user("a"), model("b")}, false},
		{"thinks", Thinks(), []message{user("b")}, false},
	}
	for _, tt := range tests {
		m := &Model{Scripts: []Script{{When: []Cond{tt.cond}, Say: "yes it does"}}, Default: "no"}
		want := map[bool]string{true: "0", false: "1"}[tt.want]
		if got := choose(t, m, tt.messages...); got != want {
			t.Errorf("%s: chose script %s, want %s", tt.name, got, want)
		}
	}
}

func TestFirstMatchSpeaks(t *testing.T) {
	m := &Model{Scripts: []Script{
		{When: []Cond{LastContains("a"), LastContains("b")}, Say: "both"},
		{When: []Cond{LastContains("a")}, Say: "a"},
		{Say: "always"},
	}}
	for content, want := range map[string]string{"a b": "0", "a": "1", "b": "2"} {
		if got := choose(t, m, message{Role: "user", Content: content}); got != want {
			t.Errorf("%q: script %s, want %s", content, got, want)
		}
	}
}

func TestModelSaysItsScripts(t *testing.T) {
	texts := []string{
		"Hello, world!", "Hello", "Hello, world!", " and", "and the", "", "a",
		strings.Repeat("a", 40),
		"the cat and the dog and the cat and the dog",
		"Größe → 終わり 🎉\n\n  x",
		strings.Repeat("<a>\n<b>{\"k\": \"v\"}</b>\n</a>\n", 2),
		strings.Repeat("line of text number one\n", 50),
	}
	m := &Model{Corpus: strings.Repeat("the cat and the dog sat on the line of text ", 20)}
	for _, s := range texts {
		m.Scripts = append(m.Scripts, Script{Say: s})
	}
	n := compute(t, m)
	for i, want := range texts {
		if got := n.say(t, i, 1000); got != want {
			t.Errorf("script %d says %q, want %q", i, got, want)
		}
	}
}

func TestLoop(t *testing.T) {
	m := &Model{Scripts: []Script{{Say: "one two ", Loop: true}}, Default: "x"}
	got := compute(t, m).say(t, 0, 50)
	if want := strings.Repeat("one two ", 50); len(got) < 100 || !strings.HasPrefix(want, got) {
		t.Errorf("the loop says %q", got)
	}
}

func TestRejects(t *testing.T) {
	for name, m := range map[string]interface{ WriteGGUF(*os.File) error }{
		"empty needle":  &Model{Scripts: []Script{{When: []Cond{LastContains("")}, Say: "x"}}},
		"silent loop":   &Model{Scripts: []Script{{Loop: true}}},
		"invalid UTF-8": &Model{Default: "a\xff"},
		"odd synonym":   &Embedder{Synonyms: [][]string{{"two words"}}},
	} {
		if err := m.WriteGGUF(nil); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestSameModelEachTime(t *testing.T) {
	m := &Model{Scripts: []Script{{Say: "one two three"}}, Default: "x", Corpus: strings.Repeat("some words to learn from, words ", 9)}
	if !bytes.Equal(write(t, m), write(t, m)) {
		t.Error("the same model came out differently")
	}
}

// network is a model read back from its file, computed as llama.cpp would: all
// layers are zero, so that logits are output × embedding of the last token.
type network struct {
	tokens            []string
	end               int
	embedding, output []float32
	width             int
}

func compute(t *testing.T, m *Model) *network {
	t.Helper()
	return readNetwork(t, write(t, m))
}

func write(t *testing.T, m *Model) []byte {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := m.WriteGGUF(f); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// say follows the most likely token from a script's entry on. Every other
// token must stay far behind, or sampling would change the text.
func (n *network) say(t *testing.T, script, limit int) string {
	t.Helper()
	at := slices.Index(n.tokens, fmt.Sprintf("<|say:%d|>", script))
	var b strings.Builder
	for range limit {
		next, lead := n.next(at)
		if lead < 40 {
			t.Fatalf("after %q the next token leads by %v only", n.tokens[at], lead)
		}
		if next == n.end {
			break
		}
		b.WriteString(n.tokens[next])
		at = next
	}
	return decode(b.String())
}

func (n *network) next(id int) (best int, lead float64) {
	in := n.embedding[id*n.width : (id+1)*n.width]
	top, second := math.Inf(-1), math.Inf(-1)
	for k := range n.tokens {
		sum := 0.0
		for i, w := range n.output[k*n.width : (k+1)*n.width] {
			sum += float64(w) * float64(in[i])
		}
		if sum > top {
			best, top, second = k, sum, top
		} else {
			second = max(second, sum)
		}
	}
	return best, top - second
}

// decode undoes GPT-2's mapping: bytes that do not print are numbered from 256.
func decode(s string) string {
	back := map[rune]byte{}
	next := rune(256)
	for b := range 256 {
		if b > 32 && b < 127 || b > 160 && b != 173 {
			back[rune(b)] = byte(b)
		} else {
			back[next] = byte(b)
			next++
		}
	}
	var out []byte
	for _, r := range s {
		out = append(out, back[r])
	}
	return string(out)
}

// readNetwork reads the parts of a GGUF file that matter here.
func readNetwork(t *testing.T, file []byte) *network {
	t.Helper()
	r := &reader{b: file}
	if magic := string(r.take(4)); magic != "GGUF" || r.u32() != 3 {
		t.Fatalf("magic %q", magic)
	}
	tensors, pairs := r.u64(), r.u64()
	n := &network{}
	for range pairs {
		switch key, value := r.str(), r.value(r.u32()); key {
		case "tokenizer.ggml.tokens":
			for _, s := range value.([]any) {
				n.tokens = append(n.tokens, s.(string))
			}
		case "tokenizer.ggml.eos_token_id":
			n.end = int(value.(uint32))
		case "llama.embedding_length":
			n.width = int(value.(uint32))
		}
	}
	type place struct{ offset, size uint64 }
	places := map[string]place{}
	for range tensors {
		name, size := r.str(), uint64(1)
		for range r.u32() {
			size *= r.u64()
		}
		r.u32()
		places[name] = place{r.u64(), size}
	}
	data := file[(r.at+31)/32*32:]
	load := func(name string) []float32 {
		p := places[name]
		out := make([]float32, p.size)
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[p.offset+4*uint64(i):]))
		}
		return out
	}
	n.embedding, n.output = load("token_embd.weight"), load("output.weight")
	return n
}

type reader struct {
	b  []byte
	at int
}

func (r *reader) take(n int) []byte { r.at += n; return r.b[r.at-n : r.at] }
func (r *reader) u32() uint32       { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *reader) u64() uint64       { return binary.LittleEndian.Uint64(r.take(8)) }
func (r *reader) str() string       { return string(r.take(int(r.u64()))) }

// value reads a value of the given type, as numbered by the format.
func (r *reader) value(kind uint32) any {
	switch kind {
	case 7:
		return r.take(1)[0] == 1
	case 8:
		return r.str()
	case 9:
		elem, out := r.u32(), []any{}
		for range r.u64() {
			out = append(out, r.value(elem))
		}
		return out
	}
	return r.u32()
}
