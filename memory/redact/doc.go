// Package redact knows the forms of secrets. It takes them out of texts, and
// finds them in settings.
//
// # Smallest use
//
//	clean, found := redact.Text("deploy with password=hunter2")
//	// clean is "deploy with password=[redacted: password]", found is ["password"]
//
// Text finds blocks of private keys, keys and tokens with a known form, values
// assigned to a name such as password or API_KEY, what follows Bearer and Basic
// in headers, session cookies, passwords and tokens in URLs, passwords that are
// options of well-known commands or piped into sudo, passwords, PINs, keys and
// tokens that a sentence states (in English, and with the usual words in German,
// French, Spanish, Portuguese, Dutch, Russian, Japanese, Chinese and Korean), the
// numbers of cards and of bank accounts (IBAN), and social security numbers of the
// USA that are called so.
//
// Name, Password and Arguments are for whoever shows a configuration: which
// settings are secret by their name, and where a secret is inside an address or
// a command line. They err towards hiding; Text errs towards keeping.
//
// # Limits
//
// A password in prose without the word before it is not recognised. Expressions
// are compiled on first use; importing the package costs nothing.
package redact
