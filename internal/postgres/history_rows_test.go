package postgres_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/series"

	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/signals"
)

func TestTheHistoryRefusesChanges(t *testing.T) {
	t.Parallel()
	db, url := open(t, postgres.RoleWorker)
	say(t, db, noon(10), "1=1")
	for _, role := range []string{"", postgres.RoleWorker, postgres.RoleAPI} {
		for _, sql := range []string{
			`update estimates set value = 2`, `delete from estimates`, `truncate estimates`,
			`update signal_states set state = 'decayed'`, `delete from signal_states`, `truncate signal_states`,
		} {
			if err := exec(t, url, role, sql); err == nil {
				t.Errorf("as %q: %s was done", role, sql)
			}
		}
	}
	for _, sql := range []string{
		`insert into estimates (signal, observed_at, known_at, gone) values ('s', now(), now(), true)`,
		`insert into signal_states (signal, at, state, cause, by) values ('s', now(), 'live', 'x', 'x')`,
	} {
		if err := exec(t, url, postgres.RoleAPI, sql); err == nil {
			t.Errorf("the API's role may: %s", sql)
		}
	}
	for _, value := range []string{"'NaN'", "'Infinity'", "'-Infinity'"} {
		sql := `insert into estimates (signal, observed_at, known_at, input_known_at, z_score) values ('s', now(), now(), now(), ` + value + `)`
		if err := exec(t, url, postgres.RoleWorker, sql); err == nil {
			t.Errorf("%s was stored", value)
		}
	}
}

// A version that is moved to an instant before its inputs became known is refused, also where an operator switches triggers off. Otherwise the
// history as of that instant would look ahead.
func TestNoVersionIsKnownBeforeItsInputs(t *testing.T) {
	t.Parallel()
	db, url := open(t, postgres.RoleWorker)
	say(t, db, noon(10), "1=1")
	if err := exec(t, url, "", `set session_replication_role = replica; update estimates set known_at = known_at + interval '1 hour'`); err != nil {
		t.Fatalf("the operator cannot change the history at all: %v", err)
	}
	err := exec(t, url, "", `set session_replication_role = replica; update estimates set known_at = input_known_at - interval '1 hour'`)
	if err == nil || !strings.Contains(err.Error(), "known_after_inputs") {
		t.Errorf("a version from before its inputs: %v", err)
	}
}

// TestNumbersKeepTheirBits stores numbers that conversions to decimal text often change, and reads them back.
func TestNumbersKeepTheirBits(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	rng := rand.New(rand.NewPCG(7, 7))
	var want signals.Track
	for i := range 300 {
		var v [5]float64
		for j := range v {
			v[j] = math.Float64frombits(rng.Uint64())
			if math.IsInf(v[j], 0) {
				v[j] = math.NaN()
			}
		}
		want = append(want, signals.Estimate{
			ObservedAt: series.InstantOf(day(1).AddDate(0, 0, i)), KnownAt: series.InstantOf(day(1).Add(time.Duration(rng.IntN(1e9)) * time.Microsecond)),
			Value: v[0], Lo: v[1], Hi: v[2], Baseline: v[3], Scale: v[4],
		})
	}
	want[0].Value, want[1].Value, want[2].Value, want[3].Value = math.SmallestNonzeroFloat64, math.MaxFloat64, math.Copysign(0, -1), 1e15
	if err := db.SaveSnapshot(t.Context(), task.Fence{}, snapshot(noon(10)), want); err != nil {
		t.Fatal(err)
	}
	got := slices.Collect(points(t, db.History(t.Context(), postgres.HistoryQuery{Signal: "s", AsOf: noon(10)})))
	if len(got) != len(want) {
		t.Fatalf("%d points of %d", len(got), len(want))
	}
	for i, e := range want {
		p := got[i]
		if !p.ObservedAt.Equal(e.ObservedAt.Time()) || !p.PublishedAt.Equal(e.KnownAt.Time()) {
			t.Errorf("point %d is about %v, known %v; want %v, %v", i, p.ObservedAt, p.PublishedAt, e.ObservedAt, e.KnownAt)
		}
		read := []float64{p.Value, p.Lo, p.Hi, p.Baseline, p.DeltaPct, p.Z}
		for j, v := range []float64{e.Value, e.Lo, e.Hi, e.Baseline, e.DeltaPct(), e.Z()} {
			v += 0 // one zero
			if math.Float64bits(read[j]) != math.Float64bits(v) && !(math.IsNaN(read[j]) && math.IsNaN(v)) {
				t.Errorf("point %d, number %d: %x came back as %x", i, j, v, read[j])
			}
		}
	}
}

func TestServeReadsOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	serve := func(now time.Time, newest int64) postgres.Served {
		t.Helper()
		s, err := db.Serve(t.Context(), "s", now, newest)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	text := func(s postgres.Served) string {
		var out []string
		for _, p := range s.Changed {
			if p.Gone {
				out = append(out, fmt.Sprintf("-%d", p.ObservedAt.Day()))
				continue
			}
			out = append(out, fmt.Sprintf("%d=%v", p.ObservedAt.Day(), p.Value))
		}
		return strings.Join(out, " ")
	}
	if s := serve(noon(30), 0); s.Snapshot != nil || s.Newest != 0 || len(s.Changed) > 0 {
		t.Errorf("of nothing: %+v", s)
	}
	say(t, db, noon(10), "1=1 2=2 3=3")
	first := serve(noon(30), 0)
	if got := text(first); got != "1=1 2=2 3=3" || !first.Snapshot.At.Equal(noon(10)) {
		t.Errorf("the first reading: %q of %v", got, first.Snapshot.At)
	}
	if again := serve(noon(30), first.Newest); len(again.Changed) > 0 || again.Newest != first.Newest {
		t.Errorf("nothing is new: %q", text(again))
	}
	say(t, db, noon(11), "1=1 2=2.5 4=4")
	second := serve(noon(30), first.Newest)
	if got := text(second); got != "2=2.5 -3 4=4" {
		t.Errorf("the next reading: %q", got)
	}
	say(t, db, noon(15), "1=1 2=2.5 4=5") // ahead of its time
	say(t, db, noon(12), "1=1 2=2.5 4=4 5=5")
	third := serve(noon(13), second.Newest)
	if got := text(third); got != "4=4 5=5" || !third.Ahead.Equal(noon(15)) || !third.Snapshot.At.Equal(noon(12)) {
		t.Errorf("with one ahead: %q of %v, ahead %v", got, third.Snapshot.At, third.Ahead)
	}
	if got := text(serve(noon(15), third.Newest)); got != "4=5 -5" {
		t.Errorf("when its time has come: %q", got)
	}
}
