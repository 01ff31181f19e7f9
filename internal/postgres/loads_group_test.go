package postgres

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/internal/pgtest"
	"tidemark/internal/series"
)

// TestComparedTogetherIsComparedOneByOne draws loads that overlap in every way. It compares them with the stored data in groups and one at
// a time: the rows must be equal.
func TestComparedTogetherIsComparedOneByOne(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	together, alone := over(pgtest.Pool(t)), over(pgtest.Pool(t))
	saved, refused := 0, 0
	for round := range 60 {
		loads := drawn(random, round)
		groups := group(loads)
		single := make([]loadGroup, len(loads))
		for i, l := range loads {
			single[i] = loadGroup{loadRange{i, i + 1}, extents(l)}
		}
		saved += len(single) - len(groups)
		got, gerr := merged(t, together, loads, groups)
		want, werr := merged(t, alone, loads, single)
		if errors.Is(gerr, ErrShrunk) != errors.Is(werr, ErrShrunk) {
			t.Fatalf("round %d: together %v, alone %v", round, gerr, werr)
		}
		if gerr != nil {
			refused++
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("round %d: %+v\n(-alone +together):\n%s", round, loads, d)
		}
	}
	if saved < 10 || refused > 50 {
		t.Errorf("%d steps saved, %d of 60 rounds refused: that shows too little", saved, refused)
	}
}

// drawn returns the loads of one run, of two series.
func drawn(random *rand.Rand, round int) []Load {
	day := func(n int) time.Time { return time.Date(2026, 1, 1+n, 0, 0, 0, 0, time.UTC) }
	loads := make([]Load, 1+random.IntN(5))
	for i := range loads {
		l := Load{
			FetchedAt: day(40).Add(time.Duration(round)*time.Hour + time.Duration(i)*time.Second - time.Duration(random.IntN(2)*random.IntN(3))*time.Hour),
			Published: func(_ series.ID, at time.Time) time.Time { return at.AddDate(0, 0, 3) },
		}
		for _, id := range []series.ID{"a", "b"}[random.IntN(2):] {
			first := 12*i + random.IntN(10) - 4*random.IntN(2)
			n := 1 + random.IntN(8)
			for k := range n {
				if random.IntN(12) > 0 {
					l.Readings = append(l.Readings, series.Reading{Series: id, ObservedAt: day(first + k), Value: float64(random.IntN(3) / 2)})
				}
			}
			window := series.Window{From: day(first), To: day(first + n - 1)}
			switch random.IntN(8) {
			case 0:
				window = series.Window{}
			case 1:
				window.To = time.Time{}
			case 2:
				continue
			}
			l.Covers = append(l.Covers, series.Coverage{Series: id, Window: window})
		}
		loads[i] = l
	}
	return loads
}

// merged compares loads with the stored data in given steps, and returns all stored data after that.
func merged(t *testing.T, db *DB, loads []Load, groups []loadGroup) ([]string, error) {
	t.Helper()
	ctx := t.Context()
	loads = append([]Load(nil), loads...)
	for i := range loads {
		var err error
		loads[i].FetchID, err = db.RecordFetch(ctx, series.Fetch{
			Source: "s", URL: fmt.Sprint(i), Status: 200, FetchedAt: loads[i].FetchedAt, SHA256: strings.Repeat("0", 64),
		}, 0)
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := db.pool.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	if err := stage(ctx, c.Conn(), loads, groups); err != nil {
		t.Fatal(err)
	}
	merr := pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		_, err := merge(ctx, tx, groups)
		return err
	})
	if merr != nil && !errors.Is(merr, ErrShrunk) {
		t.Fatal(merr)
	}
	rows, err := c.Query(ctx, `
		select to_jsonb(o)::text from observations o
		union all
		select to_jsonb(w)::text from watermarks w
		order by 1`)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return list, merr
}
