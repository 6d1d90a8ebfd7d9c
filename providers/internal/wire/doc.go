// Package wire is the HTTP side of the backends below providers: it reads the
// replies of models as they stream, and classifies what went wrong.
//
// A client library (Ollama's, langchaingo's) writes the request. Its transport
// is a Link, which finds the Exchange of the call in the request's context. The
// Exchange reads the reply with the Reader of its Format, passes the pieces to
// the caller, and keeps what the library would drop: headers, whole error
// bodies, and whether the stream ended or broke. Failure turns all of that into
// one *providers.Error.
//
// A Server describes who is asked, for messages and hints. These are facts:
// they name no flag or variable of a command.
package wire
