// Package sdkcheck holds what mylm serve answers against the types of the official SDKs of
// OpenAI and Anthropic. It is a module of its own, so that nothing else depends on them:
//
//	cd providers/serve/sdkcheck && go test .
//
// # Limits
//
// The types say which fields there are, which must be, and of which kind they are, not what
// they mean. Replies are checked as they are on the wire, without the SDKs' clients.
package sdkcheck
