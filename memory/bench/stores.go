package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/blevesearch/bleve/v2"
	"github.com/philippgille/chromem-go"

	"mylm/memory"

	_ "modernc.org/sqlite"
)

// store is what is measured.
type store interface {
	// record adds documents, durably; first is the number of the first.
	record(ctx context.Context, first int, texts ...string) error
	search(ctx context.Context, question string) (hits int, err error)
	close() error
}

// opened opens or makes the store of a name in a folder.
func opened(ctx context.Context, name, dir string) (store, error) {
	switch kind, dimension, _ := strings.Cut(name, "/"); kind {
	case "mylm":
		s, err := memory.Open(ctx, filepath.Join(dir, "memory.db"), memory.Options{})
		if n, _ := strconv.Atoi(dimension); err == nil && n > 0 {
			s.Use(noise(n), func(err error) { panic(err) })
		}
		return mylm{s}, err
	case "fts5":
		db, err := sql.Open("sqlite", filepath.Join(dir, "fts5.db")+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=busy_timeout(5000)")
		if err == nil {
			_, err = db.ExecContext(ctx, "CREATE VIRTUAL TABLE IF NOT EXISTS documents USING fts5(text, tokenize = 'porter unicode61')")
		}
		return fts5{db}, err
	case "bleve":
		path := filepath.Join(dir, "bleve")
		index, err := bleve.Open(path)
		if errors.Is(err, bleve.ErrorIndexPathDoesNotExist) {
			index, err = bleve.New(path, bleve.NewIndexMapping())
		}
		return bleved{index}, err
	case "chromem":
		db, err := chromem.NewPersistentDB(filepath.Join(dir, "chromem"), false)
		if err != nil {
			return nil, err
		}
		all, err := db.GetOrCreateCollection("documents", nil, embedded)
		return chromemed{all}, err
	}
	return nil, fmt.Errorf("no store is called %q", name)
}

type mylm struct{ *memory.Store }

func (s mylm) close() error { return s.Close() }

func (s mylm) record(ctx context.Context, first int, texts ...string) error {
	var all []memory.Document
	for i, text := range texts {
		all = append(all, document(first+i, text))
	}
	_, err := s.Add(ctx, all...)
	return err
}

func (s mylm) search(ctx context.Context, question string) (int, error) {
	hits, err := s.Search(ctx, memory.Query{Text: question})
	return len(hits), err
}

type fts5 struct{ *sql.DB }

func (s fts5) close() error { return s.Close() }

func (s fts5) record(ctx context.Context, _ int, texts ...string) error {
	tx, err := s.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after a commit
	for _, text := range texts {
		if _, err := tx.ExecContext(ctx, "INSERT INTO documents VALUES (?)", text); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (s fts5) search(ctx context.Context, question string) (n int, err error) {
	found, err := s.QueryContext(ctx, "SELECT text FROM documents WHERE documents MATCH ? ORDER BY rank LIMIT 5", strings.Join(strings.Fields(question), " OR "))
	if err != nil {
		return 0, err
	}
	defer found.Close()
	for found.Next() {
		n++
	}
	return n, found.Err()
}

type bleved struct{ bleve.Index }

func (s bleved) close() error { return s.Close() }

func (s bleved) record(_ context.Context, first int, texts ...string) error {
	b := s.NewBatch()
	for i, text := range texts {
		if err := b.Index(strconv.Itoa(first+i), map[string]string{"text": text}); err != nil {
			return err
		}
	}
	return s.Batch(b)
}

func (s bleved) search(ctx context.Context, question string) (int, error) {
	request := bleve.NewSearchRequestOptions(bleve.NewMatchQuery(question), 5, 0, false)
	request.Fields = []string{"text"}
	found, err := s.SearchInContext(ctx, request)
	if err != nil {
		return 0, err
	}
	return len(found.Hits), nil
}

type chromemed struct{ *chromem.Collection }

func (chromemed) close() error { return nil }

// chromemDimension is that of chromem-go's vectors.
const chromemDimension = 384

func embedded(_ context.Context, text string) ([]float32, error) {
	return noise(chromemDimension).vector(text), nil
}

func (s chromemed) record(ctx context.Context, first int, texts ...string) error {
	var all []chromem.Document
	for i, text := range texts {
		all = append(all, chromem.Document{ID: strconv.Itoa(first + i), Content: text})
	}
	return s.AddDocuments(ctx, all, 2)
}

func (s chromemed) search(ctx context.Context, question string) (int, error) {
	found, err := s.Query(ctx, question, 5, nil, nil)
	return len(found), err
}
