package approval

// Waiting returns how many requests the broker still keeps something for in memory.
func (b *Broker) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting) + len(b.open) + len(b.attends)
}

// Kept returns how many requests the feed keeps.
func (f *Feed) Kept() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.open)
}
