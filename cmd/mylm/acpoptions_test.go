package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// selected are the values of the configuration options in a message.
func selected(t *testing.T, message map[string]any) map[string]string {
	t.Helper()
	all := map[string]string{}
	options, _ := message["configOptions"].([]any)
	for _, o := range options {
		o, _ := o.(map[string]any)
		id, _ := o["id"].(string)
		all[id], _ = o["currentValue"].(string)
		if o["category"] != id || !strings.Contains(fmt.Sprint(o["options"]), "value:"+all[id]) {
			t.Errorf("the option %s: %v", id, o)
		}
	}
	return all
}

// The mode and the model are options of a session, in keeping with modes and /model.
func TestACPOptions(t *testing.T) {
	t.Parallel()
	e := startEditor(t, "=== reply hang\nIt begins.\n")
	scripted := "scripted/" + filepath.Join(e.dir, "..", "script.txt")
	want := func(when string, message map[string]any, mode, model string) {
		t.Helper()
		if got := selected(t, message); got["mode"] != mode || got["model"] != model {
			t.Errorf("%s: %v, want %s and %s", when, got, mode, model)
		}
	}
	r := e.call("session/new", map[string]any{"cwd": e.dir, "mcpServers": []any{}})
	id, _ := r["sessionId"].(string)
	want("a new session", r, "confirm-sensitive", scripted)
	set := func(option, value string) map[string]any {
		return map[string]any{"sessionId": id, "configId": option, "value": value}
	}
	want("another mode", e.call("session/set_config_option", set("mode", "yolo")), "yolo", scripted)

	// Another model answers from the next prompt on.
	prompt, response := e.begin("session/prompt", map[string]any{"sessionId": id, "prompt": blocks("q")})
	e.seen("It begins.")
	want("another mode meanwhile", e.call("session/set_config_option", set("mode", "confirm-all")), "confirm-all", scripted)
	_, chosen := e.begin("session/set_config_option", set("model", "demo"))
	e.notify("session/cancel", map[string]any{"sessionId": id})
	if f := e.wait(response); !strings.Contains(f.raw, "cancelled") {
		t.Errorf("the prompt %s: %s", prompt, f.raw)
	}
	result, _ := e.wait(chosen).Result.(map[string]any)
	want("another model", result, "confirm-all", "demo")
	if stop := e.prompt(id, "say hello"); stop != "end_turn" {
		t.Errorf("the demo's answer ends as %s", stop)
	}

	// What /model and session/set_mode change is told.
	e.prompt(id, "/model "+scripted)
	e.call("session/set_mode", map[string]any{"sessionId": id, "modeId": "yolo"})
	updates := e.updates(id, "config_option_update")
	if len(updates) != 1 {
		t.Fatalf("%d updates: %v", len(updates), updates)
	}
	want("/model", updates[0], "confirm-all", scripted)
	e.call("session/close", map[string]any{"sessionId": id})
	want("a loaded session", e.call("session/load", map[string]any{"sessionId": id, "cwd": e.dir, "mcpServers": []any{}}), "confirm-sensitive", scripted) // as the flag has it

	for name, params := range map[string]map[string]any{
		"no option": set("thoughts", "many"), "no mode": set("mode", "fly"), "no model": set("model", "another"), "a switch": {"sessionId": id, "configId": "mode", "type": "boolean", "value": true},
	} {
		if code, text := e.refused("session/set_config_option", params); code != -32602 {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
	if code, _ := e.refused("session/set_config_option", map[string]any{"sessionId": "x", "configId": "mode", "value": "yolo"}); code != -32002 {
		t.Errorf("no session: %d", code)
	}
}
