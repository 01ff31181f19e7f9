package postgres_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/telemetry"
)

// asked counts the history queries that reach a server.
type asked struct{ atomic.Int64 }

func (a *asked) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if strings.Contains(q.SQL, "from estimates") {
		a.Add(1)
	}
	return ctx
}

func (*asked) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// lines is a log that several goroutines may write.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(of string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), of)
}

func TestAReplicaAnswersWhatItHas(t *testing.T) {
	t.Parallel()
	primary, replica := pgtest.Replicated(t)
	worker, api := as(t, primary.URL(), postgres.RoleWorker), as(t, primary.URL(), postgres.RoleAPI)
	var there asked
	var log lines
	r, err := postgres.Replicate(t.Context(), api, replica.URL(), postgres.RoleAPI, telemetry.Logger(&log, telemetry.FormatText, "info"),
		postgres.WithTracer(&there))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.CloseReplica)
	// answer is the history as the API reads it, and whether the replica returned it.
	answer := func(as time.Time) (string, bool) {
		t.Helper()
		before := there.Load()
		var out []string
		for p, err := range r.History(t.Context(), postgres.HistoryQuery{Signal: "s", AsOf: as}) {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, p.ObservedAt.Format("2")+"="+map[bool]string{true: "5", false: "7"}[p.Value == 5])
		}
		return strings.Join(out, " "), there.Load() > before
	}
	want := func(what string, as time.Time, history string, byReplica bool) {
		t.Helper()
		got, by := answer(as)
		if got != history || by != byReplica {
			t.Fatalf("%s: %q, by the replica %v; want %q, %v", what, got, by, history, byReplica)
		}
	}
	// comes waits until the replica responds; every response until then must be right, too.
	comes := func(what string, as time.Time, history string) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); ; {
			got, by := answer(as)
			if got != history {
				t.Fatalf("%s: %q, by the replica %v; want %q", what, got, by, history)
			}
			if by {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: the replica does not answer", what)
			}
			<-time.After(20 * time.Millisecond)
		}
	}
	load := func(as time.Time) {
		t.Helper()
		if _, err := r.Serve(t.Context(), "s", as, 0); err != nil {
			t.Fatal(err)
		}
	}
	lag := func() postgres.ReplicaLag {
		t.Helper()
		l, err := worker.ReplicaLag(t.Context(), replica.URL(), postgres.RoleAPI)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}

	say(t, worker, noon(1), "1=5")
	want("before anything was loaded", noon(1), "1=5", false)
	load(noon(1))
	comes("after the first load", noon(1), "1=5")

	// It falls behind.
	if err := exec(t, replica.URL(), "", `select pg_wal_replay_pause()`); err != nil {
		t.Fatal(err)
	}
	say(t, worker, noon(2), "1=5 2=7")
	load(noon(2))
	want("while it is behind", noon(2), "1=5 2=7", false)
	at, _, _, err := r.Computed(t.Context(), "s", noon(2))
	if err != nil || !at.Equal(noon(2)) {
		t.Fatalf("computed %s (%v), want what the primary has", at, err)
	}
	if l := lag(); !l.Follows || l.Bytes == 0 || l.Since == 0 {
		t.Errorf("a replica that is behind: %+v", l)
	}
	if err := exec(t, replica.URL(), "", `select pg_wal_replay_resume()`); err != nil {
		t.Fatal(err)
	}
	comes("after it has caught up", noon(2), "1=5 2=7")
	if n := log.count("level="); n != 0 {
		t.Errorf("%d lines in the log: to be behind is no trouble", n)
	}

	// Responses of the primary in between count as well: a later history is not older than they are.
	if err := exec(t, replica.URL(), "", `select pg_wal_replay_pause()`); err != nil {
		t.Fatal(err)
	}
	say(t, worker, noon(3), "1=5 2=7 3=5")
	other, err := postgres.Replicate(t.Context(), api, replica.URL(), postgres.RoleAPI, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.CloseReplica)
	if at, _, _, err := other.Computed(t.Context(), "s", noon(3)); err != nil || !at.Equal(noon(3)) {
		t.Fatalf("computed %s (%v), want what the primary has", at, err)
	}
	if got := slices.Collect(points(t, other.History(t.Context(), postgres.HistoryQuery{Signal: "s", AsOf: noon(3)}))); len(got) != 3 {
		t.Errorf("read %v, want 3 points", got)
	}
	if err := exec(t, replica.URL(), "", `select pg_wal_replay_resume()`); err != nil {
		t.Fatal(err)
	}

	// It dies, and comes back.
	if err := replica.Kill(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		want("while it is dead", noon(2), "1=5 2=7", false)
	}
	if list, err := r.Changes(t.Context(), postgres.HistoryQuery{Signal: "s", AsOf: noon(2)}); err != nil || len(list) != 2 {
		t.Errorf("changes %v (%v), want two", list, err)
	}
	if _, err := worker.ReplicaLag(t.Context(), replica.URL(), postgres.RoleAPI); err == nil {
		t.Error("a dead replica is no error to the doctor")
	}
	if err := replica.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	comes("after it has come back", noon(2), "1=5 2=7")
	if n, again := log.count("the replica does not answer (DATABASE_REPLICA_URL)"), log.count("the replica answers again"); n != 1 || again != 1 {
		t.Errorf("told %d times that it is away, and %d times that it answers, want once each", n, again)
	}

	// The primary dies: reads of the past still work.
	if err := primary.Kill(); err != nil {
		t.Fatal(err)
	}
	want("while the primary is dead", noon(2), "1=5 2=7", true)
}

func TestAServerThatFollowsNoneIsNoReplica(t *testing.T) {
	t.Parallel()
	api, url := open(t, postgres.RoleAPI)
	say(t, as(t, url, postgres.RoleWorker), noon(1), "1=5")
	var there asked
	var log lines
	r, err := postgres.Replicate(t.Context(), api, url, postgres.RoleAPI, telemetry.Logger(&log, telemetry.FormatText, "info"), postgres.WithTracer(&there))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.CloseReplica)
	if _, err := r.Serve(t.Context(), "s", noon(1), 0); err != nil {
		t.Fatal(err)
	}
	if at, _, _, err := r.Computed(t.Context(), "s", noon(1)); err != nil || !at.Equal(noon(1)) {
		t.Errorf("computed %s, %v", at, err)
	}
	if there.Load() != 0 || log.count("follows no other") != 1 {
		t.Errorf("it was asked %d times, and the log says:\n%s", there.Load(), log.text.String())
	}
	if _, err := postgres.Replicate(t.Context(), api, "postgres://a:secret@[", postgres.RoleAPI, slog.New(slog.DiscardHandler)); err == nil ||
		!strings.HasPrefix(err.Error(), "DATABASE_REPLICA_URL: ") || strings.Contains(err.Error(), "secret") {
		t.Errorf("a URL that cannot be read: %v", err)
	}
}
