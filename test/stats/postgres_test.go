package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"tidemark/internal/pgtest"
	"tidemark/internal/series"
	"tidemark/signals"
)

// These tests compute the signals a second time in SQL: joins on dates and whole-window aggregates over decimal numbers. They share no
// sliding windows, day counts or floating point with the program. The two must agree to nine digits on every day.

func TestMain(m *testing.M) { pgtest.Main(m) }

// quoteTable holds the inputs. The values are decimals as published.
const quoteTable = `
create table quotes (
    series     text    not null,
    day        date    not null,
    known      date    not null,
    value      numeric not null,
    primary key (series, day)
)`

// estimate is a row of the queries that yield a track.
type estimate struct {
	Day                            time.Time
	Value, Lo, Hi, Baseline, Scale *float64
	N                              int
}

// part is a component as SQL sees it.
type part struct {
	Name                   string
	Day                    time.Time
	Value, Baseline, Scale *float64
}

// ownSchema creates a schema without the program's tables, so that all names are free, and makes it the default of new connections.
const ownSchema = `
create schema oracle;
do $$ begin execute format('alter database %I set search_path = oracle', current_database()); end $$`

// database is one of a test's own, with tables made by a script.
func database(t *testing.T, tables string) *pgxpool.Pool {
	t.Helper()
	pool := pgtest.Pool(t)
	if _, err := pool.Exec(t.Context(), ownSchema); err != nil {
		t.Fatal(err)
	}
	pool.Reset() // the connections of before look elsewhere
	if _, err := pool.Exec(t.Context(), tables); err != nil {
		t.Fatal(err)
	}
	return pool
}

// load puts a set into a new database.
func load(t *testing.T, set series.Set, derive string) *pgxpool.Pool {
	t.Helper()
	pool := database(t, quoteTable)
	var rows [][]any
	for id, points := range set {
		for _, p := range points {
			var value pgtype.Numeric // as published: the shortest decimal that reads back as the same number
			if err := value.Scan(strconv.FormatFloat(p.Value, 'f', -1, 64)); err != nil {
				t.Fatal(err)
			}
			rows = append(rows, []any{string(id), p.ObservedAt.Time(), p.VintageAt.Time(), value})
		}
	}
	if _, err := pool.CopyFrom(t.Context(), pgx.Identifier{"quotes"}, []string{"series", "day", "known", "value"}, pgx.CopyFromRows(rows)); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), derive); err != nil {
		t.Fatal(err)
	}
	return pool
}

// query runs a query that may name @at, a day, and yields its rows.
func query[T any](t *testing.T, pool *pgxpool.Pool, sql string, at time.Time) []T {
	t.Helper()
	rows, err := pool.Query(t.Context(), sql, pgx.NamedArgs{"at": at})
	if err != nil {
		t.Fatal(err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// agree compares a number with one of SQL, null meaning unknown, to 1e-9 of it, or of the signal's unit if that is more.
func agree(got float64, want *float64) bool {
	if want == nil || math.IsNaN(got) {
		return want == nil && math.IsNaN(got)
	}
	return math.Abs(got-*want) <= 1e-9*max(math.Abs(*want), 1)
}

// compare compares a track with the rows of SQL, field by field. All rows must have a baseline, a scale and an interval. A name in mixed is
// an exception: at least a third of the rows must have it, and at least one must lack it. Otherwise the data do not test both cases.
func compare(t *testing.T, track signals.Track, want []estimate, mixed ...string) {
	t.Helper()
	if len(track) != len(want) {
		t.Fatalf("%d estimates, SQL has %d", len(track), len(want))
	}
	known := map[string]int{}
	for i, e := range track {
		w := want[i]
		if !e.ObservedAt.Time().Equal(w.Day) || e.N != w.N {
			t.Fatalf("%v from %d values, SQL has %v from %d", e.ObservedAt, e.N, w.Day, w.N)
		}
		for _, f := range []struct {
			name string
			got  float64
			want *float64
		}{
			{"value", e.Value, w.Value},
			{"lower bound", e.Lo, w.Lo},
			{"upper bound", e.Hi, w.Hi},
			{"baseline", e.Baseline, w.Baseline},
			{"scale", e.Scale, w.Scale},
		} {
			if !agree(f.got, f.want) {
				t.Fatalf("%v: the %s is %v, SQL has %s", e.ObservedAt, f.name, f.got, show(f.want))
			}
		}
		if w.Baseline != nil {
			known["baseline"]++
		}
		if w.Baseline != nil && w.Scale != nil {
			known["scale"]++
			z := (*w.Value - *w.Baseline) / *w.Scale
			if !agree(e.Z(), &z) {
				t.Fatalf("%v: the z-score is %v, SQL has %v", e.ObservedAt, e.Z(), z)
			}
		}
		if w.Lo != nil {
			known["interval"]++
		}
	}
	for _, what := range []string{"baseline", "scale", "interval"} {
		if n := known[what]; n < len(track)/3 || slices.Contains(mixed, what) == (n == len(track)) {
			t.Fatalf("%d of %d rows have a %s: the data do not test what they should", n, len(track), what)
		}
	}
	t.Logf("%d rows agree: %v", len(track), known)
}

// compareParts holds components to the rows of SQL: the same ones, field by field.
func compareParts(t *testing.T, got []signals.Component, want []part) {
	t.Helper()
	parts := map[string]signals.Component{}
	for _, c := range got {
		parts[c.Name] = c
	}
	if len(parts) != len(want) {
		t.Errorf("%d components, SQL has %d", len(parts), len(want))
	}
	for _, w := range want {
		c := parts[w.Name]
		if !c.ObservedAt.Time().Equal(w.Day) || !agree(c.Value, w.Value) || !agree(c.Baseline, w.Baseline) || !agree(c.Scale, w.Scale) {
			t.Errorf("component %s is %+v, SQL has %v, %s, %s, %s", w.Name, c, w.Day, show(w.Value), show(w.Baseline), show(w.Scale))
		}
	}
}

func show(x *float64) string {
	if x == nil {
		return "null"
	}
	return fmt.Sprint(*x)
}

// madeUp returns a random walk of published decimals on the days that due admits, from 2003 over three leap days to 2015. Single days are
// missing, and there are some gaps of weeks.
func madeUp(rng *rand.Rand, start, step float64, decimals int, due func(time.Time) bool) []series.Point {
	return madeUpBetween("2003-02-05", "2015-03-03", rng, start, step, decimals, due)
}

func madeUpBetween(from, to string, rng *rand.Rand, start, step float64, decimals int, due func(time.Time) bool) []series.Point {
	var points []series.Point
	unit := math.Pow10(decimals)
	hole := 0
	for day := date(from); !day.After(date(to)); day = day.AddDate(0, 0, 1) {
		if !due(day) {
			continue
		}
		start += step * rng.NormFloat64()
		if rng.IntN(250) == 0 {
			hole = rng.IntN(25)
		}
		if hole--; hole >= 0 || rng.IntN(25) == 0 {
			continue
		}
		points = append(points, series.Point{
			ObservedAt: series.InstantOf(day), VintageAt: series.InstantOf(day.AddDate(0, 0, 2+rng.IntN(25))), Value: math.Round(start*unit) / unit,
		})
	}
	return points
}
