package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/api"
	"tidemark/api/view"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/internal/telemetry"
)

// sent is a server-sent event.
type sent struct{ id, event, data string }

// listenTo opens a stream and returns its events. The stream ends with the test, or when stop is called.
func (s *system) listenTo(query string, header ...string) (events <-chan sent, stop func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/api/stream"+query, http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r) //nolint:bodyclose // stop closes it
	if err != nil {
		s.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		s.t.Fatalf("the stream answers %s as %s", resp.Status, resp.Header.Get("Content-Type"))
	}
	out := make(chan sent, 10_000)
	done := make(chan struct{})
	begun := make(chan struct{})
	go func() {
		defer close(done)
		defer close(out)
		var once sync.Once
		defer once.Do(func() { close(begun) })
		var e sent
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				e.id = value
				once.Do(func() { close(begun) }) // the stream says where it begins
			case "event":
				e.event = value
			case "data":
				e.data = value
			case "":
				if e.event != "" {
					out <- e
				}
				e = sent{}
			}
		}
	}()
	stop = func() {
		cancel()
		_ = resp.Body.Close()
		<-done
	}
	s.t.Cleanup(stop)
	if !slices.Contains(header, noWait) {
		<-begun
	}
	return out, stop
}

// noWait is a field that makes listenTo return before the stream says where it begins.
const noWait = "No-Wait"

// next returns the next event. It fails the test if none comes.
func (s *system) next(events <-chan sent) sent {
	s.t.Helper()
	select {
	case e, ok := <-events:
		if !ok {
			s.t.Fatal("the stream ended")
		}
		return e
	case <-time.After(time.Minute):
		s.t.Fatal("no event came")
	}
	return sent{}
}

func (s *system) values(events <-chan sent, n int) (list []float64) {
	s.t.Helper()
	for range n {
		list = append(list, s.next(events).value(s.t))
	}
	return list
}

func (e sent) value(t testing.TB) float64 {
	t.Helper()
	var c struct {
		Cursor string
		Data   struct{ Value float64 }
	}
	if err := json.Unmarshal([]byte(e.data), &c); err != nil || c.Cursor != e.id {
		t.Fatalf("%+v: %v", e, err)
	}
	return c.Data.Value
}

// streaming is a system whose server has a stream, and a function that saves a snapshot with a value.
func streaming(t testing.TB) (s *system, say func(value float64)) {
	t.Helper()
	s = start(t, setup{})
	s.serve(api.Options{View: s.view, Pushes: s.open(postgres.RoleAPI)})
	at := noon.Add(-1000 * time.Hour)
	return s, func(value float64) {
		t.Helper()
		snap := full()
		at = at.Add(time.Minute)
		snap.At, snap.Value = at, postgres.Known(value)
		s.save(snap)
	}
}

func TestASnapshotReachesTheStreamAndTheFeed(t *testing.T) {
	t.Parallel()
	s, say := streaming(t)
	events, _ := s.listenTo("")
	say(1.1)
	first := s.next(events)
	if first.event != "signal" || first.value(t) != 1.1 || !strings.Contains(first.data, `"kind":"new_print"`) {
		t.Errorf("the first event is %+v", first)
	}
	say(1.1) // nothing new
	say(1.2)
	second := s.next(events)
	if second.value(t) != 1.2 || !strings.Contains(second.data, `"kind":"revision"`) || !strings.Contains(second.data, `"previous_value":1.1,`) {
		t.Errorf("the second event is %+v", second)
	}
	feed := s.ask(http.MethodGet, "/api/stream/atom")
	if a, b := strings.Index(string(feed.body), "revision, 1.2"), strings.Index(string(feed.body), "new print, 1.1"); a < 0 || b < a {
		t.Errorf("the feed has not the newest first:\n%s", feed.body)
	}
	if got := feed.Header.Get("Content-Type"); got != "application/atom+xml" {
		t.Errorf("the feed is %s", got)
	}
	if other := s.ask(http.MethodGet, "/api/stream/atom?topics=pick,forecast"); strings.Contains(string(other.body), "<entry>") {
		t.Errorf("the feed of other topics:\n%s", other.body)
	}
}

// The publisher withdraws the newest observation: the signal goes back to an earlier one, and then to none. An observation that comes again is
// a new print.
func TestAWithdrawnObservationIsARevision(t *testing.T) {
	t.Parallel()
	s, _ := streaming(t)
	events, _ := s.listenTo("")
	day := func(n int) *time.Time { return new(noon.AddDate(0, 0, n)) }
	for i, c := range []struct {
		observed *time.Time
		value    *float64
		kind     string
	}{{day(-3), new(1.0), "new_print"}, {day(-2), new(2.0), "new_print"}, {day(-3), new(1.0), "revision"}, {nil, nil, "revision"}, {day(-2), new(2.0), "new_print"}, {day(-3), new(2.0), "revision"}} {
		snap := full()
		snap.At, snap.ObservedAt, snap.Value = noon.Add(time.Duration(i-100)*time.Hour), c.observed, c.value
		s.save(snap)
		if e := s.next(events); !strings.Contains(e.data, `"kind":"`+c.kind+`"`) {
			t.Errorf("snapshot %d is pushed as %s, want %s", i, e.data, c.kind)
		}
	}
}

func TestNothingIsLostOverAReconnectOrANewServer(t *testing.T) {
	t.Parallel()
	s, say := streaming(t)
	events, stop := s.listenTo("?topics=signal")
	say(1)
	say(2)
	s.next(events)
	last := s.next(events)
	stop()
	say(3)
	say(4)
	again, stop := s.listenTo("", "Last-Event-ID", last.id)
	say(5)
	if got := s.values(again, 3); !slices.Equal(got, []float64{3, 4, 5}) {
		t.Errorf("after a reconnect come %v", got)
	}
	stop()
	s.serve(api.Options{View: s.view, Pushes: s.open(postgres.RoleAPI)})
	say(6)
	elsewhere, _ := s.listenTo("?after=" + last.id)
	say(7)
	if got := s.values(elsewhere, 5); !slices.Equal(got, []float64{3, 4, 5, 6, 7}) {
		t.Errorf("another server sends %v", got)
	}
}

func TestEachReaderGetsEachEventOnceAndInOrder(t *testing.T) {
	t.Parallel()
	s, say := streaming(t)
	all := make([]<-chan sent, 0, 20)
	for range 20 {
		events, _ := s.listenTo("?after=0")
		all = append(all, events)
	}
	const n = 50
	for i := range n {
		say(float64(i + 1))
	}
	for r, events := range all {
		last := int64(0)
		for i := range n {
			e := s.next(events)
			id, err := strconv.ParseInt(e.id, 10, 64)
			if err != nil || id <= last || e.value(t) != float64(i+1) {
				t.Fatalf("the event %d of reader %d is %+v after %d", i, r, e, last)
			}
			last = id
		}
	}
}

func TestTopicsSelectEvents(t *testing.T) {
	t.Parallel()
	s, say := streaming(t)
	picks, _ := s.listenTo("?topics=pick")
	signal, _ := s.listenTo("?topics=signal:crack-spread-321,pick")
	say(1)
	if e := s.next(signal); e.value(t) != 1 {
		t.Error(e)
	}
	select {
	case e := <-picks:
		t.Errorf("a reader of picks gets %+v", e)
	default:
	}
	for query, code := range map[string]string{
		"?topics=x": "invalid_parameter", "?topics=signal:none": "invalid_parameter", "?after=x": "invalid_parameter", "?after=-1": "invalid_parameter",
		"?seconds=0": "invalid_parameter", "?since=1": "invalid_parameter",
	} {
		if a := s.ask(http.MethodGet, "/api/stream"+query); a.StatusCode != http.StatusBadRequest || s.object(a)["code"] != code {
			t.Errorf("%s: %s %s", query, a.Status, a.body)
		}
	}
	if a := s.ask(http.MethodGet, "/api/stream?seconds=1"); a.StatusCode != http.StatusOK || !strings.Contains(string(a.body), "retry: ") {
		t.Errorf("a stream of a second: %s %q", a.Status, a.body)
	}
}

func TestACursorWhoseRowsAreDeletedIsToldSo(t *testing.T) {
	t.Parallel()
	s, say := streaming(t)
	first, stop := s.listenTo("?after=0")
	for i := range 3 {
		say(float64(i + 1))
		if e := s.next(first); e.value(t) != float64(i+1) { // the server has read it before it is deleted
			t.Fatalf("event %d is %+v", i+1, e)
		}
	}
	stop()
	if _, err := s.worker.ApplyRetention(t.Context(), task.Fence{}, postgres.Retention{Pushes: time.Nanosecond}); err != nil {
		t.Fatal(err)
	}
	say(4)
	events, _ := s.listenTo("?after=1")
	if e := s.next(events); e.event != "gap" || e.data != `{"oldest":"4"}` {
		t.Errorf("the first event is %+v", e)
	}
	if e := s.next(events); e.value(t) != 4 || e.id != "4" {
		t.Errorf("the second event is %+v", e)
	}
}

func TestAnAddressHasABoundedNumberOfStreams(t *testing.T) {
	t.Parallel()
	s, _ := streaming(t)
	for range 32 {
		s.listenTo("")
	}
	if a := s.ask(http.MethodGet, "/api/stream"); a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "" {
		t.Errorf("one stream more: %s", a.Status)
	}
	if a := s.ask(http.MethodHead, "/api/stream"); a.StatusCode != http.StatusTooManyRequests {
		t.Errorf("HEAD of one stream more: %s", a.Status)
	}
	from := &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).DialContext}
	defer from.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodHead, s.url+"/api/stream", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	other, err := from.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	if _ = other.Body.Close(); other.StatusCode != http.StatusOK {
		t.Errorf("a stream of another address: %s", other.Status)
	}
	// A browser gives up for good after an error: it learns when to come again from a stream that ends at once.
	a := s.askWith(http.MethodGet, "/api/stream", "", "Accept", "text/event-stream")
	if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != "text/event-stream" || !strings.HasSuffix(string(a.body), "\nretry: 30000\n\n") {
		t.Errorf("one stream more for a browser: %s %q", a.Status, a.body)
	}
	if a := s.askWith(http.MethodGet, "/api/stream?after=x", "", "Accept", "text/event-stream"); a.StatusCode != http.StatusBadRequest {
		t.Errorf("a wrong cursor of a browser: %s", a.Status) // it would never be right
	}
}

func TestAStreamEndsWithItsServer(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + ln.Addr().String()
	server := api.New(api.Options{View: s.view, Pushes: s.open(postgres.RoleAPI), Now: time.Now, Log: quiet})
	handler := server.Handler()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- server.Run(ctx) }()
	go func() { ended <- server.Serve(ctx, ln) }()
	events, _ := s.listenTo("")
	stop()
	if e := s.next(events); e.event != "dropped" || !strings.Contains(e.data, "resume_after") {
		t.Errorf("the last event is %+v", e)
	}
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	// A connection that was accepted before the end may ask for a stream after it. A browser gives up for good after an error.
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/stream?after=1", http.NoBody))
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/event-stream" || w.Body.String() != "retry: 2000\n\n" {
		t.Errorf("a stream of a server that stops: %d %s", w.Code, w.Body)
	}
}

func TestTheStreamOfASandboxIsMarkedSynthetic(t *testing.T) {
	t.Parallel()
	s := start(t, setup{world: view.WorldSandbox})
	s.serve(api.Options{View: s.view, Pushes: s.open(postgres.RoleAPI)})
	events, _ := s.listenTo("")
	snap := full()
	snap.Synthetic = false // as of a signal without a value
	s.save(snap)
	if e := s.next(events); !strings.Contains(e.data, `"synthetic":true`) || !strings.Contains(e.data, `"environment":"demo"`) {
		t.Errorf("the event is not marked: %s", e.data)
	}
}

// A stream lasts longer than the server's limits for a request. One that is asked for with a body that never comes holds no connection.
func TestAStreamOutlastsARequestAndHoldsNoConnection(t *testing.T) {
	t.Parallel()
	s, say := streaming(t)
	brief := api.Timeouts{Header: maxHold, Request: time.Second, Idle: time.Second} // a busy machine has long to read what is asked
	s.serve(api.Options{View: s.view, Pushes: s.open(postgres.RoleAPI), Timeouts: brief})
	events, _ := s.listenTo("")
	var all sync.WaitGroup
	for name, fields := range map[string]string{
		"no body":                    "Content-Length: 10\r\n\r\n",
		"half a chunk":               "Transfer-Encoding: chunked\r\n\r\n8\r\n{\"a\"",
		"waits to be told to go on":  "Expect: 100-continue\r\nContent-Length: 10\r\n\r\n",
		"ends, and nothing is asked": "\r\n",
	} {
		all.Go(func() {
			conn, err := s.connect("GET /api/stream?seconds=1 HTTP/1.1\r\nHost: x\r\n" + fields)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close() }()
			if answer, err := released(conn); err != nil {
				t.Errorf("%s: %v, answered %.100q", name, err, answer)
			}
		})
	}
	all.Wait() // a second and more
	say(1.1)
	if v := s.next(events).value(t); v != 1.1 {
		t.Errorf("the stream says %g", v)
	}
}

// A number that is none was stored as a text: the stream stopped for everybody, and the feed answered 500.
func TestAChangeThatCannotBeReadHoldsUpNothing(t *testing.T) {
	t.Parallel()
	s, say := streaming(t)
	metrics := telemetry.NewMetrics("1", "abc", time.Now)
	s.serve(api.Options{View: s.view, Pushes: s.open(postgres.RoleAPI), Metrics: metrics})
	events, _ := s.listenTo("")
	say(1)
	s.query(`select push('signal:crack-spread-321', 'revision', 'crack-spread-321', '{"status":"live","value":7,"z_score":"NaN"}')::text`)
	say(2)
	if got := s.values(events, 2); !slices.Equal(got, []float64{1, 2}) {
		t.Errorf("the stream says %v", got)
	}
	again, _ := s.listenTo("?after=0")
	if got := s.values(again, 2); !slices.Equal(got, []float64{1, 2}) {
		t.Errorf("from the beginning it says %v", got)
	}
	if feed := s.ask(http.MethodGet, "/api/stream/atom"); feed.StatusCode != http.StatusOK || strings.Count(string(feed.body), "<entry>") != 2 {
		t.Errorf("the feed: %s\n%s", feed.Status, feed.body)
	}
	w := httptest.NewRecorder()
	metrics.Handler(quiet).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	for _, place := range []string{"stream", "replay", "feed"} {
		if want := `tidemark_changes_unreadable_total{place="` + place + `"} 1`; !strings.Contains(w.Body.String(), want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}
