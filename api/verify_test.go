package api_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/api/view"
	"tidemark/chain/tlog"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

func TestTheChainIsServedAsItCanBeRecomputed(t *testing.T) {
	t.Parallel()
	l := week(t)
	a := l.ask(http.MethodGet, "/api/v1/verify/picks")
	body := l.object(a)

	// By hand: each hash from the values, without code of this program.
	previous := strings.Repeat("0", 64)
	for i, p := range picksOf(t, body) {
		preimage := fmt.Sprintf("%s|%s|%s|%s", p["ticker"], p["price"], p["date"], previous)
		sum := sha256.Sum256([]byte(preimage))
		want := map[string]any{
			"seq": float64(i + 1), "ticker": p["ticker"], "price": p["price"], "date": p["date"], "previous_hash": previous,
			"hash": hex.EncodeToString(sum[:]), "preimage": preimage, "attestation_status": "pending",
		}
		if diff := cmp.Diff(want, p); diff != "" {
			t.Errorf("pick %d, -want +got:\n%s", i+1, diff)
		}
		previous = hex.EncodeToString(sum[:])
	}
	delete(body, "picks")
	want := map[string]any{
		"valid": true, "chain_length": 4.0, "algorithm": "SHA-256", "hash_rule": "ticker|price|date|previous_hash",
		"encoding": "UTF-8, lowercase hex", "genesis_hash": strings.Repeat("0", 64), "head_hash": previous, "head_date": "2026-02-20",
		"verified_at": "2026-02-20T23:00:00Z", "first_invalid_seq": nil, "next_from_seq": nil,
		"git": map[string]any{
			"repository": nil, "branch": nil, "path": "chain/picks.ndjson", "commit": nil, "committed_at": nil, "status": nil,
		},
		"gaps": []any{map[string]any{"date": "2026-02-18", "reason": "no price by the cutoff"}},
		"corrections": []any{map[string]any{
			"seq": 2.0, "what": "the close was 451.20", "evidence": "https://example.org/<b>", "date": "2026-02-20",
		}},
		"attestation": map[string]any{
			"network": nil, "contract": nil, "schema_uid": nil, "attester": nil, "start_block": nil, "rpc_url": nil, "latest": nil,
		},
		"checks":  map[string]any{"hashes": "ok", "links": "ok", "git": "pending", "attestations": "pending", "business_days": "ok", "seals": "none"},
		"seals":   map[string]any{"since": nil, "days": 0.0, "open": []any{}, "faults": []any{}},
		"verdict": "self_consistent", "judged_by": nobody,
		"how_to_verify": l.url + "/verify", "environment": "demo", "disclaimer": body["disclaimer"],
	}
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("around the picks, -want +got:\n%s", diff)
	}
	if text, _ := body["disclaimer"].(string); !strings.Contains(text, "not personalized investment advice") {
		t.Errorf("the disclaimer is %q", text)
	}

	t.Run("with ETag, gzip, HEAD and CORS", func(t *testing.T) {
		tag := a.Header.Get("ETag")
		if got := l.ask(http.MethodGet, "/api/v1/verify/picks", "If-None-Match", tag); got.StatusCode != http.StatusNotModified || len(got.body) > 0 {
			t.Errorf("with its tag: %s, %d bytes", got.Status, len(got.body))
		}
		zipped := l.ask(http.MethodGet, "/api/v1/verify/picks", "Accept-Encoding", "gzip")
		if zipped.Header.Get("Content-Encoding") != "gzip" || zipped.Header.Get("ETag") == tag || unzip(t, zipped.body) != string(a.body) {
			t.Errorf("compressed: %v", zipped.Header)
		}
		head := l.ask(http.MethodHead, "/api/v1/verify/picks")
		if len(head.body) > 0 || head.Header.Get("Content-Length") != strconv.Itoa(len(a.body)) || head.Header.Get("ETag") != tag {
			t.Errorf("HEAD: %v", head.Header)
		}
		for name, value := range map[string]string{
			"Access-Control-Allow-Origin": "*", "Content-Type": "application/json", "Cache-Control": view.CachePublic,
		} {
			if a.Header.Get(name) != value {
				t.Errorf("%s is %q, want %q", name, a.Header.Get(name), value)
			}
		}
	})
	t.Run("in pages", func(t *testing.T) {
		var seen []map[string]any
		next := "1"
		for range 3 {
			page := l.get("/api/v1/verify/picks?limit=2&from_seq=" + next)
			if page["chain_length"] != 4.0 || page["valid"] != true {
				t.Errorf("around the page: %v", page)
			}
			seen = append(seen, picksOf(t, page)...)
			n, more := page["next_from_seq"].(float64)
			if !more {
				break
			}
			next = strconv.Itoa(int(n))
		}
		if diff := cmp.Diff(picksOf(t, l.object(a)), seen); diff != "" {
			t.Errorf("the pages together, -want +got:\n%s", diff)
		}
		if rest := picksOf(t, l.get("/api/v1/verify/picks?from_seq=4")); len(rest) != 1 || rest[0]["seq"] != 4.0 {
			t.Errorf("from 4 on: %v", rest)
		}
		if beyond := picksOf(t, l.get("/api/v1/verify/picks?from_seq=5")); len(beyond) != 0 {
			t.Errorf("from 5 on: %v", beyond)
		}
	})
	t.Run("as CSV and NDJSON", func(t *testing.T) {
		got := l.ask(http.MethodGet, "/api/v1/verify/picks?format=csv")
		rows, err := csv.NewReader(bytes.NewReader(got.body)).ReadAll()
		if err != nil || len(rows) != 5 || got.Header.Get("Content-Type") != "text/csv" {
			t.Fatalf("%v, %d rows, %v", err, len(rows), got.Header)
		}
		var lines []map[string]any
		nd := l.ask(http.MethodGet, "/api/v1/verify/picks", "Accept", "application/x-ndjson")
		for line := range strings.Lines(string(nd.body)) {
			var p map[string]any
			if err := json.Unmarshal([]byte(line), &p); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, p)
		}
		if diff := cmp.Diff(picksOf(t, l.object(a)), lines); diff != "" {
			t.Errorf("NDJSON, -want +got:\n%s", diff)
		}
		for i, p := range lines {
			for k, name := range rows[0] {
				if want := fmt.Sprint(p[name]); rows[i+1][k] != want {
					t.Errorf("row %d, %s is %q, want %q", i+1, name, rows[i+1][k], want)
				}
			}
		}
	})
	t.Run("and refuses what it does not understand", func(t *testing.T) {
		for _, query := range []string{"limit=0", "limit=501", "limit=x", "from_seq=0", "from_seq=-1", "from_seq=1.5", "format=xml", "from_seq=1&from_seq=2"} {
			if got := l.ask(http.MethodGet, "/api/v1/verify/picks?"+query); got.StatusCode != http.StatusBadRequest || l.object(got)["code"] != "invalid_parameter" {
				t.Errorf("%s: %s: %s", query, got.Status, got.body)
			}
		}
		if got := l.ask(http.MethodPost, "/api/v1/verify/picks"); got.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("POST: %s", got.Status)
		}
		if got := l.ask(http.MethodGet, "/api/v1/verify/picks", "Accept", "text/html"); got.StatusCode != http.StatusNotAcceptable {
			t.Errorf("as HTML: %s", got.Status)
		}
	})
}

// nobody is the judge if no witness is configured.
var nobody = map[string]any{
	"parties": 0.0, "agreeing": 0.0, "covered": 0.0, "quorum": nil, "witnesses": []any{},
	"text": "Only this server speaks for itself: no witness is configured. This is the server's own word; ask the witnesses yourself.",
}

func TestOnePickIsVerified(t *testing.T) {
	t.Parallel()
	l := week(t)
	chain := picksOf(t, l.get("/api/v1/verify/picks"))
	body := l.get("/api/v1/verify/pick/aapl")
	link := map[string]any{}
	for _, name := range []string{"seq", "ticker", "price", "date", "previous_hash", "hash"} {
		link[name] = chain[3][name]
	}
	want := map[string]any{
		"verdict": "self_consistent", "valid": true, "ticker": "AAPL", "pick": link, "preimage": "AAPL|250.00|2026-02-20|" + chain[2]["hash"].(string),
		"recomputed_hash": chain[3]["hash"], "chain_position": 4.0, "chain_length": 4.0, "verified_at": "2026-02-20T23:00:00Z",
		"checks": map[string]any{"hash": "ok", "previous": "ok", "next": "none", "git": "pending", "attestation": "pending", "seal": "none"},
		"git":    map[string]any{"commit": nil, "path": "chain/picks.ndjson", "committed_at": nil, "url": nil},
		"attestation": map[string]any{
			"status": "pending", "network": nil, "method": "eas", "uid": nil, "schema_uid": nil, "head": nil, "length": nil, "tx_hash": nil,
			"block_number": nil, "block_time": nil, "attester": nil, "explorer_url": nil,
		},
		"log_index": nil, "proof_url": nil, "seal": nil, "judged_by": nobody,
		"corrections": []any{}, "all": []any{
			map[string]any{"seq": 4.0, "date": "2026-02-20"}, map[string]any{"seq": 1.0, "date": "2026-02-13"},
		},
		"how_to_verify": l.url + "/verify", "environment": "demo", "disclaimer": body["disclaimer"],
	}
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	first := l.get("/api/v1/verify/pick/AAPL?date=2026-02-13")
	if first["chain_position"] != 1.0 || first["checks"].(map[string]any)["next"] != "ok" {
		t.Errorf("the first one: %v", first)
	}
	corrected := l.get("/api/v1/verify/pick/BRK.B")
	if list := corrected["corrections"].([]any); len(list) != 1 || corrected["valid"] != true || corrected["pick"].(map[string]any)["price"] != "451.1000" {
		t.Errorf("the corrected one: %v", corrected)
	}
	for path, status := range map[string]int{
		"/api/v1/verify/pick/MSFT":                 http.StatusNotFound,
		"/api/v1/verify/pick/AAPL?date=2026-02-17": http.StatusNotFound,
		"/api/v1/verify/pick/AAPL?date=2026-02-30": http.StatusBadRequest,
		"/api/v1/verify/pick/":                     http.StatusNotFound,
	} {
		got := l.ask(http.MethodGet, path)
		if got.StatusCode != status {
			t.Errorf("%s: %s", path, got.Status)
		}
		if code := l.object(got)["code"]; strings.Contains(path, "AAPL?date=2026-02-17") && code != "unknown_ticker" {
			t.Errorf("%s: code %v", path, code)
		}
	}
}

func TestAPickSaysWhereItsProofIs(t *testing.T) {
	t.Parallel()
	l := week(t)
	keys, err := tlog.NewLogKey(rand.Reader, "test.example/log")
	if err != nil {
		t.Fatal(err)
	}
	signer := &markedSigner{}
	if signer.Signer, err = tlog.NewSigner(keys.Private); err != nil {
		t.Fatal(err)
	}
	if err := l.worker.BeginLog(t.Context(), postgres.LogStart{Log: postgres.LogRecord, Origin: signer.Origin(), VKey: signer.VKey(), Environment: "demo"}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.worker.NumberLeaves(t.Context(), postgres.LogRecord); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.worker.IntegrateLeaves(t.Context(), postgres.LogRecord, signer); err != nil {
		t.Fatal(err)
	}
	var index int64
	l.eventually("the place in the log", func() bool {
		body := l.get("/api/v1/verify/pick/BRK.B")
		n, ok := body["log_index"].(float64)
		index = int64(n)
		return ok && body["proof_url"] == fmt.Sprintf("%s/log/proof/%d.tlog-proof", l.url, index)
	})
	leaves, err := l.worker.LogLeaves(t.Context(), postgres.LogRecord, index, index+1)
	if err != nil || len(leaves) != 1 {
		t.Fatalf("%d leaves, %v", len(leaves), err)
	}
	leaf, err := tlog.ParseLeaf(leaves[0])
	if err != nil || leaf.Kind != tlog.KindPick || leaf.Get("seq") != "2" {
		t.Errorf("leaf %q, %v", leaves[0], err)
	}
}

// markedSigner signs, and keeps the largest size in memory.
type markedSigner struct {
	*tlog.Signer

	size int64
	root tlog.Hash
}

func (s *markedSigner) Mark() (int64, tlog.Hash, error) { return s.size, s.root, nil }

func (s *markedSigner) SetMark(size int64, root tlog.Hash) error {
	s.size, s.root = size, root
	return nil
}

// A single hash can be reversed to its pick, so nothing about a pick is served before its announcement: neither the hash nor its existence.
func TestNothingOfAPickIsServedBeforeItsAnnouncement(t *testing.T) {
	t.Parallel()
	l := serveRecord(t, pgtest.New(t), "2026-02-13")
	l.pick("AAPL", "243.85", "2026-02-13", true)
	l.shows(1)
	secret := l.pick("NVDA", "182.50", "2026-02-17", false)
	l.clock("2026-02-17", 18*time.Hour-time.Second)
	l.gap("2026-02-12") // wait for another announcement, so that the record was read again
	l.eventually("the gap", func() bool {
		return strings.Contains(string(l.ask(http.MethodGet, "/api/v1/verify/picks").body), "2026-02-12")
	})
	for _, path := range []string{
		"/api/v1/verify/picks", "/api/v1/verify/picks?from_seq=2", "/api/v1/verify/picks?format=csv", "/api/v1/verify/picks?format=ndjson",
		"/api/v1/verify/pick/NVDA", "/api/v1/verify/pick/NVDA?date=2026-02-17", "/api/v1/verify/pick/AAPL",
	} {
		got := l.ask(http.MethodGet, path)
		for _, what := range []string{secret.Hash, "182.50", `"seq":2`, "\n2,", `"chain_length":2`, `"date":"2026-02-17"`} {
			if strings.Contains(string(got.body), what) {
				t.Errorf("%s shows %q: %s", path, what, got.body)
			}
		}
	}
	l.clock("2026-02-17", 18*time.Hour)
	if _, err := l.worker.AnnounceDue(t.Context(), task.Fence{}, *l.now.Load()); err != nil {
		t.Fatal(err)
	}
	l.shows(2)
	if got := l.get("/api/v1/verify/pick/NVDA"); got["valid"] != true {
		t.Errorf("after its announcement: %v", got)
	}
}

func TestATradingDayWithoutAWordFailsBusinessDays(t *testing.T) {
	t.Parallel()
	l := serveRecord(t, pgtest.New(t), "2026-02-13")
	days := func() string { return l.record.State().Checks().BusinessDays }
	l.pick("AAPL", "243.85", "2026-02-13", true)
	l.shows(1)
	for _, tt := range []struct {
		day   string
		clock time.Duration
		want  string
	}{
		{"2026-02-16", 23 * time.Hour, "ok"}, // Washington's Birthday
		{"2026-02-17", 23 * time.Hour, "ok"}, // today lasts until midnight
		{"2026-02-18", 0, "pending"},         // today's work may still record yesterday's gap
		{"2026-02-18", 23 * time.Hour, "pending"},
		{"2026-02-19", 0, "failed"},
	} {
		l.clock(tt.day, tt.clock)
		l.eventually("business_days "+tt.want, func() bool { return days() == tt.want })
	}
	l.gap("2026-02-17")
	l.gap("2026-02-18")
	l.eventually("the gaps", func() bool { return days() == "ok" })
	if !l.record.State().Valid() {
		t.Error("gaps made the chain invalid")
	}
	l.pick("F", "9.50", "2026-02-20", true)
	l.eventually("a day left out", func() bool { return days() == "failed" })
}

func TestWitnessesBesideTheChain(t *testing.T) {
	t.Parallel()
	l := week(t)
	links := picksOf(t, l.get("/api/v1/verify/picks"))
	entries, err := l.worker.LedgerEntries(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range entries {
		entries[i].Commit = fmt.Sprintf("%040x", i+1)
	}
	save := func(status string) {
		err := l.worker.SaveLedger(t.Context(), task.Fence{}, entries, postgres.LedgerState{
			Repository: "https://git.example/ledger.git", Branch: "main", Head: entries[len(entries)-1].Commit, Pushed: entries[len(entries)-1].Commit, Status: status,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	who := postgres.Attester{ChainID: 8453, Contract: "0x4200000000000000000000000000000000000021", SchemaUID: "0x" + strings.Repeat("ab", 32), Attester: "0x" + strings.Repeat("cd", 20)}
	err = l.worker.SaveAttesterState(t.Context(), task.Fence{}, postgres.AttesterState{
		Attester: who, StartBlock: 7, ExplorerURL: "https://basescan.org", Status: postgres.AttesterOK,
	})
	if err != nil {
		t.Fatal(err)
	}
	attested := func(n int, state string) postgres.Attestation {
		a := postgres.Attestation{
			Attester: who, Kind: "attest", State: state, Subject: links[n-1]["hash"].(string), Length: int64(n), Date: links[n-1]["date"].(string),
			UID: fmt.Sprintf("0x%064x", n), CreatedAt: noon, UpdatedAt: noon,
			Mined: &postgres.AttestationPlace{TxHash: fmt.Sprintf("0x%064x", 100+n), BlockNumber: int64(40 + n), BlockHash: "0x", BlockTime: noon},
		}
		a, err := l.worker.InsertAttestation(t.Context(), task.Fence{}, a)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	save(postgres.LedgerPushed)
	attested(2, "final")
	newest := attested(4, "sent")
	checks := func() view.RecordChecks { return l.record.State().Checks() }
	l.eventually("the witnesses", func() bool {
		at, _ := l.get("/api/v1/verify/picks")["attestation"].(map[string]any)["latest"].(map[string]any)
		return checks().Git == "ok" && at["seq"] == 4.0 && at["status"] == "submitted" && at["block_number"] == 44.0
	})

	body := l.get("/api/v1/verify/picks")
	states := []any{}
	for _, p := range picksOf(t, body) {
		states = append(states, p["attestation_status"])
	}
	if diff := cmp.Diff([]any{"confirmed", "confirmed", "submitted", "submitted"}, states); diff != "" {
		t.Errorf("states, -want +got:\n%s", diff)
	}
	if checks().Attestations != "pending" {
		t.Errorf("attestations: %s while one is on its way", checks().Attestations)
	}
	want := map[string]any{
		"commit": entries[1].Commit, "path": "chain/picks.ndjson", "committed_at": "2026-02-17T23:00:00Z",
		"url": "https://git.example/ledger/commit/" + entries[1].Commit,
	}
	one := l.get("/api/v1/verify/pick/BRK.B")
	if diff := cmp.Diff(want, one["git"]); diff != "" {
		t.Errorf("git, -want +got:\n%s", diff)
	}
	want = map[string]any{
		"status": "confirmed", "network": "eip155:8453", "method": "eas", "uid": fmt.Sprintf("0x%064x", 2), "schema_uid": who.SchemaUID,
		"head": links[1]["hash"], "length": 2.0, "tx_hash": fmt.Sprintf("0x%064x", 102), "block_number": 42.0, "block_time": "2026-03-04T12:00:00Z",
		"attester": who.Attester, "explorer_url": "https://basescan.org/tx/" + fmt.Sprintf("0x%064x", 102),
	}
	if diff := cmp.Diff(want, one["attestation"]); diff != "" {
		t.Errorf("attestation, -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"hash": "ok", "previous": "ok", "next": "ok", "git": "ok", "attestation": "ok", "seal": "none"}, one["checks"]); diff != "" {
		t.Errorf("checks, -want +got:\n%s", diff)
	}

	newest.State = "final"
	if _, err := l.worker.UpdateAttestation(t.Context(), task.Fence{}, newest); err != nil {
		t.Fatal(err)
	}
	l.eventually("all attested", func() bool { return checks().Attestations == "ok" })
	for status, outcome := range map[string]string{postgres.LedgerDiverged: "failed", postgres.LedgerPending: "pending"} {
		save(status)
		l.eventually("the ledger "+status, func() bool { return checks().Git == outcome })
	}
}

// While the database is unavailable, the record is served from memory and says so.
func TestTheRecordIsServedWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	l := serveRecord(t, server.URL(), "2026-02-13")
	l.pick("AAPL", "243.85", "2026-02-13", true)
	l.shows(1)
	before := l.ask(http.MethodGet, "/api/v1/verify/picks")
	if got := before.Header.Get("X-Tidemark-Degraded"); got != "" {
		t.Errorf("degraded before: %q", got)
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	l.eventually("the loss to be noticed", l.record.Degraded)
	for _, path := range []string{"/api/v1/verify/picks", "/api/v1/verify/picks?format=csv", "/api/v1/verify/pick/AAPL"} {
		got := l.ask(http.MethodGet, path)
		if got.StatusCode != http.StatusOK || got.Header.Get("X-Tidemark-Degraded") != "postgres" {
			t.Errorf("%s: %s, degraded %q", path, got.Status, got.Header.Get("X-Tidemark-Degraded"))
		}
	}
	if after := l.ask(http.MethodGet, "/api/v1/verify/picks"); !slices.Equal(after.body, before.body) {
		t.Errorf("the body changed: %s", after.body)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.eventually("the database to be back", func() bool { return !l.record.Degraded() })
	again := l.now.Load()
	l.eventually("the worker's connections", func() bool { return l.worker.SetClock(t.Context(), again) == nil })
	l.pick("F", "9.50", "2026-02-17", true)
	l.shows(2)
}
