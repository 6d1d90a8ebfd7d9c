// Command mylm-cluster is mylm on many machines: runs that survive the process that works
// on them, on Temporal, and one memory and one record of sessions in PostgreSQL.
//
//	export MYLM_DATABASE=postgres://mylm@db.example/mylm PGPASSWORD=…
//	mylm-cluster migrate
//	mylm-cluster worker -m qwen3:8b --workspace ~/shop &
//	mylm-cluster ask "which host is staging?"
//	mylm-cluster agent run "find out which test is slow, and why"
//
// # Files
//
// main.go has the list of commands, errors.go what is said about errors, connect.go how
// the database is reached, dial.go how Temporal is. run.go starts runs and agent.go plans,
// watch.go follows them, record.go reads a session, a plan's with those of its tasks, and
// play.go and playplan.go make events of its entries. Each other file is a command or few.
//
// # Output
//
// stdout has what was asked for, stderr what happened and what to do about a failure. The
// exit codes, events and JSON are those of mylm: see package failure and docs/events.md.
package main
