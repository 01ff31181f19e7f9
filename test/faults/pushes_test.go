package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/pushes"
	"tidemark/internal/task"
	"tidemark/signals"
	"tidemark/test/program"
)

// The size of TestNothingPushedIsLost. `make chaos` runs it with 500 listeners, 50 webhooks and a minute.
var (
	pushListeners = flag.Int("pushes.listeners", 50, "how many clients listen to the stream")
	pushWebhooks  = flag.Int("pushes.webhooks", 10, "how many webhooks there are")
	pushOutage    = flag.Duration("pushes.outage", 2*time.Second, "for how long each server is away")
)

// got is what one receiver got: the cursors in their order, and the id of each message.
type got struct {
	mu      sync.Mutex
	cursors []int64
	ids     map[int64]map[string]bool
	faults  []string
}

func (g *got) add(cursor int64, id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cursors = append(g.cursors, cursor)
	if g.ids == nil {
		g.ids = map[int64]map[string]bool{}
	}
	if g.ids[cursor] == nil {
		g.ids[cursor] = map[string]bool{}
	}
	g.ids[cursor][id] = true
}

func (g *got) fault(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.faults) < 5 {
		g.faults = append(g.faults, fmt.Sprintf(format, args...))
	}
}

// firsts are the cursors in the order in which they came first.
func (g *got) firsts() (list []int64, repeated int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	seen := map[int64]bool{}
	for _, c := range g.cursors {
		if seen[c] {
			repeated++
			continue
		}
		seen[c] = true
		list = append(list, c)
	}
	return list, repeated
}

// check compares the received changes with the pushed ones.
func (g *got) check(t *testing.T, name string, want []int64) (repeated int) {
	t.Helper()
	have, repeated := g.firsts()
	if !slices.Equal(have, want) {
		t.Errorf("%s got %d of %d changes, or in another order: %v", name, len(have), len(want), have)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for cursor, ids := range g.ids {
		if len(ids) != 1 {
			t.Errorf("%s: the change %d has %d ids, so its duplicates cannot be told", name, cursor, len(ids))
		}
	}
	for _, f := range g.faults {
		t.Errorf("%s: %s", name, f)
	}
	return repeated
}

// listen follows the stream of an API until ctx ends, and resumes after its last event. It comes from an address of its own.
func (g *got) listen(ctx context.Context, base string, n int) {
	last := "0"
	for ctx.Err() == nil {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/stream?topics=signal", http.NoBody)
		if err != nil {
			g.fault("%v", err)
			return
		}
		r.Header.Set("Last-Event-ID", last)
		r.Header.Set("X-Forwarded-For", fmt.Sprintf("8.%d.%d.7", n/250, n%250))
		resp, err := http.DefaultClient.Do(r)
		if err == nil {
			for lines := bufio.NewScanner(resp.Body); resp.StatusCode == http.StatusOK && lines.Scan(); {
				data, ok := strings.CutPrefix(lines.Text(), "data: ")
				if !ok {
					if lines.Text() == "event: gap" {
						g.fault("a gap")
					}
					continue
				}
				var c pushes.Change
				if json.Unmarshal([]byte(data), &c) != nil {
					continue // of another event, or cut off with the connection
				}
				cursor, err := strconv.ParseInt(c.Cursor, 10, 64)
				if err != nil {
					continue
				}
				last = c.Cursor
				g.add(cursor, c.Cursor)
			}
			_ = resp.Body.Close()
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// mishaps is how many messages of a receiver meet one. Each costs a pause of five seconds.
const mishaps = 300

// receiver is a server with a webhook for each of list. It checks signatures. Of the first messages each thirteenth is refused, and each
// seventeenth has its connection closed instead of an answer, after it was received.
type receiver struct {
	*httptest.Server

	mu      sync.Mutex
	list    []*got
	secrets []string
	asked   int
}

func newReceiver(t *testing.T, n int) *receiver {
	t.Helper()
	v := &receiver{secrets: make([]string, n)}
	for range n {
		v.list = append(v.list, &got{})
	}
	v.Server = httptest.NewServer(v)
	t.Cleanup(v.Close)
	return v
}

func (v *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
	body, rerr := io.ReadAll(r.Body)
	if err != nil || rerr != nil || n >= len(v.list) {
		return
	}
	v.mu.Lock()
	v.asked++
	asked, secret := v.asked, v.secrets[n]
	v.mu.Unlock()
	g, id := v.list[n], r.Header.Get("Webhook-Id")
	seconds, _ := strconv.ParseInt(r.Header.Get("Webhook-Timestamp"), 10, 64)
	if want, err := pushes.Sign(secret, id, time.Unix(seconds, 0), body); err != nil || r.Header.Get("Webhook-Signature") != want {
		g.fault("a message with the signature %q", r.Header.Get("Webhook-Signature"))
	}
	var m struct{ Data struct{ Cursor string } }
	_ = json.Unmarshal(body, &m)
	cursor, err := strconv.ParseInt(m.Data.Cursor, 10, 64)
	if err != nil {
		g.fault("a message without a cursor: %s", body)
		return
	}
	if asked%13 == 0 && asked < mishaps {
		w.WriteHeader(http.StatusServiceUnavailable) // it was not taken
		return
	}
	g.add(cursor, id)
	if asked%17 == 0 && asked < mishaps {
		panic(http.ErrAbortHandler) // it was taken, and the sender does not learn it
	}
}

// TestNothingPushedIsLost kills the API, the worker, Redis and Postgres one after the other, while changes are made, streams are open and
// webhooks receive. Every change reaches everybody, in the order of the cursors, and a duplicate has the id of the first.
func TestNothingPushedIsLost(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	s := newFixture(t, "ADDR="+address, "LOG_LEVEL=info", "RATE_LIMIT=off", "REGISTER_LIMIT=off", "SIGNALS_RATE_LIMIT=off", "TRUSTED_PROXIES=127.0.0.0/8",
		"WEBHOOKS_PRIVATE=true")
	s.pauseSchedule()
	s.start("scheduler")
	worker := s.start("worker")
	begin := time.Now().UTC().Add(-1000 * time.Hour).Truncate(time.Minute)
	s.save(begin, 0) // so that the API knows the signal
	c, api := s.startAPI()
	v := newReceiver(t, *pushWebhooks)
	program.Until(t, program.Timeout, "the signal can have alerts", func() (bool, string) {
		return c.ask(http.MethodGet, "/api/signals/crack-spread-321", "", "").status == http.StatusOK, ""
	})
	key := ""
	for n := range v.list {
		if n%postgres.MaxPushRules == 0 {
			key = c.register()
		}
		v.alert(t, c, key, n)
	}
	first := s.query(`select max(id) from pushes`)[0]

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var listening sync.WaitGroup
	listeners := make([]*got, *pushListeners)
	for n := range listeners {
		listeners[n] = &got{}
		listening.Go(func() { listeners[n].listen(ctx, c.base, n) })
	}

	// Changes come four times a second, also while a server is away: then the worker that makes them tries again. On a busy machine, where all
	// takes long, they come more slowly after the first hundred.
	making, made := context.WithCancel(t.Context())
	var maker sync.WaitGroup
	maker.Go(func() {
		for i := 1; making.Err() == nil; i++ {
			for making.Err() == nil && s.push(making, begin.Add(time.Duration(i)*time.Minute), float64(i)) != nil {
				pause(t, 100*time.Millisecond)
			}
			pause(t, 250*time.Millisecond)
			if i > 100 {
				pause(t, 2*time.Second)
			}
		}
	})
	pause(t, time.Second)
	api.Kill()
	pause(t, *pushOutage)
	_, api = s.startAPI()
	worker.Kill()
	pause(t, *pushOutage)
	worker = s.start("worker")
	for _, server := range []interface {
		Kill() error
		Restart(ctx context.Context) error
	}{s.redis, s.postgres} {
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		pause(t, *pushOutage)
		if err := server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	worker.Kill() // once more, while it catches up
	api.Kill()
	s.start("worker")
	s.startAPI()
	pause(t, time.Second)
	made()
	maker.Wait()

	var want []int64
	for _, line := range s.query(`select id from pushes where id > $1 order by id`, atoi(t, first)) {
		want = append(want, atoi(t, line))
	}
	if len(want) < 10 {
		t.Fatalf("only %d changes were made", len(want))
	}
	program.Until(t, 5*program.Timeout, "everything has reached everybody", func() (bool, string) {
		posted, streamed := 0, 0
		for _, g := range v.list {
			have, _ := g.firsts()
			posted += len(want) - len(have)
		}
		for _, g := range listeners {
			have, _ := g.firsts()
			streamed += len(want) + 1 - len(have) // they began with the first of all
		}
		return posted <= 0 && streamed <= 0, fmt.Sprintf("of %d changes each, %d messages and %d events are missing", len(want), posted, streamed)
	})
	repeated := 0
	for n, g := range v.list {
		repeated += g.check(t, fmt.Sprintf("webhook %d", n), want)
	}
	stop()
	listening.Wait()
	for n, g := range listeners {
		if again := g.check(t, fmt.Sprintf("listener %d", n), append([]int64{atoi(t, first)}, want...)); again != 0 {
			t.Errorf("listener %d got %d changes twice, though it resumed after its last", n, again)
		}
	}
	t.Logf("%d changes to %d listeners and %d webhooks; %d messages came more than once, each with its first id", len(want), len(listeners), len(v.list), repeated)
	if repeated == 0 {
		t.Error("no message came twice: the closed connections have tested nothing")
	}
}

// alert makes the alert of a webhook.
func (v *receiver) alert(t *testing.T, c *client, key string, n int) {
	t.Helper()
	a := c.ask(http.MethodPost, "/api/v1/alerts", fmt.Sprintf(`{"rule":{"on":"new_print","signal":"crack-spread-321"},"url":"%s/%d"}`, v.URL, n), key)
	var made struct{ Data struct{ Secret string } }
	if err := json.Unmarshal([]byte(a.body), &made); err != nil || made.Data.Secret == "" {
		t.Fatalf("an alert is not made: %d: %s", a.status, a.body)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.secrets[n] = made.Data.Secret
}

// push makes a change. The same change again makes none.
func (s *fixture) push(ctx context.Context, at time.Time, value float64) error {
	day := at.Truncate(time.Minute)
	return s.db.SaveSnapshot(ctx, task.Fence{}, postgres.Snapshot{
		Signal: "crack-spread-321", At: at, Status: signals.StatusLive, Cause: "test", ObservedAt: &day, KnownAt: &at, Value: &value, Synthetic: true, CodeVersion: "test",
	}, nil)
}

func atoi(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
