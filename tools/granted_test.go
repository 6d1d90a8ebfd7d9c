package tools_test

import (
	"context"
	"encoding/json"
	"testing"

	"mylm/tools"
)

// A tool learns what its call was allowed with, and whether its run is tainted; without a registry, nothing.
func TestGranted(t *testing.T) {
	var got tools.Effect
	var ok, tainted bool
	tool, err := tools.New("look", "Looks.", tools.Reads|tools.Leaves, func(ctx context.Context, _ struct{}) (tools.Result, error) {
		got, ok = tools.Granted(ctx)
		tainted = tools.Tainted(ctx)
		return tools.Result{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(tool)
	if err != nil {
		t.Fatal(err)
	}
	inv, err := registry.Prepare("look", json.RawMessage(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	inv.Tainted = true
	if out := inv.Run(t.Context(), 0); !out.Success() || !ok || got != tools.Reads|tools.Leaves || !tainted {
		t.Errorf("granted %q, %v, tainted %v", got, ok, tainted)
	}
	if _, err := tool.Run(t.Context(), json.RawMessage(`{}`)); err != nil || ok || tainted {
		t.Errorf("without a registry: %v, %v, %v", ok, tainted, err)
	}
}
