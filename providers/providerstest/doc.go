// Package providerstest holds every backend to the contract of
// providers.Model: one suite, run by each implementation.
//
// # Smallest use
//
//	func TestConformance(t *testing.T) {
//		providerstest.Run(t, providerstest.Backend{
//			Open: func(t *testing.T, r providerstest.Reply) providerstest.Rig {
//				return providerstest.Rig{Model: openModelThatSays(t, r)}
//			},
//		})
//	}
//
// # Words
//
// A Reply is the script of one answer. A Rig is a model that gives this answer
// to every call, with what its other side saw. A Backend opens rigs and says
// what it cannot show; what it does not claim, the suite does not ask.
//
// # Limits
//
// The suite counts goroutines, so no other test may run in parallel with it.
// It says nothing about what is particular to one backend: its wire format,
// its error texts, its retries.
package providerstest
