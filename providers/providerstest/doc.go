// Package providerstest checks that a backend keeps the contract of
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
// to every call, with a record of what its server saw. A Backend opens rigs and
// declares what it cannot show; the suite omits those checks.
//
// # Limits
//
// The suite counts goroutines, so no other test may run in parallel with it. It
// does not cover what is particular to one backend: its wire format, its error
// texts, its retries.
package providerstest
