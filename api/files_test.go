package api_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"tidemark/accounts"
	"tidemark/api"
	"tidemark/api/endpoint"
	"tidemark/api/view"
	"tidemark/internal/postgres"
)

// The whole chain is finished bytes in JSON, Parquet and Arrow, and has no limit. A part of it, or another format, is written for each
// request, also for HEAD, and is limited by address.
func TestWhatIsWrittenOfTheChainForARequestIsLimitedByAddress(t *testing.T) {
	t.Parallel()
	l := week(t)
	tariff, err := endpoint.NewTariff(accounts.ModelBalance, "")
	if err != nil {
		t.Fatal(err)
	}
	limiter, err := api.NewLimiter("", time.Now, quiet)
	if err != nil {
		t.Fatal(err)
	}
	l.serve(api.Options{View: l.view, Record: l.record, Accounts: &api.Accounts{
		DB: l.open(postgres.RoleAPI), Tariff: tariff, Now: time.Now, Limiter: limiter, SignalsRate: api.Rate{N: 3, Per: time.Hour},
	}})
	whole := func() {
		t.Helper()
		for _, query := range []string{"", "?format=parquet", "?format=arrow"} {
			a := l.ask(http.MethodGet, "/api/v1/verify/picks"+query, "Accept-Encoding", "identity")
			head := l.ask(http.MethodHead, "/api/v1/verify/picks"+query, "Accept-Encoding", "identity")
			if a.StatusCode != http.StatusOK || head.Header.Get("Content-Length") != strconv.Itoa(len(a.body)) || head.Header.Get("ETag") != a.Header.Get("ETag") {
				t.Errorf("the whole chain%s: %s, %d bytes, HEAD %v", query, a.Status, len(a.body), head.Header)
			}
			if known := l.ask(http.MethodGet, "/api/v1/verify/picks"+query, "If-None-Match", a.Header.Get("ETag")); known.StatusCode != http.StatusNotModified {
				t.Errorf("the whole chain%s, for a client that has it: %s", query, known.Status)
			}
		}
	}
	whole()
	written := []string{"?format=csv", "?format=parquet&from_seq=2", "?limit=2"}
	for _, query := range written {
		if a := l.ask(http.MethodHead, "/api/v1/verify/picks"+query); a.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", query, a.Status)
		}
	}
	for _, query := range written {
		a := l.ask(http.MethodGet, "/api/v1/verify/picks"+query)
		if a.StatusCode != http.StatusTooManyRequests || l.object(a)["code"] != view.CodeRateLimited || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s, one too many: %s %s", query, a.Status, a.body)
		}
	}
	whole()
}

// Clients read files with typed columns slowly, so each file is in memory for long. Of one address a few are written at once, some more wait
// until these are read, and no other address waits for them.
func TestFilesThatAnAddressDoesNotReadAreBounded(t *testing.T) {
	t.Parallel()
	tariff, err := endpoint.NewTariff(accounts.ModelBalance, "")
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, setup{stored: []postgres.Snapshot{full()}})
	s.serve(api.Options{
		View: s.view, Timeouts: api.Timeouts{Request: time.Hour, Wait: time.Hour},
		Accounts: &api.Accounts{
			DB: s.open(postgres.RoleAPI), Tariff: tariff, Now: time.Now, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		},
	})
	const slow = "203.0.113.7"
	var held []func()
	for range api.MaxFiles {
		leave, err := s.server.HoldFile(t.Context(), slow) // a file whose client does not read
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, leave)
	}
	ask := func(method, from string) answer {
		return s.ask(method, crack+"/history?format=parquet", "X-Forwarded-For", from)
	}
	waiting := make(chan answer, api.MaxFilesWaiting)
	for range api.MaxFilesWaiting {
		go func() { waiting <- ask(http.MethodGet, slow) }()
	}
	s.eventually("all requests of the address to wait", func() bool { return s.server.FilesWaiting() == api.MaxFilesWaiting })
	if a := ask(http.MethodGet, slow); a.StatusCode != http.StatusTooManyRequests || s.object(a)["code"] != view.CodeRateLimited || a.Header.Get("Retry-After") == "" {
		t.Errorf("one more request: %s %s", a.Status, a.body)
	}
	if a := ask(http.MethodHead, slow); a.StatusCode != http.StatusOK {
		t.Errorf("HEAD, which writes no file: %s", a.Status)
	}
	for i := range 2 * api.MaxFiles {
		if a := ask(http.MethodGet, fmt.Sprintf("198.51.100.%d", i)); a.StatusCode != http.StatusOK || !bytes.HasPrefix(a.body, []byte("PAR1")) {
			t.Errorf("another address: %s", a.Status)
		}
	}
	for _, leave := range held {
		leave()
	}
	for range api.MaxFilesWaiting {
		if a := <-waiting; a.StatusCode != http.StatusOK || !bytes.HasPrefix(a.body, []byte("PAR1")) {
			t.Errorf("a request that waited: %s", a.Status)
		}
	}
}
