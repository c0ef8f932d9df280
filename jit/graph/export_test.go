package graph

// Verify is verify, for tests.
func (b *Bound) Verify() error { return b.verify() }
