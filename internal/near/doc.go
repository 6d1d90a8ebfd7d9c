// Package near finds the names that a misspelled one may have meant.
//
//	near.Best(names, func(name string) (int, bool) {
//		d := near.Distance(typed, name)
//		return d, d <= 2
//	})
//
// A name is a short text: longer than 200 bytes it is near nothing but itself.
package near
