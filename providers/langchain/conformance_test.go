package langchain_test

import (
	"slices"
	"testing"

	"mylm/providers"
	"mylm/providers/providerstest"
)

func TestConformance(t *testing.T) {
	for _, s := range fakeAPIs {
		t.Run(s.provider+"/streaming", func(t *testing.T) { conform(t, s, true) })
		if s.whole != nil {
			t.Run(s.provider+"/in one piece", func(t *testing.T) { conform(t, s, false) })
		}
	}
}

func conform(t *testing.T, s fakeAPI, streams bool) {
	b := providerstest.Backend{
		Open:     func(t *testing.T, r providerstest.Reply) providerstest.Rig { return s.rig(t, r, streams) },
		Thoughts: s.thought != nil,
		Usage:    true,
		NoSeed:   s.noSeed,
		OnePiece: !streams,
		Fails: []providers.Kind{providers.ModelMissing, providers.CannotChat, providers.Auth, providers.RateLimited, providers.Overflow,
			providers.Filtered, providers.BadRequest, providers.ServerFault, providers.Unreachable, providers.Interrupted},
		Breaks: []providers.Kind{providers.Interrupted},
	}
	if streams {
		b.Breaks = append(b.Breaks, providers.ServerFault, providers.Overflow, providers.RateLimited)
	}
	unstated := func(k providers.Kind) bool { return slices.Contains(s.cannot, string(k)) }
	b.Fails, b.Breaks = slices.DeleteFunc(b.Fails, unstated), slices.DeleteFunc(b.Breaks, unstated)
	providerstest.Run(t, b)
}
