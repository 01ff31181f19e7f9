package api_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/api"
	"tidemark/api/view"
	"tidemark/chain"
	"tidemark/internal/calendar"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/test/dailypick"
)

// ledger is a system that serves a record, in a sandbox whose clock the test controls.
type ledger struct {
	*system
	record *view.Record
	now    atomic.Pointer[time.Time]
}

// serveRecord serves a record from a trading day on, before its first pick.
func serveRecord(t *testing.T, dsn, day string) *ledger {
	t.Helper()
	l := &ledger{system: &system{t: t, dsn: dsn}}
	l.worker = l.open(postgres.RoleWorker)
	at := calendar.At(l.day(day), 17*time.Hour)
	l.now.Store(&at)
	if _, err := l.worker.EnsureWorld(t.Context(), view.WorldSandbox, &at); err != nil {
		t.Fatal(err)
	}
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.url = "http://" + ln.Addr().String()
	store, log := l.open(postgres.RoleAPI), slog.New(slog.DiscardHandler)
	clock := func() time.Time { return *l.now.Load() }
	if l.view, err = view.New(view.Options{Store: store, PublicURL: l.url, World: view.WorldSandbox, Now: clock, Log: log}); err != nil {
		t.Fatal(err)
	}
	if l.record, err = view.NewRecord(view.RecordOptions{Store: store, PublicURL: l.url, World: view.WorldSandbox, Now: clock, Log: log}); err != nil {
		t.Fatal(err)
	}
	l.server = api.New(api.Options{View: l.view, Record: l.record, TransparencyLog: store, Log: log})
	l.run(l.view.Run)
	l.run(l.record.Run)
	l.run(func(ctx context.Context) error { return l.server.Serve(ctx, ln) })
	l.eventually("the first load", func() bool { return l.record.State() != nil && l.view.State() != nil })
	return l
}

func (l *ledger) day(day string) time.Time {
	l.t.Helper()
	d, err := time.Parse(time.DateOnly, day)
	if err != nil {
		l.t.Fatal(err)
	}
	return d
}

// clock sets the world's time to a clock time of a day in New York.
func (l *ledger) clock(day string, clock time.Duration) {
	l.t.Helper()
	at := calendar.At(l.day(day), clock)
	l.now.Store(&at)
	if err := l.worker.SetClock(l.t.Context(), &at); err != nil {
		l.t.Fatal(err)
	}
}

// pick records the pick of a day and, if announce is set, announces it.
func (l *ledger) pick(ticker, price, day string, announce bool) postgres.Pick {
	l.t.Helper()
	l.clock(day, 17*time.Hour+30*time.Minute)
	p, err := dailypick.Record(l.t.Context(), l.worker, postgres.NewPick{
		Ticker: ticker, Price: price, Date: day, CIK: 320193, Name: ticker + " Inc.", Exchange: "XNAS", Sector: "Information Technology",
		Region: "North America", Country: "US", Currency: "USD", Origin: "method", Reason: "the best score of the day",
	})
	if err != nil {
		l.t.Fatal(err)
	}
	if announce {
		l.clock(day, 18*time.Hour)
		if _, err := l.worker.AnnounceDue(l.t.Context(), task.Fence{}, calendar.At(l.day(day), 18*time.Hour)); err != nil {
			l.t.Fatal(err)
		}
	}
	return p
}

func (l *ledger) gap(day string) {
	l.t.Helper()
	if _, err := l.worker.RecordGap(l.t.Context(), task.Fence{}, chain.Gap{Date: day, Reason: "no price by the cutoff"}); err != nil {
		l.t.Fatal(err)
	}
}

// shows waits until the served chain has n picks.
func (l *ledger) shows(n int) {
	l.t.Helper()
	l.eventually(fmt.Sprintf("%d picks", n), func() bool { return l.record.State().Length() == n })
}

func picksOf(t *testing.T, body map[string]any) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, p := range body["picks"].([]any) {
		out = append(out, p.(map[string]any))
	}
	return out
}

// The record of the week of Washington's Birthday 2026: Friday, Tuesday, no pick on Wednesday, Thursday, and the same ticker again on
// Friday.
func week(t *testing.T) *ledger {
	t.Helper()
	l := serveRecord(t, pgtest.New(t), "2026-02-13")
	l.pick("AAPL", "243.85", "2026-02-13", true)
	l.pick("BRK.B", "451.1000", "2026-02-17", true)
	l.clock("2026-02-18", 19*time.Hour)
	l.gap("2026-02-18")
	l.pick("F", "9.50", "2026-02-19", true)
	l.pick("AAPL", "250.00", "2026-02-20", true)
	err := l.worker.Correct(t.Context(), chain.Correction{Seq: 2, What: "the close was 451.20", Evidence: "https://example.org/<b>", Date: "2026-02-20"}, "operator")
	if err != nil {
		t.Fatal(err)
	}
	l.shows(4)
	// A load that began before the last announcement may already contain all of it, but has the time of its start.
	l.eventually("the correction, as of the last announcement", func() bool {
		body := string(l.ask(http.MethodGet, "/api/v1/verify/picks").body)
		return strings.Contains(body, "451.20") && strings.Contains(body, `"verified_at":"2026-02-20T23:00:00Z"`)
	})
	return l
}
