package postgres_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/calendar"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// seen returns everything that a role can read in the database, catalogs included, as one text.
func seen(t *testing.T, url, role string) string {
	t.Helper()
	ctx := t.Context()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	if _, err := c.Exec(ctx, "set role "+role); err != nil {
		t.Fatal(err)
	}
	// Every relation with a column that the role may read, with those columns.
	rows, err := c.Query(ctx, `
		select format('select %s from %I.%I', string_agg(format('%I::text', a.attname), ', '), n.nspname, r.relname)
		from pg_class r
		join pg_namespace n on n.oid = r.relnamespace
		join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
		where n.nspname <> 'information_schema' -- views over the catalogs
			and r.relkind in ('r', 'v', 'm', 'p', 'f', 'S', 't') and has_schema_privilege(n.oid, 'usage')
			and has_column_privilege(r.oid, a.attnum, 'select')
		group by n.nspname, r.relname`)
	if err != nil {
		t.Fatal(err)
	}
	queries, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if len(queries) < 100 {
		t.Fatalf("only %d relations were found", len(queries))
	}
	var text strings.Builder
	for _, q := range queries {
		if strings.Contains(q, "announced_picks") {
			text.WriteString("the view was read\n")
		}
		results, err := c.PgConn().Exec(ctx, q).ReadAll()
		if err != nil {
			continue // a catalog's view that needs more than a grant
		}
		for _, result := range results {
			for _, row := range result.Rows {
				for _, v := range row {
					text.Write(v)
					text.WriteByte('\n')
				}
			}
		}
	}
	return text.String()
}

// A second before its announcement the API's role can learn nothing of a pick from reads, calls or notifications.
func TestNoDoorShowsAPickBeforeItsAnnouncement(t *testing.T) {
	t.Parallel()
	const day = "2026-03-03"
	r := newRecord(t, "2026-03-02")
	r.append("SHOWN", "111.11", "2026-03-02")
	r.announce("2026-03-02")

	api := as(t, r.url, postgres.RoleAPI)
	heard := make(chan string, 10)
	connected := make(chan struct{}, 10)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- api.Listen(ctx, postgres.Listener{
			Channels:  []string{postgres.ChannelRecord},
			Connected: func(context.Context) error { connected <- struct{}{}; return nil },
			Notified:  func(_ context.Context, _, payload string) error { heard <- payload; return nil },
			Log:       slog.New(slog.DiscardHandler),
		})
	}()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	<-connected

	r.clock(day, 17*time.Hour+30*time.Minute)
	p := r.append("HIDDEN", "222.22", day)
	if err := exec(t, r.url, "", "analyze"); err != nil { // statistics are a copy of values
		t.Fatal(err)
	}
	r.clock(day, 18*time.Hour-time.Second)
	due := calendar.At(date(t, day), 18*time.Hour)
	if list, err := r.db.AnnounceDue(t.Context(), task.Fence{}, due.Add(-time.Second)); err != nil || len(list) != 0 {
		t.Fatalf("a second before: announced %v, %v", list, err)
	}
	if _, err := r.db.AnnounceDue(t.Context(), task.Fence{}, due); err == nil {
		t.Error("the announcement was made a second early")
	}
	if err := exec(t, r.url, postgres.RoleWorker, `insert into announcements (seq) values (2)`); err == nil {
		t.Error("the announcement was inserted a second early")
	}
	secrets := []string{"HIDDEN", "222.22", p.Hash, p.Name}
	before := seen(t, r.url, postgres.RoleAPI)
	for _, secret := range secrets {
		if strings.Contains(before, secret) {
			t.Errorf("the API's role sees %q a second before the announcement", secret)
		}
	}
	if !strings.Contains(before, "111.11") || !strings.Contains(before, "the view was read") {
		t.Error("the announced pick is not seen: the search shows nothing")
	}
	if !strings.Contains(seen(t, r.url, postgres.RoleWorker), p.Hash) {
		t.Error("the worker does not see the pick: the search shows nothing")
	}
	links := 0
	if err := api.StreamChain(t.Context(), func(int64, []byte, []byte, []byte, []byte, []byte) error { links++; return nil }); err != nil || links != 1 {
		t.Errorf("the stream has %d links (%v), want 1", links, err)
	}
	if _, err := api.RecordedPicks(t.Context()); err == nil {
		t.Error("the API's role reads the recorded picks")
	}
	if _, _, err := api.AppendPick(t.Context(), task.Fence{}, newPick("MINE", "1.00", day)); err == nil {
		t.Error("the API's role appends a pick")
	}
	if len(heard) != 0 {
		t.Errorf("notified of %q before the announcement", <-heard)
	}

	if list := r.announce(day); len(list) != 1 || list[0].Link != p.Link {
		t.Fatalf("announced: %+v", list)
	}
	if got := <-heard; got != "announcements" {
		t.Errorf("notified of %q", got)
	}
	after := seen(t, r.url, postgres.RoleAPI)
	for _, secret := range secrets {
		if !strings.Contains(after, secret) {
			t.Errorf("the API's role does not see %q after the announcement", secret)
		}
	}
}

// Errors of a task are in the run log, which is public.
func TestRefusalsDoNotTellThePick(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "2026-03-02")
	for name, n := range map[string]postgres.NewPick{
		"another day":     newPick("HIDDEN", "222.22", "2026-03-03"),
		"no ticker":       newPick("HIDDEN!", "222.22", "2026-03-02"),
		"no price":        newPick("HIDDEN", "222.222222", "2026-03-02"),
		"early":           {Ticker: "HIDDEN", Price: "222.22", Date: "2026-03-02", Origin: "method", AnnounceAt: time.Unix(0, 0)},
		"no such origin":  {Ticker: "HIDDEN", Price: "222.22", Date: "2026-03-02", Origin: "HIDDEN"},
		"nothing is said": {},
	} {
		_, _, err := r.db.AppendPick(t.Context(), task.Fence{}, n)
		if err == nil || strings.Contains(err.Error(), "HIDDEN") || strings.Contains(err.Error(), "222.22") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPicksAreAnnouncedInTheirOrder(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "2026-03-02")
	r.append("AAPL", "243.85", "2026-03-02")
	r.clock("2026-03-03", 17*time.Hour+30*time.Minute)
	r.append("MSFT", "423.35", "2026-03-03")
	r.clock("2026-03-03", 19*time.Hour)
	if err := exec(t, r.url, postgres.RoleWorker, `insert into announcements (seq) values (2)`); err == nil {
		t.Error("the second was announced before the first")
	}
	if err := exec(t, r.url, postgres.RoleWorker, `insert into announcements (seq) values (3)`); err == nil {
		t.Error("a pick that is not there was announced")
	}
	// The first was left unannounced by a worker that was down: both are due.
	list := r.announceAt("2026-03-03", 19*time.Hour)
	if len(list) != 2 || list[0].Seq != 1 || list[1].Seq != 2 {
		t.Errorf("announced: %+v", list)
	}
	if again := r.announceAt("2026-03-03", 19*time.Hour); len(again) != 0 {
		t.Errorf("announced again: %+v", again)
	}
	want := calendar.At(date(t, "2026-03-03"), 19*time.Hour)
	for _, p := range r.picks() {
		if p.AnnouncedAt == nil || !p.AnnouncedAt.Equal(want) {
			t.Errorf("pick %d was announced at %v, the world's time was %v", p.Seq, p.AnnouncedAt, want)
		}
	}
}
