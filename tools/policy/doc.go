// Package policy decides whether a call of a tool runs, needs approval, or is forbidden.
//
// # Smallest use
//
//	p, err := policy.New(policy.Options{Deny: []string{"execute_command(git push)"}})
//	d := p.Decide(policy.Call{Tool: "execute_command", Effect: tools.Runs, Line: "git push"})
//	fmt.Println(d.Verdict, d.Why)
//
// # Terms
//
// A mode sets what needs approval: everything (ConfirmAll), what may do more
// than read in the workspace (ConfirmSensitive, the default), nothing (Yolo).
//
// Unasked sets which command lines run without a question: any, confined to
// reading by the sandbox of the tool that runs them (Sandbox), those of plain
// readers (Readers), none (Never). A held call that lacked a permission is
// decided about again, with what it was refused.
//
// A deny rule forbids, in every mode. It is TOOL, for every call of a tool, or
// TOOL(PATTERN). For a tool that runs command lines the pattern is compared
// with each command in the line, also after wrappers such as sudo and in the
// text for sh -c:
//
//	execute_command(git push)             git push, with whatever follows
//	execute_command(rm -rf)               rm with both flags: -rf, -fR, -r -f, -rfv
//	execute_command(rm -r|-R * /|~)       rm -r or rm -R of / or ~, among others
//	execute_command(> /dev/sd*)           a redirect that writes to such a file
//	web_fetch(*.example.com*)             an argument, or the host, that fits
//
// The words of a pattern have to come in this order from the first one on; what
// follows does not matter. A word that begins with - may occur anywhere. In a
// word * matches any text, a|b either, and \ escapes the next character; * as a
// word matches any number of words. A program is compared without its
// directory.
//
// Allow rules replace the question: for exactly the same call with the same
// permissions in this session, for a host in this session, or for a prefix of
// command lines in a project. No prefix is made for a program that runs its
// arguments. A prefix covers a line only if every command in it is covered or a
// plain reader, with nothing else in it, nothing is piped or redirected into a
// covered one, and nothing but known flags and names follow. It holds in all
// directories of the project. Prefixes are kept in a Store.
//
// In a run that has read text from strangers, no allow rule applies until a
// person has allowed something in it.
//
// # Limits
//
// Deny rules see the text of a line, and what the line itself sets, echoes or
// feeds to a shell. They do not see a computed name, a script or a Makefile, an
// existing setting or alias, or a program in another language: they stop
// mistakes, not attacks.
package policy
