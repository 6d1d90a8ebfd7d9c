// Package policy decides whether a call of a tool runs, is asked about, or is
// forbidden.
//
// # Smallest use
//
//	p, err := policy.New(policy.Options{Deny: []string{"execute_command(git push)"}})
//	d := p.Decide(policy.Call{Tool: "execute_command", Effect: tools.Runs, Line: "git push"})
//	fmt.Println(d.Verdict, d.Why)
//
// # Terms
//
// A mode says what is asked about: everything (ConfirmAll), what may do more than read in the
// workspace (ConfirmSensitive, the default), nothing (Yolo).
//
// Unasked says which command lines need no question: any, held to reading by the
// sandbox of the tool that runs them (Sandbox), those of plain readers (Readers),
// none (Never). A held call that lacked a permission is decided about again, with
// what it was refused.
//
// A deny rule forbids, in every mode. It is TOOL, for every call of a tool, or TOOL(PATTERN). For a tool that runs command
// lines the pattern is compared with each command in the line, also behind wrappers such as sudo and in the text
// for sh -c:
//
//	execute_command(git push)             git push, with whatever follows
//	execute_command(rm -rf)               rm with both flags: -rf, -fR, -r -f, -rfv
//	execute_command(rm -r|-R * /|~)       rm -r or rm -R of / or ~, among others
//	execute_command(> /dev/sd*)           a redirect that writes to such a file
//	web_fetch(*.example.com*)             an argument, or the host, that fits
//
// The words of a pattern have to come in this order from the first one on; what follows does not matter. A word that begins with - may stand
// anywhere. In a word * stands for any text, a|b for either, \ takes the meaning of the next character away; * as a word
// stands for any number of words. A program is compared without its directory.
//
// Allow rules spare the question: for the very same call with the same permissions
// in this session, for a host in this session, or for a prefix of command lines in
// a project. A prefix is never made of a program that runs what it is told to, and covers a line
// only if every command in it is covered or a plain reader, with nothing else in it, nothing is piped or redirected into
// a covered one, and nothing but known flags and names follow. It holds in all
// directories of the project. Prefixes are kept in a Store.
//
// In a run that has read what strangers wrote, no allow rule counts until a person has allowed something in it.
//
// # Limits
//
// Deny rules see what is written in a line, and what the line itself sets, echoes or feeds to a shell. A name that is computed, a script or
// a Makefile, a setting or alias that is there already, or a program in another language is beyond them: they stop mistakes, not attacks.
package policy
