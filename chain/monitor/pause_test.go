package monitor

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// busy answers 429 with a pause to each second request for a file.
type busy struct {
	http.RoundTripper

	pause   string
	asked   int
	refused int
}

func (b *busy) RoundTrip(r *http.Request) (*http.Response, error) {
	b.asked++
	if b.asked%2 == 0 {
		b.refused++
		return &http.Response{StatusCode: http.StatusTooManyRequests, Status: "429 Too Many Requests", Header: http.Header{"Retry-After": {b.pause}}, Body: http.NoBody, Request: r}, nil
	}
	return b.RoundTripper.RoundTrip(r)
}

func TestAMonitorWaitsWhereAServerAsksItTo(t *testing.T) {
	t.Parallel()
	l := newTestLog(t)
	m := l.monitor(t.TempDir(), "two")
	b := &busy{RoundTripper: http.DefaultTransport, pause: "0"}
	m.client = newClient(b)
	if kinds, all := found(t, m); len(kinds) > 0 || b.refused < 3 {
		t.Errorf("after %d pauses: %+v", b.refused, all)
	}
	b.pause = "86400"
	kinds, all := found(t, m)
	if !slices.Equal(kinds, []string{KindUnavailable}) || !strings.Contains(all[0].Text, "wants a pause") {
		t.Errorf("a server that wants a day: %+v", all)
	}
}
