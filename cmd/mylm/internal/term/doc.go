// Package term handles the terminal: what goes to stdout and stderr ([Screen]),
// questions ([Prompter]), text that is safe to show and fits ([Visible],
// [OneLine], [Preview]), and signals.
//
//	screen := term.NewScreen(term.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, "auto")
//	screen.Dim("$ ls")
//	screen.Answer("Two files.\n")
//
// Everything that mylm prints follows this table.
//
//	what                        where    when
//	answer                      stdout   at the end, whole; as it comes, in rows that are drawn, if stdout is a terminal
//	text before a tool call     stdout   only as it comes, on a terminal
//	--json object               stdout   at the end, instead of the answer
//	tool calls, notices         stderr   always, but not with --quiet
//	thought, statistics         stderr   with --verbose
//	spinner                     stderr   if stderr is a terminal that can, not with --quiet
//	tree of a plan              stderr   in place if stderr is a terminal that can, else a line per step, not with --quiet
//	errors and what to do       stderr   always
//	questions (allow? which?)   /dev/tty if there is one and CI is not set; else the answer is no
//
// A run that stopped at a limit prints the last text of the model on stdout, if
// there is any. After a failure of the model, an interrupt, a timeout,
// unreadable replies or a full context stdout stays empty.
//
// Nothing that a model or a tool wrote reaches a terminal with its control
// characters; a pipe or a file gets the answer as it was written.
package term
