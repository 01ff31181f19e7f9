package monitor

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/chain/tlog"
)

// said is a transport that returns fixed bytes for each kind of address, and 404 for the rest.
type said struct {
	note, tile, answer []byte
}

func (s said) RoundTrip(r *http.Request) (*http.Response, error) {
	body := s.tile
	switch {
	case strings.HasSuffix(r.URL.Path, "/checkpoint"):
		body = s.note
	case strings.HasPrefix(r.URL.Path, "/api/"):
		body = s.answer
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
}

// A response without the log's signature proves nothing against it, and the monitor continues.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte("log.example/tidemark\n1\n"+strings.Repeat("A", 43)+"=\n\n— x AAAA\n"), []byte{0, 1, 'x'}, []byte(`{"picks":[{"seq":1,"hash":"x"}],"data":[{"id":"a"}]}`))
	f.Add([]byte("x"), []byte("x"), []byte(`{"data":[{"id":"../..","seq":-1}]}`))
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	dir := f.TempDir()
	keys, err := tlog.NewLogKey(bytes.NewReader(make([]byte, 32)), "log.example/tidemark")
	if err != nil {
		f.Fatal(err)
	}
	policy, err := tlog.ParsePolicy([]byte("log " + keys.Public + " http://log.invalid/log\nquorum none\n"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, note, tile, answer []byte) {
		m, err := New(Options{
			Log: policy.Logs[0], Policy: policy, Dir: dir, Transport: said{note, tile, answer}, Server: "http://log.invalid", Now: func() time.Time { return now },
		})
		if err != nil {
			t.Fatal(err)
		}
		m.state.Rules.Environment = "live" // also the server is asked
		all, err := m.Round(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range all {
			if slices.Contains([]string{KindInconsistent, KindSplit, KindRule}, one.Kind) {
				t.Errorf("%q accuses the log: %+v", note, one)
			}
		}
		r := &round{Monitor: m, ctx: t.Context(), now: now, reached: true}
		r.server()
	})
}
