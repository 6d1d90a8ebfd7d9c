// Package diskfull recognises the errors of a disk without space.
//
//	if diskfull.Is(err) { ... } // make room, nothing else is wrong
//
// A used-up quota counts: for who writes, it is the same.
package diskfull
