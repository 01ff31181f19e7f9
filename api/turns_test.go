package api_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/accounts"
	"tidemark/api"
	"tidemark/api/endpoint"
	"tidemark/api/view"
	"tidemark/internal/postgres"
	"tidemark/internal/telemetry"
	"tidemark/signals"
)

// Clients ask for a long history from the database and stop reading after the first bytes. Others get what they ask of the database. A
// client that goes on later gets the history as it was when it asked, even if it has changed meanwhile.
func TestClientsThatReadNothingHoldNoTurnAtTheDatabase(t *testing.T) {
	t.Parallel()
	const points, readers = 25_000, 3 // the kernel holds a part of the 9 MB of each reader
	s := long(t, points)
	s.serve(api.Options{View: s.view, Timeouts: api.Timeouts{Request: time.Hour}})
	const path = crack + "/history?vintages=all"
	want := s.ask(http.MethodGet, path)
	if want.StatusCode != http.StatusOK {
		t.Fatal(want.Status)
	}
	var stopped []*bufio.Reader
	for range readers {
		conn, err := s.connect("")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if err := conn.SetReadBuffer(64 << 10); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(conn)
		if line, err := in.ReadString('\n'); err != nil || line != "HTTP/1.1 200 OK\r\n" {
			t.Fatalf("a reader: %q, %v", line, err)
		}
		if err := conn.SetDeadline(time.Time{}); err != nil { // it can go on at any time
			t.Fatal(err)
		}
		stopped = append(stopped, in)
	}
	for _, other := range []string{crack + "?as_of=2026-03-04T11:30:00Z", crack + "/history?vintages=all&limit=3", path} {
		if a := s.ask(http.MethodGet, other); a.StatusCode != http.StatusOK {
			t.Errorf("%s while others do not read: %s %.200s", other, a.Status, a.body)
		}
	}

	// A backfill computes an earlier instant again: every tenth point has another version there.
	track := make([]signals.Estimate, points)
	for i := range track {
		track[i] = estimate(i-points+5, 20+math.Sin(float64(i)))
		if i%10 == 0 {
			track[i].Value++
		}
	}
	s.say(noon.Add(-2*time.Hour), track...)
	if now := s.ask(http.MethodGet, path); bytes.Equal(now.body, want.body) {
		t.Fatal("the history has not changed")
	}
	resp, err := http.ReadResponse(bufio.NewReader(io.MultiReader(bytes.NewReader([]byte("HTTP/1.1 200 OK\r\n")), stopped[0])), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	if err != nil || !bytes.Equal(got, want.body) {
		t.Errorf("a reader that went on has %d bytes of another state than it asked for (%d bytes), %v", len(got), len(want.body), err)
	}
}

// heldStore is a database whose snapshots come one at a time, when the test says so. It tells which client each is for.
type heldStore struct {
	*postgres.DB

	reads chan string
	next  chan struct{}
}

func (h *heldStore) SnapshotAsOf(ctx context.Context, signal string, asOf time.Time) (postgres.Snapshot, error) {
	select {
	case h.reads <- view.ClientOf(ctx):
	case <-ctx.Done():
		return postgres.Snapshot{}, ctx.Err()
	}
	<-h.next
	return h.DB.SnapshotAsOf(context.WithoutCancel(ctx), signal, asOf)
}

// Two addresses ask a slow database for a hundred things at once, and a third for eight. The two are told to ask for less, and take turns.
// The third gets all it asked for.
func TestABurstOfOneAddressTakesNoOthersTurnAtTheDatabase(t *testing.T) {
	t.Parallel()
	tariff, err := endpoint.NewTariff(accounts.ModelBalance, "")
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, setup{stored: []postgres.Snapshot{full()}})
	db := s.open(postgres.RoleAPI)
	store := &heldStore{db, make(chan string), make(chan struct{})}
	v, err := view.New(view.Options{
		Store: store, Definitions: definitions(), PublicURL: s.url, World: view.WorldLive, Now: func() time.Time { return noon }, Log: quiet, QueryWait: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.run(v.Run)
	s.eventually("the first load", func() bool { return v.State() != nil })
	s.serve(api.Options{View: v, Timeouts: api.Timeouts{Request: time.Hour}, Accounts: &api.Accounts{
		DB: db, Tariff: tariff, Now: time.Now, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	}})
	const first, second, third = "203.0.113.1", "2001:db8::/64", "203.0.113.3"
	from := map[string]string{first: first, second: "2001:db8::7", third: third}
	var served, refused atomic.Int64
	ask := func(client string, n int) {
		for range n {
			go func() {
				a := s.ask(http.MethodGet, crack+"?as_of=2026-03-04T11:30:00Z", "X-Forwarded-For", from[client])
				switch {
				case a.StatusCode == http.StatusOK:
					served.Add(1)
				case a.StatusCode == http.StatusTooManyRequests && a.Header.Get("Retry-After") != "":
					refused.Add(1)
				default:
					t.Errorf("a request of %s: %s %s", client, a.Status, a.body)
				}
			}()
		}
	}
	const slots, waiting = 2, 32
	ask(first, 100)
	for range slots {
		<-store.reads
	}
	s.eventually("the first address to be refused", func() bool { return refused.Load() == 100-slots-waiting })
	ask(second, 100)
	s.eventually("the second address to be refused", func() bool { return refused.Load() == 200-slots-2*waiting })
	turns := map[string]int{}
	for range 10 {
		store.next <- struct{}{}
		turns[<-store.reads]++
	}
	if turns[first] != 5 || turns[second] != 5 {
		t.Errorf("of the next ten turns the addresses had %v, want five each", turns)
	}
	ask(third, 8)
	for turns[third] < 8 {
		store.next <- struct{}{}
		turns[<-store.reads]++
	}
	rest := slots + 2*waiting + 8 - int(served.Load())
	go func() {
		for {
			select {
			case <-store.reads:
			case store.next <- struct{}{}:
			case <-t.Context().Done():
				return
			}
		}
	}()
	s.eventually("all to be answered", func() bool { return served.Load() == slots+2*waiting+8 })
	if rest <= 0 || refused.Load() != 200-slots-2*waiting {
		t.Errorf("%d requests were refused, and %d waited when the third address had its answers", refused.Load(), rest)
	}
}

// failingStore is a database whose snapshots of the past fail as the test says.
type failingStore struct {
	*postgres.DB

	asked chan struct{}
	fail  func(context.Context) error
}

func (f *failingStore) SnapshotAsOf(ctx context.Context, _ string, _ time.Time) (postgres.Snapshot, error) {
	f.asked <- struct{}{}
	return postgres.Snapshot{}, f.fail(ctx)
}

// A client hangs up while the database works for it: that is neither an error of the server nor a line for the operator. A database that
// takes too long is unavailable, and the client is told when to come again.
func TestAClientThatHangsUpIsNoErrorOfTheServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fail   func(context.Context) error
		hangUp bool
		status string
	}{
		"the client hangs up": {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, true, "499"},
		"the database takes too long": {func(context.Context) error {
			return fmt.Errorf("read a snapshot: %w", context.DeadlineExceeded)
		}, false, "503"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, setup{stored: []postgres.Snapshot{full()}})
			store := &failingStore{s.open(postgres.RoleAPI), make(chan struct{}), c.fail}
			v, err := view.New(view.Options{
				Store: store, Definitions: definitions(), PublicURL: s.url, World: view.WorldLive, Now: func() time.Time { return noon }, Log: quiet,
			})
			if err != nil {
				t.Fatal(err)
			}
			s.run(v.Run)
			s.eventually("the first load", func() bool { return v.State() != nil })
			metrics, errs := telemetry.NewMetrics("1", "c", time.Now), &linesAbout{text: "level=ERROR"}
			s.serve(api.Options{View: v, Metrics: metrics, Log: slog.New(slog.NewTextHandler(errs, nil))})
			ctx, hangUp := context.WithCancel(t.Context())
			defer hangUp()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+crack+"?as_of=2026-03-04T11:30:00Z", nil)
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				resp, err := plain.Do(r)
				if err != nil {
					if !c.hangUp {
						t.Error(err)
					}
					return
				}
				_ = resp.Body.Close()
				if c.hangUp || resp.Header.Get("Retry-After") == "" {
					t.Errorf("%s, Retry-After %q", resp.Status, resp.Header.Get("Retry-After"))
				}
			}()
			<-store.asked
			if c.hangUp {
				hangUp()
			}
			<-done
			counted := ""
			s.eventually("the request to be counted", func() bool {
				w := httptest.NewRecorder()
				metrics.Handler(quiet).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
				for line := range strings.Lines(w.Body.String()) {
					if strings.HasPrefix(line, "tidemark_http_requests_total{") && strings.Contains(line, "/api/signals/{id}") {
						counted = line
					}
				}
				return counted != ""
			})
			if !strings.Contains(counted, `code="`+c.status+`"`) || errs.n.Load() != 0 {
				t.Errorf("%d lines of errors, and the request is counted as %s", errs.n.Load(), counted)
			}
		})
	}
}
