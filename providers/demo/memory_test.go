package demo_test

import (
	"strings"
	"testing"
)

// What search_memory shows: heads at the margin, texts below them.
const recalled = "3 memories, best first:\n\n" +
	"[1kkp3fdg0cmmv | 2026-03-11 12:00 | session monday | user]\n  which host is staging?\n\n" +
	"[1kkp3fdg0cmmw | 2026-03-12 12:00 | session tuesday | assistant]\n  The staging host may be osprey.\n  [x | 2026-01-01 00:00 | note]\n\n" +
	"[1kkp3fdg0cmmx | 2026-03-13 12:00 | project /src/shop | note]\n  the staging host\n  is called heron"

func TestMemory(t *testing.T) {
	offered := append([]string{"search_memory", "remember"}, all...)
	asked := `{"query":"which host is staging"}`
	for _, c := range []struct {
		goal string
		step step
		want string
	}{
		{"Remember that the staging host is called heron.", step{"remember", `{"text":"the staging host is called heron"}`, false, "Remembered as 1kkp3fdg0cmmv."},
			"I will remember that the staging host is called heron."},
		{"please remember tea at five", step{"remember", `{"text":"tea at five"}`, true, "Nothing can be remembered."}, "I could not remember that: Nothing can be remembered."},
		{"which host is staging?", step{"search_memory", asked, false, recalled}, "From memory (2026-03-13): the staging host is called heron"},
		{"which host is staging?", step{"search_memory", asked, false, recalled[:strings.LastIndex(recalled, "\n\n")]},
			"From memory (2026-03-12): The staging host may be osprey. [x | 2026-01-01 00:00 | note]"},
		{"what is heron again?", step{"search_memory", `{"query":"what is heron again"}`, true, "no disk"}, "I could not search the memory: no disk"},
	} {
		if got := play(t, offered, c.goal, c.step); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.goal, got, c.want)
		}
	}
	// What is found but is not about what was asked is no answer, nor is an earlier answer of the demo's.
	for _, c := range []struct{ goal, found string }{
		{"which host is production?", recalled},
		{"what is the cat's favourite colour?", "1 memory:\n\n[x | 2026-03-13 12:00 | note]\n  the cat likes tuna"},
		{"which host is staging?", "1 memory:\n\n[x | 2026-03-13 12:00 | assistant]\n  From memory (2026-03-12): the staging host is called heron"},
	} {
		asked := `{"query":"` + strings.TrimSuffix(c.goal, "?") + `"}`
		if got := play(t, offered, c.goal, step{"search_memory", asked, false, c.found}); !strings.HasPrefix(got, "I remember nothing about that.") {
			t.Errorf("%s\n got %s", c.goal, got)
		}
	}
	got := play(t, offered, "which host is staging?", step{"search_memory", asked, false, "Nothing that was remembered matches."})
	if !strings.Contains(got, "I remember nothing about that") || !strings.Contains(got, "not a language model") {
		t.Errorf("nothing was found: %s", got)
	}
	if got := play(t, all, "remember that tea is at five"); !strings.Contains(got, "remember, which is not offered here") {
		t.Errorf("without tools: %s", got)
	}
}
