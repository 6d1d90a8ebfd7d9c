// Package md2man replaces, in the command's go.mod, the converter of Markdown to
// manual pages that urfave/cli imports for functions which nothing here calls. The
// original sets up a Markdown parser at every start; see docs/dependencies.md.
package md2man

// Render returns the Markdown as it is.
func Render(doc []byte) []byte { return doc }
