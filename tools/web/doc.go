// Package web is the tool web_fetch: it gets one page of the web and shows it
// to the model as Markdown or plain text.
//
// # Smallest use
//
//	fetch, err := web.New(web.Options{})
//	registry, err := tools.NewRegistry(fetch)
//
// # Words
//
// A page is public if its address is http or https and its host resolves to
// nothing but addresses of the public internet. The connection goes to the
// address that was checked, so a name cannot change in between. Only public
// pages are fetched, and those of hosts that Options.AllowHosts names.
//
// A redirect is followed on the same host, at most five times and never from
// https to http. One that leads to another host is reported to the model
// instead of being followed: permission for the first host is not permission
// for the second.
//
// HTML becomes Markdown: the element main if there is one, and from the element
// that the fragment of the address names. What a reader would not see is
// omitted: comments, scripts, styles, templates, elements with the attribute
// hidden or whose own style takes them away, makes them transparent or tiny, or
// moves them off the screen; and characters that show nothing. Other text is
// shown unchanged. Anything else is described.
//
// # Limits
//
// At most MaxBytes of a page are read, after decompression, and at most
// MaxOutput shown: its beginning and its end. One call takes at most Timeout.
// Of a page that is too long or too slow, what came is shown.
//
// No cookie, credential or referrer is sent, and no proxy of the environment is
// used. No script runs and no stylesheet is read: text that only these would
// show or hide is included as it is. A page is never trusted: a Result has the
// origin tools.Web.
//
// Another machine of the local network that has a public address, as is usual
// with IPv6, counts as public. The request itself sends the text of its address
// to its host, so a call has the effect tools.Network and needs a decision.
package web
