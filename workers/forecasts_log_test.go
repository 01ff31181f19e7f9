package workers_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tidemark/chain/tlog"
	"tidemark/internal/postgres"
	"tidemark/signals/forecast"
	"tidemark/workers"
)

// logged begins the record, gives its leaves numbers, signs, and returns the leaves.
func (w forecastWorld) logged(key *workers.LogKey) (leaves []tlog.Leaf) {
	w.t.Helper()
	keepLog(w.t, w.db, key)
	texts, err := w.db.LogLeaves(w.t.Context(), key.Log, 0, 1<<20)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, text := range texts {
		leaf, err := tlog.ParseLeaf(text)
		if err != nil {
			w.t.Fatalf("%q: %v", text, err)
		}
		leaves = append(leaves, leaf)
	}
	return leaves
}

// keepLog begins a log if none exists, gives its leaves numbers, and signs.
func keepLog(t *testing.T, db *postgres.DB, key *workers.LogKey) {
	t.Helper()
	start := postgres.LogStart{Log: key.Log, Origin: key.Origin, VKey: key.VKey(), Environment: "demo"}
	if err := db.BeginLog(t.Context(), start); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a reveal that waited for its seal's number is numbered next
		if _, err := db.NumberLeaves(t.Context(), key.Log); err != nil {
			t.Fatal(err)
		}
		if _, _, err := db.IntegrateLeaves(t.Context(), key.Log, key); err != nil {
			t.Fatal(err)
		}
	}
}

// newLogKey makes the key of the record's log.
func newLogKey(t *testing.T) *workers.LogKey {
	t.Helper()
	file := filepath.Join(t.TempDir(), "log.key")
	if err := workers.MakeLogKeys(file, "test.example/log"); err != nil {
		t.Fatal(err)
	}
	keys, err := workers.ReadLogKeys(file, "test.example/log")
	if err != nil {
		t.Fatal(err)
	}
	return keys[slices.IndexFunc(keys, func(k *workers.LogKey) bool { return k.Log == postgres.LogRecord })]
}

func TestForecastsAndGradesAreLeavesOfTheLog(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]bool{"a log that is there": true, "a log that begins later": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newForecastWorld(t)
			key := newLogKey(t)
			if before {
				w.logged(key)
			}
			if err := w.forecast(); err != nil {
				t.Fatal(err)
			}
			if !before && w.recorded()[0].LogIndex != nil {
				t.Error("a forecast has a place in a log that has not begun")
			}
			next := forecastFriday.AddDate(0, 0, 7)
			w.store(next.AddDate(0, 0, 5).Add(15*time.Hour), upToDay(w.weeks, next))
			w.at(next.AddDate(0, 0, 5).Add(22 * time.Hour))
			if err := w.forecast(); err != nil {
				t.Fatal(err)
			}
			leaves := w.logged(key)
			if len(leaves) != 1+7+1+6+3 {
				t.Fatalf("%d leaves, want a genesis, seven trials of before, the version of the method, six forecasts and three grades", len(leaves))
			}
			kind := func(k string) int { return slices.IndexFunc(leaves, func(l tlog.Leaf) bool { return l.Kind == k }) }
			if at := kind(tlog.KindMethod) + 7; before && at > kind(tlog.KindForecast) || leaves[at].Get("name") != "forecasts" || leaves[at].Get("sha256") != forecast.SourceHash() {
				t.Errorf("the version of the method is leaf %d, and has to come before the first forecast", at)
			}
			for _, f := range w.recorded() {
				if f.LogIndex == nil {
					t.Fatalf("%s has no place in the log", f.ID)
				}
				leaf, q := leaves[*f.LogIndex], f.Record().Quantiles
				for key, want := range map[string]string{
					"id": f.ID, "hash": f.Record().Hash(), "value": string(q[11]), "lo": string(q[3]), "hi": string(q[19]), "method": f.ModelVersion,
				} {
					if leaf.Kind != tlog.KindForecast || leaf.Get(key) != want {
						t.Errorf("%s: the leaf's %s is %q, want %q", f.ID, key, leaf.Get(key), want)
					}
				}
				if forecast.Levels[3] != 0.1 || forecast.Levels[11] != 0.5 || forecast.Levels[19] != 0.9 || !leaf.At().Equal(f.IssuedAt) {
					t.Errorf("%s: levels %v, at %s", f.ID, forecast.Levels, leaf.At())
				}
				g := f.Grade
				if g == nil {
					continue
				}
				if g.LogIndex == nil {
					t.Fatalf("the grade of %s has no place in the log", f.ID)
				}
				leaf = leaves[*g.LogIndex]
				if leaf.Kind != tlog.KindGrade || leaf.Get("id") != f.ID || leaf.Get("hash") != f.GradeRecord().Hash() || leaf.Get("value") != g.Outcome ||
					leaf.Get("score") != g.Score+" "+g.Score1+" "+g.Score2 {
					t.Errorf("the leaf of the grade of %s is %+v", f.ID, leaf)
				}
			}
		})
	}
}
