package fastpath

// Tracked returns the number of connections that Close would end.
func (l *Listener) Tracked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}
