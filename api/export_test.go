package api

// Watched tells whether p knows of a worker that asks the chain.
func (p *Payments) Watched() bool { return p.watched() }
