package view

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tidemark/internal/postgres"
)

func pointOn(day int, rng *rand.Rand) postgres.Point {
	p := postgres.Point{
		ObservedAt: time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC), PublishedAt: time.Date(2026, 2, day, 3, 4, 5, 6000, time.UTC),
		Value: rng.NormFloat64(), Lo: rng.NormFloat64(), Hi: rng.NormFloat64(), Baseline: math.NaN(), DeltaPct: math.NaN(), Z: rng.NormFloat64(),
		Vintage: 1 + rng.IntN(3),
	}
	return p
}

func all(h *History, q postgres.HistoryQuery) []postgres.Point {
	var out []postgres.Point
	for p, err := range h.points(q) {
		if err != nil {
			panic(err) // writing to memory cannot fail
		}
		out = append(out, p)
	}
	return out
}

// TestColumnsFollowAnyChanges applies random batches of changes, and compares the columns with a plain map.
func TestColumnsFollowAnyChanges(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 9))
		var h *History
		want := map[int]postgres.Point{}
		for range 6 {
			var changes []postgres.Point
			for day := 1; day <= 20; day++ {
				if rng.IntN(3) > 0 {
					continue
				}
				p := pointOn(day, rng)
				p.Gone = rng.IntN(3) == 0
				changes = append(changes, p)
				delete(want, day)
				if !p.Gone {
					want[day] = p
				}
			}
			before := all(h, postgres.HistoryQuery{})
			next := h.with(changes)
			if d := cmp.Diff(before, all(h, postgres.HistoryQuery{}), cmpopts.EquateNaNs()); d != "" {
				t.Fatalf("seed %d: the history before was changed:\n%s", seed, d)
			}
			h = next
		}
		var points []postgres.Point
		for day := 1; day <= 20; day++ {
			if p, ok := want[day]; ok {
				points = append(points, p)
			}
		}
		if d := cmp.Diff(points, all(h, postgres.HistoryQuery{}), cmpopts.EquateNaNs()); d != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, d)
		}
		if again := (*History)(nil).with(points); again.digest() != h.digest() {
			t.Errorf("seed %d: the same points made in another way have another digest", seed)
		}
		backwards := all(h, postgres.HistoryQuery{Desc: true})
		slices.Reverse(backwards)
		if d := cmp.Diff(points, backwards, cmpopts.EquateNaNs()); d != "" {
			t.Errorf("seed %d: backwards (-want +got):\n%s", seed, d)
		}
	}
}

// TestRowsSayWhatEncodingJSONWouldSay encodes numbers of every magnitude and decodes them.
func TestRowsSayWhatEncodingJSONWouldSay(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(4, 4))
	for range 2000 {
		v := math.Float64frombits(rng.Uint64())
		if math.IsInf(v, 0) {
			continue
		}
		p := pointOn(3, rng)
		p.Value = v
		p.KnownFrom = p.PublishedAt
		var got map[string]any
		line := appendPointJSON(nil, p, postgres.HistoryQuery{Versions: true})
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if math.IsNaN(v) {
			if got["value"] != nil {
				t.Errorf("an unknown value is %v", got["value"])
			}
		} else if math.Float64bits(got["value"].(float64)) != math.Float64bits(*served(&v)) {
			t.Errorf("%x came back as %x", v, got["value"])
		}
		if got["observed_at"] != "2026-01-03T00:00:00Z" || got["ingested_at"] != "2026-02-03T03:04:05.000006Z" || got["known_to"] != nil ||
			got["baseline_value"] != nil || got["revised"] != (p.Vintage > 1) {
			t.Errorf("%s", line)
		}
	}
}

func TestCursorsAreHeldToTheirOrder(t *testing.T) {
	t.Parallel()
	at := postgres.HistoryKey{ObservedAt: time.Date(1969, 12, 31, 0, 0, 0, 5000, time.UTC), KnownFrom: time.Date(2026, 1, 1, 1, 2, 3, 4000, time.UTC)}
	for _, r := range []ListingRequest{{Versions: true}, {Versions: true, Desc: true}} {
		again := r
		if err := again.ReadCursor(r.cursor(at)); err != nil || !again.After.ObservedAt.Equal(at.ObservedAt) || !again.After.KnownFrom.Equal(at.KnownFrom) {
			t.Errorf("%+v came back as %+v (%v)", at, again.After, err)
		}
		other := ListingRequest{Desc: !r.Desc, Versions: r.Versions}
		for _, cursor := range []string{other.cursor(at), "", "x", "!", r.cursor(at) + "A", r.cursor(at)[1:], encodeCursor("vintages-true", 5)} {
			if err := (&ListingRequest{Desc: r.Desc, Versions: r.Versions}).ReadCursor(cursor); err == nil {
				t.Errorf("the cursor %q was read", cursor)
			}
		}
	}
}

func FuzzReadCursor(f *testing.F) {
	f.Add(ListingRequest{}.cursor(postgres.HistoryKey{ObservedAt: time.Unix(1, 0), KnownFrom: time.Unix(2, 0)}))
	f.Add("aGlzdG9yeS1mYWxzZS1mYWxzZVsxIDJd")
	f.Fuzz(func(t *testing.T, cursor string) {
		var r ListingRequest
		if r.ReadCursor(cursor) == nil && r.cursor(*r.After) != cursor && r.After.ObservedAt.Equal(r.After.KnownFrom) {
			t.Errorf("%q is read as %q", cursor, r.cursor(*r.After))
		}
	})
}
