package wire

import (
	"fmt"
	"strings"

	"mylm/internal/near"
)

// DidYouMean asks whether one of the models was meant that look most like the
// wanted one; "" if none does. What comes before a slash or after a colon counts
// little.
func DidYouMean(want string, models []string) string {
	base := func(s string) string {
		s, _, _ = strings.Cut(strings.ToLower(s[strings.LastIndexByte(s, '/')+1:]), ":")
		return s
	}
	w := base(want)
	best := near.Best(models, func(name string) (int, bool) {
		b := base(name)
		d := near.Distance(w, b)
		if w != "" && (strings.HasPrefix(b, w) || strings.HasPrefix(w, b)) {
			d = min(d, 1)
		}
		return d, d <= max(1, len(w)/3)
	})
	if len(best) == 0 {
		return ""
	}
	for i, name := range best {
		best[i] = OneLine(strings.TrimSuffix(name, ":latest"))
	}
	return fmt.Sprintf("Did you mean %s?", strings.Join(best, " or "))
}
