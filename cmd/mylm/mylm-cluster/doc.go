// Command mylm-cluster looks after what many machines share: the memory and the sessions
// in a PostgreSQL database.
//
//	export MYLM_DATABASE=postgres://mylm@db.example/mylm PGPASSWORD=…
//	mylm-cluster migrate
//	mylm memory export | mylm-cluster memory import
//	mylm-cluster memory search "which host is staging?"
//
// # Output
//
// stdout has what was asked for, stderr what happened and what to do about a failure.
//
// # Exit codes
//
// 0, 1 for an error, 2 for one in the command line or in how the database is set up, 3
// where the server cannot be reached, and 130 after an interrupt: those of mylm.
package main
