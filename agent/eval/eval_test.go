package eval_test

import (
	"testing"

	"mylm/agent/eval"
)

// Every check can pass and can fail: the right script of each task passes, and each
// wrong one fails.
func TestCoreVerifies(t *testing.T) {
	t.Parallel()
	core := eval.Core()
	if n := len(core.Tasks); n < 80 {
		t.Errorf("core has %d tasks", n)
	}
	if n := len(eval.Smoke().Tasks); n != 12 {
		t.Errorf("smoke has %d tasks", n)
	}
	if err := core.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
