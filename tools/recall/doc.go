// Package recall gives a model a memory: search_memory finds what was said and
// done before, read_memory shows its context, remember stores a note.
//
// # Smallest use
//
//	o := recall.Options{
//		Open:    func(ctx context.Context) (*memory.Store, error) { return memory.Open(ctx, path, memory.Options{}) },
//		Project: "/src/shop",
//	}
//	search, err := recall.SearchMemory(o)
//	read, err := recall.ReadMemory(o)
//	remember, err := recall.Remember(o)
//	registry, err := tools.NewRegistry(search, read, remember)
//
// # Words
//
// The project is what the conversation is about; a search stays inside it
// unless the model asks for another scope. The session is the conversation
// itself. The store is opened when the first call needs it, never before.
//
// What is recalled is data: a Result has the origin tools.Memory, each line of
// a recalled text is indented, and the lines that begin at the margin are the
// tool's own. So no text can pass for another memory. The caller that puts a
// Result into a prompt neutralises tags in it.
//
// # Limits
//
// Remember only adds: nothing is ever changed or deleted by a model. A text
// that does not fit the budget is cut around the matches, and marked as cut.
package recall
