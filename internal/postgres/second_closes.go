package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/equity"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/picks"
)

// SecondClose is the close of a share on a day according to a second publisher.
type SecondClose struct {
	// Fetch is the response's row in the fetch log. Its ID and FetchedAt are read.
	Fetch series.Fetch
	Bar   equity.Bar
}

const addSecondCloseSQL = `
	insert into second_closes (date, cik, source, edition, known_at, close, fetch_id)
	select @date, @cik, @source, coalesce(last.edition + 1, 0), @known_at, @close::text::numeric, @fetch_id
	from (select) one
	left join lateral (
		select edition, close from second_closes
		where date = @date and cik = @cik and source = @source
		order by edition desc
		limit 1
	) last on true
	where last.close is null or last.close::text <> @close::text
	on conflict do nothing` // primary key

// AddSecondCloses stores a second publisher's closes that differ from the stored ones, and returns the number of added rows. It stores all
// or nothing, and only while the attempt in f is current.
func (db EquityStore) AddSecondCloses(ctx context.Context, f task.Fence, closes []SecondClose) (added int64, err error) {
	return db.addSecondCloses(ctx, f, 0, closes)
}

// AddSecondClosesAgain repeats a step that stored closes.
func (db EquityStore) AddSecondClosesAgain(ctx context.Context, step int64, closes []SecondClose) (added int64, err error) {
	return db.addSecondCloses(ctx, task.Fence{}, step, closes)
}

func (db EquityStore) addSecondCloses(ctx context.Context, f task.Fence, again int64, closes []SecondClose) (added int64, err error) {
	if len(closes) == 0 && again == 0 {
		return 0, nil
	}
	var b pgx.Batch
	for _, c := range closes {
		b.Queue(addSecondCloseSQL, pgx.NamedArgs{
			"date": c.Bar.Date, "cik": int64(c.Bar.CIK), "source": c.Bar.Source, "known_at": c.Fetch.FetchedAt, "close": string(c.Bar.Close),
			"fetch_id": c.Fetch.ID,
		})
	}
	loads := make([]EquityLoad, len(closes))
	for i, c := range closes {
		loads[i] = EquityLoad{Fetch: c.Fetch, Choice: EquityChoice{Day: c.Bar.Date}}
	}
	step, err := equityStep(loads)
	if err != nil {
		return 0, fmt.Errorf("store second closes: %w", err)
	}
	err = db.tx(ctx, func(tx pgx.Tx) error {
		if added, err = runBatch(ctx, tx, &b); err != nil {
			return err
		}
		if err := checkFence(ctx, tx, f, added); err != nil {
			return err
		}
		return noteLoad(ctx, tx, step, again)
	})
	if err != nil {
		return 0, fmt.Errorf("store second closes: %w", err)
	}
	return added, nil
}

const secondClosesSQL = `
	select distinct on (cik) cik, source, close::text
	from second_closes
	where date = @date and known_at <= @as_of
	order by cik, known_at desc, source, edition desc` // primary key

// SecondCloses returns a day's closes of second publishers, as known at an instant. If several publishers have a close, the close that
// became known last is used.
func (db EquityStore) SecondCloses(ctx context.Context, day, asOf time.Time) (map[equity.CIK]picks.SecondClose, error) {
	rows, err := db.reads.Query(ctx, secondClosesSQL, pgx.NamedArgs{"date": day, "as_of": asOf})
	if err != nil {
		return nil, fmt.Errorf("read second closes: %w", err)
	}
	all := map[equity.CIK]picks.SecondClose{}
	var cik equity.CIK
	var c picks.SecondClose
	if _, err := pgx.ForEachRow(rows, []any{&cik, &c.Source, &c.Close}, func() error { all[cik] = c; return nil }); err != nil {
		return nil, fmt.Errorf("read second closes: %w", err)
	}
	return all, nil
}
