package faults

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/ingesttest"
	"tidemark/ingest/portwatch"
	"tidemark/ingest/world/synth"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/scheduler"
)

// bodies is an archive in memory.
type bodies map[string][]byte

func (b bodies) Put(_ context.Context, body []byte) (string, error) {
	digest := fmt.Sprintf("%x", sha256.Sum256(body))
	b[digest] = body
	return digest, nil
}

func (b bodies) Get(_ context.Context, digest string) ([]byte, error) {
	if body, ok := b[digest]; ok {
		return body, nil
	}
	return nil, ingest.ErrNotArchived
}

// weeks is an installation that lives through some weeks of PortWatch, with a clock of its own.
type weeks struct {
	t   *testing.T
	now time.Time
	// shown maps the time to the time of what the publisher shows then. down tells when nothing of the installation runs, trouble when the
	// publisher does not answer.
	shown         func(time.Time) time.Time
	down, trouble func(time.Time) bool

	publisher http.Handler
	asOf      time.Time // the publisher's clock
	answers   map[string]*httptest.ResponseRecorder
	log       ingesttest.FetchLog
	archive   bodies
}

// RoundTrip answers as the publisher. An answer changes with what is shown only.
func (w *weeks) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.trouble(w.now) {
		return nil, errors.New("connection refused")
	}
	w.asOf = w.shown(w.now)
	name := w.asOf.String() + r.URL.String()
	a, made := w.answers[name]
	if !made {
		a = httptest.NewRecorder()
		w.publisher.ServeHTTP(a, r)
		w.answers[name] = a
	}
	again := httptest.NewRecorder()
	maps.Copy(again.Header(), a.Header())
	_, _ = again.Write(a.Body.Bytes())
	resp := again.Result()
	resp.Request = r
	return resp, nil
}

// release is the newest Tuesday at 9:35 in New York that is not after an instant, and the one after it.
func release(at time.Time) (begin, end time.Time) {
	local := at.In(ingest.NewYork())
	on := func(days int) time.Time {
		return time.Date(local.Year(), local.Month(), local.Day()+days, 9, 35, 0, 0, ingest.NewYork())
	}
	back := (int(local.Weekday()-time.Tuesday) + 7) % 7
	if on(-back).After(at) {
		back += 7
	}
	return on(-back), on(7 - back)
}

// run is what one fetch of the source brought: the figures that the archived bytes state.
type run struct {
	at      time.Time
	figures map[string]float64
	fetches int
}

// live passes the time from one instant to another, and returns the fetches that succeeded.
func (w *weeks) live(src ingest.Source, from, to time.Time) []run {
	w.t.Helper()
	schedule := task.Schedule{Job: task.Ingest, Subject: src.ID, Cron: src.Cadence.Cron, Zone: src.Cadence.Zone, CatchUp: string(src.Cadence.CatchUp)}
	due, err := scheduler.Parse(schedule)
	if err != nil {
		w.t.Fatal(err)
	}
	last := from
	schedule.LastSlot = &last
	engine := ingest.Engine{Transport: w, Now: func() time.Time { return w.now }, Ledger: &w.log, Archive: w.archive, Offline: true, Attempts: 1}
	var done []run
	for w.now = from; w.now.Before(to); w.now = w.now.Add(5 * time.Minute) {
		if w.down(w.now) {
			continue
		}
		for _, slot := range scheduler.Slots(schedule, due, w.now) {
			last = slot.At
			if slot.Skip != "" {
				continue
			}
			before := len(w.log.Rows)
			if _, err := engine.Collect(w.t.Context(), src, series.Window{}, 1); err != nil {
				continue
			}
			done = append(done, run{w.now, w.figures(src, w.log.Rows[before:]), len(w.log.Rows) - before})
		}
	}
	return done
}

// figures are the figures in the archived bytes of fetches.
func (w *weeks) figures(src ingest.Source, fetches []series.Fetch) map[string]float64 {
	w.t.Helper()
	out := map[string]float64{}
	for _, f := range fetches {
		body, err := w.archive.Get(w.t.Context(), f.SHA256)
		if err != nil {
			w.t.Fatal(err)
		}
		batch, err := ingest.Parse(src, f, body)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, r := range batch.Readings {
			out[string(r.Series)+r.ObservedAt.Format(time.DateOnly)] = r.Value
		}
	}
	return out
}

// The first prints of PortWatch exist nowhere else. Each week's figures must be in the archive before the next Tuesday replaces them, whatever
// happens in the week. The only exception is a week in which nothing could be fetched.
func TestEveryTuesdaysVintageOfPortWatchIsArchived(t *testing.T) {
	t.Parallel()
	at := func(s string) time.Time {
		v, err := time.ParseInLocation("2006-01-02 15:04", s, ingest.NewYork())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	between := func(from, to string) func(time.Time) bool {
		return func(now time.Time) bool { return !now.Before(at(from)) && now.Before(at(to)) }
	}
	never := func(time.Time) bool { return false }
	punctual := func(now time.Time) time.Time { begin, _ := release(now); return begin }
	for _, c := range []struct {
		what          string
		shown         func(time.Time) time.Time
		down, trouble func(time.Time) bool
		lost          string // the Tuesday whose vintage nobody could have
	}{
		{"week after week, over the change of the clocks", punctual, never, never, ""},
		{"after an outage of Tuesday and Wednesday", punctual, between("2026-03-10 08:00", "2026-03-12 11:00"), never, ""},
		{"after an outage until Monday night", punctual, between("2026-03-10 08:00", "2026-03-16 23:00"), never, ""},
		{"after two days on which the publisher did not answer", punctual, never, between("2026-03-10 08:00", "2026-03-11 23:00"), ""},
		{"where the publisher answers again on Sunday", punctual, never, between("2026-03-10 08:00", "2026-03-15 09:00"), ""},
		{"where the release comes on Thursday", func(now time.Time) time.Time {
			if between("2026-03-10 08:00", "2026-03-12 12:00")(now) {
				return punctual(at("2026-03-10 08:00"))
			}
			return punctual(now)
		}, never, never, ""},
		{"where a release repeats the one before", func(now time.Time) time.Time {
			if between("2026-03-10 08:00", "2026-03-17 09:00")(now) {
				return punctual(at("2026-03-10 08:00"))
			}
			return punctual(now)
		}, never, never, ""},
		{"but not over an outage of the whole week", punctual, between("2026-03-10 08:00", "2026-03-17 10:00"), never, "2026-03-10"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			w := &weeks{t: t, shown: c.shown, down: c.down, trouble: c.trouble, publisher: mux, answers: map[string]*httptest.ResponseRecorder{}, archive: bodies{}}
			portwatch.Sandbox(mux, synth.World{Seed: 1, Now: func() time.Time { return w.asOf }})
			src := portwatch.Source()
			from, to := at("2026-03-03 09:00"), at("2026-03-24 09:00")
			done := w.live(src, from, to)
			for begin, end := release(from.Add(time.Hour)); begin.Before(to); begin, end = end, end.AddDate(0, 0, 7) {
				tuesday := begin.Format(time.DateOnly)
				// The figures of the week are shown before the next release.
				last := &weeks{t: t, shown: c.shown, trouble: never, answers: w.answers, archive: bodies{}, now: end.Add(-time.Hour), asOf: w.asOf}
				last.publisher = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.asOf = last.asOf; mux.ServeHTTP(rw, r) })
				engine := ingest.Engine{Transport: last, Now: func() time.Time { return last.now }, Ledger: &last.log, Archive: last.archive, Offline: true}
				if _, err := engine.Collect(t.Context(), src, series.Window{}, 1); err != nil {
					t.Fatal(err)
				}
				want := last.figures(src, last.log.Rows)
				found, fetched := false, 0
				for _, r := range done {
					if r.at.Before(begin) || !r.at.Before(end) {
						continue
					}
					fetched++
					found = found || cmp.Equal(want, r.figures)
				}
				if found != (tuesday != c.lost) {
					t.Errorf("the vintage of Tuesday, %s, is in the archive: %t; %d fetches succeeded in its week", tuesday, found, fetched)
				}
				if tuesday == c.lost && fetched > 0 {
					t.Errorf("%d fetches succeeded in a week without any", fetched)
				}
			}
		})
	}
}
