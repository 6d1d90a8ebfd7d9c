// Package postgres keeps memories and sessions in a PostgreSQL database with pgvector,
// for many processes and many tenants.
//
// # Smallest use
//
//	_, err := postgres.Migrate(ctx, address) // once for each version of the program
//	db, err := postgres.Open(ctx, address)
//	defer db.Close()
//	store, err := db.Memory(ctx, "team-a", memory.Options{})
//	defer store.Close()
//	sessions, err := db.Sessions("team-a")
//	a, err := agent.New(agent.Options{Model: model, Recorder: sessions})
//
// # Words
//
// A tenant is whom rows belong to: a team, a customer. Its memory and its sessions are
// found under its name alone. PostgreSQL itself sees to that, by row-level security: a
// statement that names another, or none, finds nothing or fails. A superuser is exempt
// from it, so Open refuses one.
//
// The store is a memory.Store: the statements, the index of words and the ranking are
// those of a file. What PostgreSQL does in its own way is a memory.Backend: one writer
// of a tenant at a time, vectors of two bytes for each number, and an HNSW index of the
// vectors of each length.
//
// Sessions are the entries of journal.Store. A number of an entry is given once: of two
// runs that continue a session, the one that comes second to an entry is refused, before
// it does what the entry announces.
//
// Payloads are what a workflow engine keeps outside its histories: package temporal.
//
// # Limits
//
// PostgreSQL 15 or later with pgvector 0.8 or later. An id and the names of a session,
// a project and a speaker have at most 2,000 bytes. Forget deletes the rows; PostgreSQL
// uses their space again after a VACUUM, and copies are in its write-ahead log, its
// replicas and its backups until those are gone. A session whose run is under way is
// listed as unfinished, as is one whose process died.
package postgres
