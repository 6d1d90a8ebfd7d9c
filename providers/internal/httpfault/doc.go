// Package httpfault reads what went wrong with an HTTP request, for the
// backends below providers: why no answer came, how long to wait, and what a
// server said, fit to be shown.
//
// It decides nothing: which kind of providers.Error comes of it is the
// backend's business, since each server means something else by the same
// status.
package httpfault
