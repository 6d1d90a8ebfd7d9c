// Package pgtest runs tests against a real PostgreSQL with pgvector.
//
// # Smallest use
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
//
//	func TestX(t *testing.T) {
//		address := pgtest.Database(t) // empty, and of this test alone
//		…
//	}
//
// POSTGRES_TEST_BIN is the directory of its programs; scripts/get-postgres installs them
// and prints it. Without it, tests skip; with POSTGRES_TEST_REQUIRED=1 its absence is a
// failure. The server is started by the first test that asks for a database, listens on
// a socket in a temporary directory alone, and is removed when Main returns.
package pgtest
