// Package memorytest holds a memory to what every memory promises.
//
// # Smallest use
//
//	func TestConformance(t *testing.T) {
//		memorytest.Run(t, func(t *testing.T, path string) memorytest.Store {
//			store, err := memory.Open(t.Context(), path, memory.Options{})
//			…
//			return store
//		})
//	}
//
// # Words
//
// A path names a memory: to open it twice is to have the same memory twice, as
// two processes have. The suite closes what it opens.
//
// # Limits
//
// What happens to damaged files, on a full disk or after a crash depends on
// how a memory is kept, and is tested there.
package memorytest
