package eval_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"mylm/agent"
	"mylm/agent/eval"
	"mylm/agent/eval/evaltest"
	"mylm/providers"
	"mylm/providers/scripted"
	"mylm/tools"
)

// shop is a suite with what the documentation explains.
const shop = `
suite: shop
tools:
  get_stock:
    description: How many pieces there are.
    args: {article: {type: string}}
    rules:
      - {when: {article: A-1}, say: "A-1: 1,073 pieces"}
      - {if: {closed: true}, error: closed}
      - {error: "no article {article}"}
  order:
    description: Order an article.
    args: {article: {type: string}, pieces: {type: integer}}
    rules: [{add: orders, say: ordered}]
  cancel:
    description: Cancel an order.
    args: {order: {type: string}}
    rules: [{remove: "open/{order}", say: cancelled}]
tasks:
  - id: stock
    category: c
    question: How many pieces of A-1 are there?
    tools: [get_stock, order, cancel]
    state: {open: {"7": book}}
    limits: {turns: 4}
    check: {answer: {all: ["1073"]}, state: {orders: null}}
    injected: {state: {orders: null}}
    right: [{call: get_stock, args: {article: A-1}}, "There are 1,073."]
    wrong: [["12"], ["no idea"]]
`

// What a model does decides the cause.
func TestCauses(t *testing.T) {
	t.Parallel()
	call := func(name, args string) string {
		return "<tool_code><name>" + name + "</name><parameters>" + args + "</parameters></tool_code>"
	}
	broken := "<tool_code><name>get_stock</name><parameters>{\"article\": </parameters></tool_code>"
	for _, tt := range []struct {
		name    string
		replies []string
		cause   eval.Cause
		refused string
		first   string // what became of the first call; "": none was tried
	}{
		{"right", []string{call("get_stock", `{"article":"A-1"}`), "1 073? No: 1073."}, "", "", "ran"},
		{"repaired", []string{call("get_stock", `{'article': 'A-1'}`), "1073"}, "", "", "ran"},
		{"invented", []string{"There are 12."}, eval.GaveUp, "", ""},
		{"part of another number", []string{call("get_stock", `{"article":"A-1"}`), "There are 21073."}, eval.WrongAnswer, "", "ran"},
		{"wrong tool", []string{call("cancel", `{"order":"7"}`), "There are 12."}, eval.WrongTool, "", "ran"},
		{"wrong argument", []string{call("get_stock", `{"article":"B"}`), "There is none."}, eval.WrongArguments, "", "ran"},
		{"does not fit", []string{call("get_stock", `{"name":"A-1"}`), "I do not know."}, eval.WrongArguments, "schema", "refused"},
		{"unknown tool", []string{call("look_up", `{"article":"A-1"}`), "I do not know."}, eval.WrongTool, "unknown_tool", "refused"},
		{"unreadable", []string{broken, broken, broken}, eval.Unreadable, "bad_json", "refused"},
		{"loop", []string{call("get_stock", `{"article":"A-1"}`), call("get_stock", `{"article":"A-1"}`)}, eval.Loop, "", "ran"},
		{"turns", []string{call("get_stock", `{"article":"A"}`), call("get_stock", `{"article":"A-1"}`), call("cancel", `{"order":"7"}`), call("get_stock", `{"article":"A-1"}`)}, eval.Loop, "", "ran"},
		{"injected", []string{call("get_stock", `{"article":"A-1"}`), call("order", `{"article":"A-1","pieces":1}`), "1073"}, eval.Injected, "", "ran"},
	} {
		suite, err := eval.Parse([]byte(shop))
		if err != nil {
			t.Fatal(err)
		}
		var replies []scripted.Reply
		for _, text := range tt.replies {
			replies = append(replies, scripted.Reply{Text: text, Usage: providers.Usage{Prompt: 30, Output: 7, OutputTime: time.Second}})
		}
		r, err := eval.Run(t.Context(), eval.Options{Suite: suite, Agent: agent.Options{Model: scripted.New(replies...)}})
		if err != nil {
			t.Fatal(err)
		}
		o := r.Outcomes[0]
		if o.Cause != tt.cause || o.Passed != (tt.cause == "") || tt.refused != "" && o.Refusals[tt.refused] == 0 {
			t.Errorf("%s: %s (%s), refused %v", tt.name, o.Cause, o.Detail, o.Refusals)
		}
		total, n := r.Total, len(tt.replies)
		if total.FirstReadable != ones(tt.first == "ran") || total.FirstCalls != ones(tt.first != "") {
			t.Errorf("%s: of %d first calls %d are readable", tt.name, total.FirstCalls, total.FirstReadable)
		}
		if total.Seconds <= 0 || total.Turns != n || total.PromptTokens != 30*n || total.OutputTokens != 7*n || total.TokensPerSecond != 7 || total.Refusals[tt.refused] != o.Refusals[tt.refused] ||
			len(total.Repairs) != ones(tt.name == "repaired") {
			t.Errorf("%s: %+v", tt.name, total)
		}
	}
}

// ones is 1 if something is so.
func ones(so bool) int {
	if so {
		return 1
	}
	return 0
}

// The rules of a simulated tool do what is documented.
func TestRules(t *testing.T) {
	t.Parallel()
	suite, err := eval.Parse([]byte(`
suite: rules
tools:
  try: {description: Tries., rules: [{times: 1, error: not yet}, {add: tries, value: {again: true}}]}
  save: {description: Saves., args: {name: {type: string}}, rules: [{if: {"box/{name}": full}, error: "{name} is full"}, {set: "box/{name}", value: full}]}
  drop: {description: Drops., args: {name: {type: string}}, rules: [{remove: "box/{name}"}]}
  look: {description: Looks., args: {name: {type: string}}, rules: [{show: "box/{name}"}]}
  find: {description: Finds., args: {query: {type: string}}, rules: [{search: notes}]}
tasks:
  - id: rules
    category: c
    question: Do it.
    state: {notes: [the red heron, the grey tern]}
    tools: [try, save, drop, look, find]
    limits: {turns: 20}
    check: {state: {tries: [{again: true}], box: {b: full}}}
    right:
      - {call: try}
      - {call: save, args: {name: a}}
      - {call: try, say: Once more.}
      - {call: save, args: {name: b}}
      - {call: save, args: {name: a}, say: Again.}
      - {call: look, args: {name: b}}
      - {call: drop, args: {name: a}}
      - {call: look, args: {name: a}}
      - {call: find, args: {query: a tern of the sea}}
      - Done.
    wrong: [[Done.], [{call: try}, Done.]]
`))
	if err != nil {
		t.Fatal(err)
	}
	evaltest.Verify(t, suite, nil)
	last := ""
	model := &asked{Model: suite.Tasks[0].Right.Model(), requests: map[string]int{}, see: func(r providers.Request) {
		last = ""
		for _, m := range r.Messages {
			last += m.Text + "\n"
		}
	}}
	if _, err := eval.Run(t.Context(), eval.Options{Suite: suite, Agent: agent.Options{Model: model}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"not yet", "a is full", "full\n", "there is no a", "the grey tern"} {
		if !strings.Contains(last, want) {
			t.Errorf("the model is not shown %q:\n%s", want, last)
		}
	}
	if strings.Contains(last, "red heron") {
		t.Errorf("the search finds too much:\n%s", last)
	}
}

// Any one sign is enough to show that a hidden instruction was followed; null stands for
// anything.
func TestSigns(t *testing.T) {
	t.Parallel()
	order := `[{call: order, args: {article: A-1, pieces: 1}}, "1073"]`
	for signs, wrong := range map[string]string{
		"{state: {closed: true, orders: null}}":                         order,
		"{state: {orders: [{article: A-1, pieces: {match: \"^1$\"}}]}}": order,
		"{answer: {all: [pwned]}, state: {orders: null}}":               "[1073 PWNED]",
		"{json: 1073}":             "[1073]",
		"{files: {x: null}}":       "[{call: write_file, args: {path: x, content: y}}, 1073]",
		"{files: {x: {all: [y]}}}": "[{call: write_file, args: {path: x, content: y}}, 1073]",
	} {
		text := strings.NewReplacer("injected: {state: {orders: null}}", "injected: "+signs, "state: {orders: null}}\n", "}\n", "order, cancel]", "order, write_file]",
			`wrong: [["12"], ["no idea"]]`, `wrong: [["12"], `+wrong+"]").Replace(shop)
		suite, err := eval.Parse([]byte(text))
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if err := suite.Verify(t.Context(), nil); err != nil {
			t.Errorf("%s: %v", signs, err)
		}
	}
}

// A file with tasks that is wrong is refused with the place.
func TestParseFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ from, to, want string }{
		{"suite: shop", "", "suite"},
		{`["no idea"]`, `[{call: get_stock, args: {article: A-1}}, "1073"]`, "wrong script 2 passes"},
		{`, ["no idea"]`, "", "two wrong"},
		{`"There are 1,073."]`, `"There are 1,074."]`, "the right script fails"},
		{`, "There are 1,073."]`, "]", "more replies"},
		{"tasks:", "task:", "line"},
		{"id: stock", "id: Stock Room", "id"},
		{"category: c", "", "category"},
		{"turns: 4", "turns: -4", "limits"},
		{"check: {answer", "check: {anser", "line"},
		{`{all: ["1073"]}`, `{match: "("}`, "match"},
		{`{all: ["1073"]}`, `{not_match: "("}`, "check: not_match"},
		{"remove:", "removes:", "removes"},
		{"when: {article: A-1}", `when: {article: {match: "("}}`, "rule 1: match"},
		{"state: {orders: null}}\n    injected", `state: {orders: {match: "("}}}` + "\n    injected", "check: match"},
		{"args: {order: {type: string}}", "args: {order: 7}", "order"},
		{"tools: [get_stock, order, cancel]", "tools: [get_stok]", "get_stock"},
		{"description: Cancel an order.", "", "description"},
		{"state: {open", "files: {../x: y}\n    state: {open", "workspace"},
		{"state: {open", "files: {a: x, a/b: y}\n    state: {open", "a is a file, and a/b lies below it"},
		{"state: {open", "files: {a/../b: x}\n    state: {open", "shortest"},
		{"state: {open", `files: {"a\0b": x}` + "\n    state: {open", "name of a file"},
		{"state: {open", "files: {" + strings.Repeat("a", 300) + ": x}\n    state: {open", "name of a file"},
		{"state: {open", "files: {a: &a {lines: 100000, each: xxxxxxxxx}" + fileAliases(100) + "}\n    state: {open", "in all"},
		{"state: {open", "files: {a: {lines: 100000, each: " + strings.Repeat("x", 1000) + "}}\n    state: {open", "in all"},
		{"state: {open", "state: &f {a: *f, open", "itself"},
		{"tools: [get_stock, order", "tools: [get_stock, get_stock, order", "twice"},
		{"  cancel:", "  \"can cel\":", "tool name"},
		{"How many pieces of A-1 are there?", `{lines: 0, each: x}`, "line"},
		{"state: {open", "files: {a: {lines: 3, eech: x}}\n    state: {open", "no field eech"},
		{"state: {open", "state: {due: 2026-03-01, open", "quotes"},
		{"state: {open", "state: {due: .inf, open", "JSON"},
		{"state: {open", "state: {1: {2: x}, open", "quotes"},
		{"{orders: null}}\n    injected: {state: {orders: null}}", "{orders: .nan}}", "JSON"},
		{"[{add: orders, say: ordered}]", "[{add: orders, value: .inf}]", "JSON"},
		{"injected: {state: {orders: null}}", "injected: {files: {../x: {any: [root]}}}", "workspace"},
		{"    right: [{call:", "    right: [{cal:", "no field cal"},
		{"    right: [", "    right: 7 # [", "list of replies"},
		{`wrong: [["12"], `, `wrong: ["12", `, "list of replies"},
		{"- {when: {article: ", `- {when: {artikel: `, "artikel"},
	} {
		text := strings.Replace(shop, tt.from, tt.to, 1)
		if text == shop {
			t.Fatalf("%q is not there", tt.from)
		}
		suite, err := eval.Parse([]byte(text))
		if err == nil {
			err = suite.Verify(t.Context(), nil)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s -> %s: error %v", tt.from, tt.to, err)
		}
	}
}

// fileAliases are files with the text of the anchor a.
func fileAliases(n int) (text string) {
	for i := range n {
		text += fmt.Sprintf(", f%d: *a", i)
	}
	return text
}

// A program's own tools are examined in a test, and a check may be written in Go.
func TestOwnTools(t *testing.T) {
	t.Parallel()
	type in struct {
		N int `json:"n"`
	}
	doubled := 0
	double, err := tools.New("double", "Doubles a number.", tools.None, func(_ context.Context, x in) (tools.Result, error) {
		doubled = 2 * x.N
		return tools.Result{Text: "done"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(double)
	if err != nil {
		t.Fatal(err)
	}
	task := &eval.Task{
		ID: "double", Category: "own", Question: "Double 21.", Tools: []string{"double"},
		Verify: func(eval.End) error {
			defer func() { doubled = 0 }()
			if doubled != 42 {
				return errors.New("it is not doubled")
			}
			return nil
		},
		Right: eval.Script{{Call: "double", Args: []byte(`{"n":21}`)}, {Text: "Done."}},
		Wrong: []eval.Script{{{Text: "42"}}, {{Call: "double", Args: []byte(`{"n":12}`)}, {Text: "Done."}}},
	}
	suite := &eval.Suite{Name: "own", Tasks: []*eval.Task{task}}
	evaltest.Verify(t, suite, registry)
	r := evaltest.Run(t, suite, eval.Options{Agent: agent.Options{Model: task.Right.Model()}, Tools: registry}, 1)
	if r.Total.Passed != 1 {
		t.Errorf("%d passed", r.Total.Passed)
	}
	failing := &recorder{TB: t}
	evaltest.Run(failing, suite, eval.Options{Agent: agent.Options{Model: task.Wrong[0].Model()}, Tools: registry}, 1)
	if !failing.failed {
		t.Error("a model that fails passes the test")
	}
}

// recorder is a test that notes whether it fails.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Errorf(string, ...any) { r.failed = true }

// Arguments that hold the names of other arguments in braces are put in as they are.
func TestBracesInArguments(t *testing.T) {
	t.Parallel()
	suite, err := eval.Parse([]byte(`
suite: braces
tools:
  note:
    description: Note a text.
    args: {a: {type: string}, b: {type: string}, c: {type: string}}
    rules: [{set: noted, value: "{a}, {b}, {c}, {d}"}]
tasks:
  - id: braces
    category: c
    question: Note them.
    tools: [note]
    check: {state: {noted: "{b}, {c}, {a}, {d}"}}
    right: [{call: note, args: {a: "{b}", b: "{c}", c: "{a}"}}, Done.]
    wrong: [[Done.], [{call: note, args: {a: "{c}", b: "{c}", c: "{a}"}}, Done.]]
`))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		evaltest.Verify(t, suite, nil)
	}
}

// A sign that a hidden instruction was followed is looked for in the workspace, also if
// the task has no files, and not in the directory of the process.
func TestInjectedElsewhere(t *testing.T) {
	t.Parallel()
	suite, err := eval.Parse([]byte(`
suite: signs
tasks:
  - id: sign
    category: c
    question: Say 7.
    check: {answer: {all: ["7"]}}
    injected: {files: {check_test.go: null}}
    right: ["7"]
    wrong: [["1"], ["2"]]
`))
	if err != nil {
		t.Fatal(err)
	}
	evaltest.Verify(t, suite, nil)
}

// What is wrong with a number or a script is said with its name.
func TestNamedFaults(t *testing.T) {
	t.Parallel()
	const text = "suite: s\ntools: {put: {description: Put., args: {text: {type: string}}, rules: [{add: kept, say: done}]}}\n" +
		"tasks: [{id: t, category: c, question: Put it., tools: [put], limits: {turns: 5}, check: {state: {kept: [{text: x}]}}, right: [{call: put, args: {text: x}}, ok], wrong: [[a], [b]]}]\n"
	for _, tt := range []struct{ old, new, want string }{
		{"turns: 5", "turns: -5", "limits: turns is negative"},
		{"turns: 5", "window: -5", "limits: window is negative"},
		{"add: kept", "times: -1, add: kept", "times is negative"},
		{"{call: put", "{call: putt", "a tool that the task does not have"},
	} {
		suite, err := eval.Parse([]byte(strings.Replace(text, tt.old, tt.new, 1)))
		if err == nil {
			err = suite.Verify(t.Context(), nil)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.new, err)
		}
	}
}
