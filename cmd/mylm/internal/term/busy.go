package term

// Busy shows a spinner until done is called.
func (s *Screen) Busy(label string) (done func()) {
	if s.Still {
		return func() {}
	}
	sp := NewSpinner(s)
	sp.Show(label)
	return sp.Hide
}
