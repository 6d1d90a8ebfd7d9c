package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"mylm/tools"
)

type cityArgs struct {
	City string `json:"city" jsonschema:"name of the city"`
	Days int    `json:"days,omitempty"`
}

// tool makes one that answers with the arguments it got.
func tool(t *testing.T, name string, effect tools.Effect) *tools.Tool {
	t.Helper()
	made, err := tools.New(name, "Tell the weather.", effect, func(_ context.Context, in cityArgs) (tools.Result, error) {
		return tools.Result{Text: fmt.Sprintf("%s %d", in.City, in.Days), Origin: tools.Web}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func registry(t *testing.T, list ...*tools.Tool) *tools.Registry {
	t.Helper()
	r, err := tools.NewRegistry(list...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestNewInfersTheSchema(t *testing.T) {
	made := tool(t, "weather", tools.Network)
	if got, want := tools.Signature(made.Name, made.Schema), "weather(city: string, days?: integer)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := made.Schema.Properties["city"].Description; got != "name of the city" {
		t.Errorf("description %q", got)
	}
	if _, err := tools.New("bad", "", tools.None, func(context.Context, chan int) (tools.Result, error) { return tools.Result{}, nil }); err == nil {
		t.Error("a channel has a schema")
	}
}

func TestNewRegistryRefuses(t *testing.T) {
	run := func(context.Context, json.RawMessage) (tools.Result, error) { return tools.Result{}, nil }
	tests := []struct {
		name string
		list []*tools.Tool
		want string
	}{
		{"two of a name", []*tools.Tool{tool(t, "a", tools.None), tool(t, "a", tools.None)}, `two tools are called "a"`},
		{"nil", []*tools.Tool{nil}, "nil tool"},
		{"bad name", []*tools.Tool{tool(t, "a b", tools.None)}, `tool name "a b"`},
		{"long name", []*tools.Tool{tool(t, strings.Repeat("a", 65), tools.None)}, "at most 64"},
		{"no schema", []*tools.Tool{{Name: "a", Run: run}}, "no schema"},
		{"no function", []*tools.Tool{{Name: "a", Schema: schema(t, `{}`)}}, "no Run"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := tools.NewRegistry(tt.list...); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestOnly(t *testing.T) {
	r := registry(t, tool(t, "a", tools.None), tool(t, "b", tools.None), tool(t, "c", tools.None))
	sub, err := r.Only("c", "a")
	if err != nil || !slices.Equal(sub.Names(), []string{"a", "c"}) {
		t.Errorf("Only = %v, %v; want a, c in the registry's order", sub.Names(), err)
	}
	if sub.Lookup("b") != nil || r.Lookup("b") == nil {
		t.Error("Only changed the wrong registry")
	}
	if _, err := r.Only("a", "d"); err == nil || !strings.Contains(err.Error(), `"d"`) || !strings.Contains(err.Error(), "a, b, c") {
		t.Errorf("err = %v, want the unknown name and the known ones", err)
	}
}

func TestPrepareUnknownTool(t *testing.T) {
	r := registry(t, tool(t, "read_file", tools.None), tool(t, "write_file", tools.None), tool(t, "list_dir", tools.None), tool(t, "readfile", tools.None))
	tests := []struct {
		name string
		near []string
	}{
		{"readFile", []string{"read_file", "readfile"}},
		{"Read-File", []string{"read_file", "readfile"}},
		{"fs.list_dir", []string{"list_dir"}},
		{"lits_dir", []string{"list_dir"}},
		{"wirte_fil", []string{"write_file"}},
		{"open_browser", nil},
		{strings.Repeat("read_file", 10_000), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name[:min(20, len(tt.name))], func(t *testing.T) {
			_, err := r.Prepare(tt.name, json.RawMessage(`{}`))
			var unknown *tools.UnknownToolError
			if !errors.As(err, &unknown) {
				t.Fatalf("err = %v", err)
			}
			if !slices.Equal(unknown.Near, tt.near) {
				t.Errorf("near %q, want %q", unknown.Near, tt.near)
			}
			for _, name := range append(tt.near, tt.name[:min(80, len(tt.name))]) {
				if !strings.Contains(err.Error(), name) {
					t.Errorf("%q does not name %s", err, name)
				}
			}
		})
	}
}

// What a model made up may be long; the error about it is not.
func TestErrorsCutLongNamesAndValues(t *testing.T) {
	r := registry(t, tool(t, "weather", tools.Network))
	long := strings.Repeat("ä", 10_000)
	for name, c := range map[string]struct{ tool, args string }{
		"name of the tool":     {long, `{}`},
		"name of the argument": {"weather", `{"city":"x","` + long + `":1}`},
		"value":                {"weather", `{"city":"x","days":"` + long + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.Prepare(c.tool, json.RawMessage(c.args))
			if err == nil {
				t.Fatal("no error")
			}
			n := strings.Count(err.Error(), "ä")
			if n < 50 || n > 80 || !strings.Contains(err.Error(), "ä…") {
				t.Errorf("%d characters of the long text are shown: %v", n, err)
			}
		})
	}
	if got := tools.Unknown("wether", r.Names()); !slices.Equal(got.Near, []string{"weather"}) || !slices.Equal(got.Known, r.Names()) {
		t.Errorf("Unknown = %+v", got)
	}
}

func TestUnknownToolErrorListsTheTools(t *testing.T) {
	_, err := registry(t, tool(t, "a_tool", tools.None), tool(t, "b_tool", tools.None)).Prepare("zzz", nil)
	if err == nil || !strings.Contains(err.Error(), "a_tool, b_tool") {
		t.Errorf("err = %v, want the tools", err)
	}
	_, err = (*tools.Registry)(nil).Prepare("zzz", nil)
	if err == nil || !strings.Contains(err.Error(), "no tools") {
		t.Errorf("err = %v, want that there are none", err)
	}
}

func TestPrepareFits(t *testing.T) {
	r := registry(t, tool(t, "weather", tools.Network))
	inv, err := r.Prepare("weather", json.RawMessage(`{"City":"Quito","days":"3"}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(inv.Repairs) != 2 || inv.Effect != tools.Network || inv.Preview != string(inv.Args) {
		t.Errorf("invocation %+v", inv)
	}
	if o := inv.Run(t.Context(), 0); !o.Success() || o.Body() != "Quito 3" || o.Origin != tools.Web {
		t.Errorf("outcome %+v", o)
	}
	_, err = r.Prepare("weather", json.RawMessage(`{"days":"soon"}`))
	var argErr *tools.ArgError
	if !errors.As(err, &argErr) || argErr.Tool != "weather" || len(argErr.Faults) != 2 {
		t.Fatalf("err = %#v", err)
	}
	want := "invalid arguments: city: missing, want string; days: got \"soon\", want integer\nUsage: weather(city: string, days?: integer)"
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
}

func TestPrepareEffectAndPreview(t *testing.T) {
	shell := tool(t, "shell", tools.None)
	shell.Effect, shell.Preview = nil, func(args json.RawMessage) string { return "$ " + string(args) }
	inv, err := registry(t, shell).Prepare("shell", json.RawMessage(`{"city":"x"}`))
	if err != nil || inv.Effect != tools.Runs || inv.Preview != `$ {"city":"x"}` {
		t.Errorf("a tool without Effect: %+v, %v", inv, err)
	}
	shell.Effect = func(args json.RawMessage) tools.Effect {
		if strings.Contains(string(args), "rm") {
			return tools.Writes
		}
		return tools.Reads
	}
	for args, want := range map[string]tools.Effect{`{"city":"rm"}`: tools.Writes, `{"city":"ls"}`: tools.Reads} {
		if inv, err := registry(t, shell).Prepare("shell", json.RawMessage(args)); err != nil || inv.Effect != want {
			t.Errorf("%s: %+v, %v; want %v", args, inv, err, want)
		}
	}
}

func TestPrepareOfABrokenTool(t *testing.T) {
	broken := tool(t, "weather", tools.None)
	args := json.RawMessage(`{"city":"x"}`)
	for name, set := range map[string]func(){
		"effect":  func() { broken.Effect = func(json.RawMessage) tools.Effect { panic("no such key") } },
		"preview": func() { broken.Preview = func(json.RawMessage) string { panic("no such key") } },
	} {
		t.Run(name, func(t *testing.T) {
			broken.Effect, broken.Preview = nil, nil
			set()
			inv, err := registry(t, broken).Prepare("weather", args)
			if inv != nil || err == nil || err.Error() != "the tool weather is broken: no such key" {
				t.Errorf("Prepare = %+v, %v", inv, err)
			}
		})
	}
}

func TestDecodeNumberOutOfRange(t *testing.T) {
	_, err := tools.Decode[cityArgs](json.RawMessage(`{"city":"x","days":99999999999999999999999}`))
	if err == nil || err.Error() != "days: the number 99999999999999999999999 is out of range" {
		t.Errorf("err = %v", err)
	}
	_, err = tools.Decode[cityArgs](json.RawMessage(`{"city":true}`))
	if err == nil || err.Error() != "city: got bool, which does not fit" {
		t.Errorf("err = %v", err)
	}
}

func TestInvocationRun(t *testing.T) {
	type run = func(context.Context, json.RawMessage) (tools.Result, error)
	code := 3
	tests := []struct {
		name    string
		own     time.Duration // the tool's timeout
		timeout time.Duration // the engine's
		run     run
		body    string
		stack   bool
	}{
		{"success", 0, 0, func(context.Context, json.RawMessage) (tools.Result, error) { return tools.Result{Text: "done"}, nil }, "done", false},
		{"error", 0, 0, func(context.Context, json.RawMessage) (tools.Result, error) {
			return tools.Result{}, errors.New("no such city")
		}, "no such city", false},
		{"error with text", 0, 0, func(context.Context, json.RawMessage) (tools.Result, error) {
			return tools.Result{Text: "half", ExitCode: &code}, errors.New("exit status 3")
		}, "exit status 3\nhalf", false},
		{"empty error", 0, 0, func(context.Context, json.RawMessage) (tools.Result, error) { return tools.Result{}, errors.New("") }, "failed without saying why", false},
		{"panic", 0, 0, func(context.Context, json.RawMessage) (tools.Result, error) { panic("index out of range") }, "the tool crashed: index out of range", true},
		{"over the engine's timeout", 0, time.Millisecond, wait, "timed out after 1ms", false},
		{"over its own timeout", time.Millisecond, time.Hour, wait, "timed out after 1ms", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := registry(t, &tools.Tool{Name: "x", Schema: schema(t, `{}`), Timeout: tt.own, Run: tt.run})
			inv, err := r.Prepare("x", nil)
			if err != nil {
				t.Fatal(err)
			}
			o := inv.Run(t.Context(), tt.timeout)
			if o.Body() != tt.body || o.Success() != (tt.name == "success") || (o.Stack != "") != tt.stack {
				t.Errorf("body %q, success %v, stack %v; want %q", o.Body(), o.Success(), o.Stack != "", tt.body)
			}
			if o.Duration <= 0 {
				t.Errorf("duration %v", o.Duration)
			}
		})
	}
}

func wait(ctx context.Context, _ json.RawMessage) (tools.Result, error) {
	<-ctx.Done()
	return tools.Result{}, ctx.Err()
}

func TestInvocationRunCancelled(t *testing.T) {
	r := registry(t, &tools.Tool{Name: "x", Schema: schema(t, `{}`), Run: wait})
	inv, err := r.Prepare("x", nil)
	if err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	for want, ctx := range map[string]context.Context{
		"cancelled: context canceled":          cancelled,
		"cancelled: context deadline exceeded": late,
	} {
		for _, timeout := range []time.Duration{0, time.Hour} {
			if o := inv.Run(ctx, timeout); o.Error != want {
				t.Errorf("error %q, want %q", o.Error, want)
			}
		}
	}
}

// A tool may end its goroutine, for instance with a test's FailNow.
func TestInvocationRunGoexit(t *testing.T) {
	var toolCtx context.Context
	r := registry(t, &tools.Tool{Name: "x", Schema: schema(t, `{}`), Run: func(ctx context.Context, _ json.RawMessage) (tools.Result, error) {
		toolCtx = ctx
		runtime.Goexit()
		return tools.Result{}, nil
	}})
	inv, err := r.Prepare("x", nil)
	if err != nil {
		t.Fatal(err)
	}
	ended, returned := make(chan struct{}), false
	go func() {
		defer close(ended)
		inv.Run(t.Context(), time.Hour)
		returned = true
	}()
	<-ended
	if returned || toolCtx.Err() == nil {
		t.Errorf("returned %v, context %v; want the goroutine ended and its timer stopped", returned, toolCtx.Err())
	}
}

func TestEffect(t *testing.T) {
	tests := []struct {
		e                    tools.Effect
		text                 string
		onlyReads, sensitive bool
	}{
		{tools.None, "none", true, false},
		{tools.Reads, "reads", true, false},
		{tools.Reads | tools.Writes, "reads, writes", false, true},
		{tools.Runs, "runs", false, true},
		{tools.Network, "network", false, false},
		{tools.Remembers, "remembers", true, false},
		{tools.Reads | tools.Leaves, "reads, outside", false, false},
	}
	for _, tt := range tests {
		if tt.e.String() != tt.text || tt.e.OnlyReads() != tt.onlyReads || tt.e.Sensitive() != tt.sensitive {
			t.Errorf("%q: OnlyReads %v, Sensitive %v", tt.e, tt.e.OnlyReads(), tt.e.Sensitive())
		}
		var back tools.Effect
		if err := back.UnmarshalText([]byte(tt.text)); err != nil || back != tt.e {
			t.Errorf("%q read back as %v, %v", tt.text, back, err)
		}
	}
	var e tools.Effect
	if err := e.UnmarshalText([]byte("reads, flies")); err == nil || !strings.Contains(err.Error(), "flies") {
		t.Errorf("err = %v", err)
	}
}

func TestProgress(t *testing.T) {
	var got []string
	ctx := tools.WithProgress(t.Context(), func(s string) { got = append(got, s) })
	tools.Progress(ctx, "half")
	tools.Progress(t.Context(), "nobody listens")
	if !slices.Equal(got, []string{"half"}) {
		t.Errorf("got %q", got)
	}
}
