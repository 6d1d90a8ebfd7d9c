package journal

import "os"

// SetSync has files put on the disk by another function than (*os.File).Sync.
func (s *Store) SetSync(sync func(*os.File) error) { s.sync = sync }

// Held says how many files the store has, and how many calls are not forgotten in
// them.
func (s *Store) Held() (files, calls int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		f.mu.Lock()
		calls += len(f.syncResults)
		f.mu.Unlock()
	}
	return len(s.files), calls
}
