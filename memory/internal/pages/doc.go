// Package pages reads rows from the pages of an SQLite database, whatever
// state the database is in.
//
// # Smallest use
//
//	file := pages.Open(db, log) // log may be nil
//	err := file.Rows(ctx, 15, 2, func(row pages.Row) { … })
//
// # Words
//
// SQLite finds rows through trees, and loses what hangs on a page that is
// broken. Here every page is looked at for itself, and the rows of those that
// are leaves of a table are given out, in no order. The write-ahead log counts
// as far as it was committed. The form of all this is described in
// https://www.sqlite.org/fileformat2.html.
//
// # Limits
//
// A row is recognised by its shape only, its number of columns: whoever reads
// it checks what it holds. A row that was deleted is not found again if the
// database was written with secure_delete. Text is taken for UTF-8.
package pages
