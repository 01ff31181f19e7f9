package workers_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tidemark/internal/calendar"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/workers"
)

// wire carries the connections of one worker to the database, and breaks at one of its commits. It breaks either before the commit is sent,
// or after the database has done it and before the worker receives the response. A broken wire carries nothing any more.
type wire struct {
	// nth is the number of the fatal commit, counted from one; done reports whether the database still gets it.
	nth  int
	done bool

	// heard reports whether the database has responded to the fatal commit.
	heard chan struct{}

	mu      sync.Mutex
	commits int
	dead    bool
	open    []net.Conn
}

// commitQuery is how a client's message that ends a transaction looks on the wire.
var commitQuery = []byte("Q\x00\x00\x00\x0bcommit\x00")

// connect opens the worker's database by the wire. end closes both.
func (w *wire) connect(t *testing.T, address string) (db *postgres.DB, end func()) {
	t.Helper()
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		t.Fatal(err)
	}
	network, server := pgconn.NetworkAddress(cfg.Host, cfg.Port)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			database, err := new(net.Dialer).DialContext(t.Context(), network, server)
			if err != nil {
				_ = client.Close()
				continue
			}
			w.mu.Lock()
			w.open = append(w.open, client, database)
			w.mu.Unlock()
			serving.Go(func() { _, _ = io.Copy(w.toClient(client), database); _ = client.Close() })
			serving.Go(func() { w.carry(client, database); _ = database.Close() })
		}
	})
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(cfg.User, cfg.Password), Host: l.Addr().String(), Path: cfg.Database, RawQuery: "sslmode=disable",
	}
	if db, err = postgres.Open(t.Context(), u.String(), postgres.RoleWorker); err != nil {
		t.Fatal(err)
	}
	return db, func() {
		_ = l.Close()
		w.cut()
		db.Close()
		serving.Wait()
	}
}

// toClient writes what the database answers, while the wire lives.
func (w *wire) toClient(client net.Conn) io.Writer {
	return writer(func(b []byte) (int, error) {
		w.mu.Lock()
		dead := w.dead
		w.mu.Unlock()
		if dead {
			select {
			case w.heard <- struct{}{}:
			default:
			}
			return 0, net.ErrClosed
		}
		return client.Write(b)
	})
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// carry brings the worker's messages to the database. pgx sends a message that ends a transaction separately.
func (w *wire) carry(client, database net.Conn) {
	buffer := make([]byte, 1<<16)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		message := buffer[:n]
		w.mu.Lock()
		fatal := false
		if bytes.Contains(message, commitQuery) {
			w.commits++
			fatal = w.commits == w.nth
		}
		if fatal {
			w.dead = true
		}
		dead := w.dead
		w.mu.Unlock()
		if !dead || fatal && w.done {
			if _, err := database.Write(message); err != nil {
				return
			}
		}
		if fatal && w.done {
			// The answer to the commit says that it is done. It is not passed on.
			select {
			case <-w.heard:
			case <-time.After(time.Minute):
			}
		}
		if dead {
			w.cut()
			return
		}
	}
}

// cut ends all connections.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = true
	for _, c := range w.open {
		_ = c.Close()
	}
	w.open = nil
}

// takenOver is again once the database has given up what the dead worker's connections held.
func (m *picksFixture) takenOver(run task.Task) task.Task {
	m.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		lost, err := m.db.Reclaim(m.t.Context(), -time.Second)
		if err != nil {
			m.t.Fatal(err)
		}
		if i := slices.IndexFunc(lost, func(l task.Task) bool { return l.RunID == run.RunID }); i >= 0 {
			return m.claim(lost[i])
		}
	}
	m.t.Fatalf("run %d is never lost", run.RunID)
	return run
}

// A worker is killed at each commit of a day's pick and of its announcement, once before the database has it and once after. The next
// attempt gives the same day as without the kill: one pick, one announcement, the same ones.
func TestAWorkerThatIsKilledAtAnyCommit(t *testing.T) {
	t.Parallel()
	killed, whole := newMarket(t, "2026-03-02"), newMarket(t, "2026-03-02")
	day := on(t, "2026-03-03")
	date := func() string { return day.Format("2006-01-02") }
	// live runs through a day; job dies at its nth commit. It reports whether there was one.
	live := func(job string, nth int, done bool) bool {
		w := &wire{nth: nth, done: done, heard: make(chan struct{}, 1)}
		db, end := w.connect(t, killed.url)
		defer end()
		died := false
		killed.trade(date())
		whole.live(date())
		for _, step := range []string{task.Pick, task.Announce} {
			clock := map[string]time.Duration{task.Pick: pickClock, task.Announce: announceClock}[step]
			killed.clock(date(), clock)
			run := killed.begin(step, task.Daily, calendar.At(day, clock))
			if step == job {
				mortal := killed.picks
				mortal.DB, mortal.Cards.DB = db, db
				var err error
				if step == task.Pick {
					err = mortal.Run(t.Context(), run)
				} else {
					err = workers.Announcements{DB: db, Log: mortal.Log}.Run(t.Context(), run)
				}
				w.mu.Lock()
				died = w.dead
				w.mu.Unlock()
				if died == (err == nil) {
					t.Fatalf("%s at commit %d (done %v): dead %v, and the attempt ends with %v", step, nth, done, died, err)
				}
				run = killed.takenOver(run)
			}
			if err := killed.finish(run); err != nil {
				t.Fatalf("%s after a kill at commit %d (done %v): %v", step, nth, done, err)
			}
		}
		due, err := killed.db.HandOut(t.Context(), 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, next := range due {
			if err := killed.finish(killed.claim(next)); err != nil {
				t.Fatal(err)
			}
		}
		return died
	}
	kills := 0
	for _, job := range []string{task.Pick, task.Announce} {
		for _, done := range []bool{false, true} {
			for nth, died := 1, true; died; nth++ {
				died = live(job, nth, done)
				if died {
					kills++
				}
				day = calendar.Next(day)
			}
		}
	}
	if kills < 4 {
		t.Errorf("%d kills, want at least those before and after the commits of the two jobs", kills)
	}
	if d := cmp.Diff(whole.record(), killed.record()); d != "" {
		t.Errorf("the record (-nobody died +killed):\n%s", d)
	}
	told := func(m *picksFixture) (lines []string) {
		made, err := m.api.AnnouncedPicks(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range made {
			lines = append(lines, fmt.Sprintf("%d %s %s %s %s", p.Seq, p.Date, p.Ticker, p.Price, p.Hash))
		}
		return slices.Clip(lines)
	}
	if d := cmp.Diff(told(whole), told(killed)); d != "" {
		t.Errorf("what is announced (-nobody died +killed):\n%s", d)
	}
}
