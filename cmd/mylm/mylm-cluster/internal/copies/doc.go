// Package copies keeps copies of a workspace on the machine of a worker, one for each run
// that works there, and says at the end of a run what it has changed, as a patch that
// git apply and patch read.
//
// # Files
//
//	DIR/lock            held by the one process that uses DIR
//	DIR/id              names it, so that it is the same when it is started again
//	DIR/copies/ID/base  the workspace as it was
//	DIR/copies/ID/work  a directory of the workspace's name, in which the run works
//	DIR/copies/ID/owner the run that it is for
//	DIR/copies/ID/kept  there if the copy stays for a week after the run
//	DIR/new             copies that are being made: what a kill left is removed by Open
//
// # Limits
//
// A copy is made file by file, while others may write to the workspace. Sockets, devices and
// pipes are left out. How much a run adds to its copy is not limited.
package copies
