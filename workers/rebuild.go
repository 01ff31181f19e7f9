package workers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/internal/postgres"
)

// Rebuilt is the result of computing the stored portfolio again.
type Rebuilt struct {
	// Snapshots counts the stored snapshots that were computed again, of all editions.
	Snapshots int
	// Differences lists the stored values that differ from the computed ones, one per line. Empty: all are equal, bit for bit.
	Differences []string
}

// Rebuild computes every stored snapshot of the portfolio, and its state, again from the picks and from the prices as known at the
// instant of the original computation. It compares them bit for bit, and changes nothing. Each instant costs a portfolio computation from
// its first day, so a long record takes minutes. which chooses among the instants, from the oldest to the newest; nil: all.
func (p Publications) Rebuild(ctx context.Context, which func(asOf time.Time) bool) (Rebuilt, error) {
	stored, err := p.Picks.DB.PortfolioSnapshots(ctx)
	if err != nil {
		return Rebuilt{}, err
	}
	var r Rebuilt
	byBasis := map[time.Time][]postgres.PortfolioSnapshot{}
	for _, s := range stored {
		byBasis[s.AsOf.UTC()] = append(byBasis[s.AsOf.UTC()], s)
	}
	bases := make([]time.Time, 0, len(byBasis))
	for asOf := range byBasis {
		bases = append(bases, asOf)
	}
	slices.SortFunc(bases, time.Time.Compare)
	for _, asOf := range bases {
		if which != nil && !which(asOf) {
			continue
		}
		list := byBasis[asOf]
		r.Snapshots += len(list)
		book, err := p.book(ctx, asOf, time.Time{})
		if err != nil {
			return r, err
		}
		again := book.simulate(list[len(list)-1].Date)
		for _, s := range list {
			name := fmt.Sprintf("%s (edition %d)", s.Date.Format(time.DateOnly), s.Edition)
			switch now, ok := again.Day(s.Date); {
			case !ok || !now.Date.Equal(s.Date):
				r.Differences = append(r.Differences, name+" is stored, and there is no such session by the picks")
			case !s.Same(now):
				r.Differences = append(r.Differences, fmt.Sprintf("%s: stored return %v, drawdown %v, cash %v; reckoned %v, %v, %v", name,
					s.ReturnPct, s.DrawdownPct, s.CashPct, now.ReturnPct, now.DrawdownPct, now.CashPct))
			}
		}
	}
	return r, p.rebuildState(ctx, &r)
}

func (p Publications) rebuildState(ctx context.Context, r *Rebuilt) error {
	state, err := p.Picks.DB.PortfolioState(ctx)
	if errors.Is(err, postgres.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	book, err := p.book(ctx, state.AsOf, time.Time{})
	if err != nil {
		return err
	}
	if book.second, err = p.Picks.DB.SecondCloses(ctx, state.Date, state.AsOf); err != nil {
		return err
	}
	again := postgres.StateOf(book.simulate(state.Date), state.AsOf)
	for _, part := range []struct {
		name        string
		stored, now any
	}{
		{"performance", state.Performance, again.Performance},
		{"positions", state.Positions, again.Positions},
		{"sectors", state.Sectors, again.Sectors},
		{"regions", state.Regions, again.Regions},
	} {
		stored, err1 := json.Marshal(part.stored)
		now, err2 := json.Marshal(part.now)
		if err := errors.Join(err1, err2); err != nil {
			return fmt.Errorf("compare the %s: %w", part.name, err)
		}
		if !bytes.Equal(stored, now) {
			r.Differences = append(r.Differences, fmt.Sprintf("the %s of %s differ: stored %s; reckoned %s", part.name,
				state.Date.Format(time.DateOnly), stored, now))
		}
	}
	return nil
}
