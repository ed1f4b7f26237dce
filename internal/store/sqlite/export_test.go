package sqlite

// RotateAt makes the journal start anew when it is that large.
func (s *Store) RotateAt(n int64) {
	s.feeding.Lock()
	defer s.feeding.Unlock()
	s.feeder.max = n
}
