package main

import (
	"log/slog"

	"tidemark/internal/postgres"
	"tidemark/workers"
)

// newPicks is the job of the daily pick by the settings.
func (p *program) newPicks(db *postgres.DB, log *slog.Logger) (workers.Picks, error) {
	at, err := p.settings.Clocks()
	if err != nil {
		return workers.Picks{}, usageError{err}
	}
	daily := workers.Picks{DB: db, Cards: workers.Cards{DB: db, Log: log}, Announce: at.Announce, Cutoff: at.Cutoff, Log: log}
	for _, d := range p.definitions() {
		daily.Signals = append(daily.Signals, d.ID)
	}
	return daily, nil
}
