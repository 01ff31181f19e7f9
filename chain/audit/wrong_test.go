package audit_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"tidemark/chain"
	"tidemark/chain/audit"
)

// run audits the server at an address.
func run(tb testing.TB, address string) (*audit.Report, error) {
	tb.Helper()
	return audit.Run(tb.Context(), audit.Options{URL: address, Now: now, Environ: os.Environ()})
}

func TestWrongAnswersAreClearErrors(t *testing.T) {
	t.Parallel()
	sound := newRecord(t, 3)
	says := func(kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write([]byte(body))
		}
	}
	edited := func(old, with string) http.HandlerFunc {
		body := string(sound.body(t, 1, 1))
		if !strings.Contains(body, old) {
			t.Fatalf("the answer has no %s", old)
		}
		return says("application/json", strings.Replace(body, old, with, 1))
	}
	endless := func(begin, piece string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(begin))
			piece := []byte(strings.Repeat(piece, 1<<16/len(piece)))
			for {
				if _, err := w.Write(piece); err != nil {
					return
				}
			}
		}
	}
	for _, tt := range []struct {
		name, says string
		handler    http.HandlerFunc
	}{
		{"an HTML page", "instead of application/json", says("text/html; charset=utf-8", "<html>")},
		{"a problem", `503 Service Unavailable: "The record is being loaded."`, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"detail":"The record is being loaded."}`))
		}},
		{"nothing", "unexpected EOF", says("application/json", "")},
		{"a list", "not an answer of a record", says("application/json", "[]")},
		{"another object", `no member`, says("application/json", "{}")},
		{"broken JSON", "invalid character", edited(`"picks":[`, `"picks":[[`+"\x00")},
		{"something behind the answer", "something follows", says("application/json", string(sound.body(t, 1, 1))+"{}")},
		{"a member twice", "twice", edited(`"valid":true`, `"valid":false,"valid":true`)},
		{"a member of a pick twice", "twice", edited(`"ticker":`, `"ticker":"ZZZ","ticker":`)},
		{"a price that is a number", "must be a string", edited(`"price":"100.50"`, `"price":100.50`)},
		{"a seq that is no whole number", "must be a whole number", edited(`"seq":1`, `"seq":1.0`)},
		{"a pick that is no object", "it is not an object", edited(`"picks":[`, `"picks":[1,`)},
		{"a gap of no day", "is not a day", edited(`"gaps":[]`, `"gaps":[{"date":"2026-02-30","reason":"a"}]`)},
		{"a correction of nothing", "picks count from 1", edited(`"corrections":[]`, `"corrections":[{"what":"a","evidence":"b","date":"2026-03-02"}]`)},
		{"more members than any pick has", "more than 64 members", edited(`"ticker":`, manyMembers(70)+`"ticker":`)},
		{"a redirect to itself", "redirects more than 5 times", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.String(), http.StatusFound) }},
		{"an endless string", "longer than any", endless(`{"environment":"`, "a")},
		{"an endless pick", "longer than any", endless(`{"picks":[{"ticker":"`, "a")},
		{"endless blanks", "longer than any", endless(`{"picks":[`, " ")},
		{"endless depth", "exceeded max depth", endless(`{"picks":[{"a":`, "[")},
		{"endless picks", "and sends more", endless(`{"picks":[{"seq":1}`, `,{"seq":1}`)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			report, err := run(t, serve(t, tt.handler))
			if err == nil || !strings.Contains(err.Error(), tt.says) || report != nil {
				t.Errorf("the report is %v, the error %.400v, want one that says %q", report, err, tt.says)
			}
		})
	}
	t.Run("nobody there", func(t *testing.T) {
		t.Parallel()
		if _, err := run(t, "http://127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("the error is %v", err)
		}
	})
	t.Run("no address", func(t *testing.T) {
		t.Parallel()
		for _, address := range []string{"", "example.org", "ftp://example.org", "http://"} {
			if _, err := run(t, address); err == nil || !strings.Contains(err.Error(), "not an HTTP URL") {
				t.Errorf("%q: %v", address, err)
			}
		}
	})
	t.Run("a redirect away from encryption", func(t *testing.T) {
		t.Parallel()
		plain := serve(t, sound.handler(t))
		secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, plain+r.URL.String(), http.StatusFound)
		}))
		t.Cleanup(secure.Close)
		_, err := audit.Run(t.Context(), audit.Options{URL: secure.URL, Now: now, Transport: secure.Client().Transport})
		if err == nil || !strings.Contains(err.Error(), "not encrypted") {
			t.Errorf("the error is %v", err)
		}
	})
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"m%d":1,`, i)
	}
	return b.String()
}

// A chain with one wrong link ends there: a server cannot keep its client reading.
func TestAnEndlessChainEndsAtItsFirstWrongLink(t *testing.T) {
	t.Parallel()
	sound := newRecord(t, 2)
	first, rest, _ := strings.Cut(string(sound.body(t, 1, 0)), `}],`)
	_ = rest
	again, err := json.Marshal(sound.Picks[1])
	if err != nil {
		t.Fatal(err)
	}
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("limit") != "" {
			sound.handler(t)(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(first + "}"))
		for {
			if _, err := w.Write([]byte("," + string(again))); err != nil {
				return
			}
		}
	}))
	report, err := run(t, address)
	if err != nil {
		t.Fatal(err)
	}
	if c := check(t, report, "links"); report.Verified || c.Status != audit.Mismatch || report.Length != 2 {
		t.Errorf("links: %s: %s, length %d", c.Status, c.Detail, report.Length)
	}
}

func TestABrokenConnectionIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	r := newRecord(t, 40)
	var asked atomic.Int64
	whole := r.handler(t)
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		from := q.FormValue("from_seq")
		if q.URL.Path != chainPath || q.FormValue("limit") != "" || from != "" && asked.Load() > 1 {
			whole(w, q)
			return
		}
		asked.Add(1)
		answer := httptest.NewRecorder()
		whole(answer, q)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer.Body.Bytes()[:6000])
		panic(http.ErrAbortHandler)
	}))
	report, err := run(t, address)
	if err != nil {
		t.Fatal(err)
	}
	if !report.Verified || report.Length != 40 || asked.Load() != 2 {
		t.Errorf("asked %d times, the report is %+v", asked.Load(), report)
	}
	t.Run("unless it brings nothing new", func(t *testing.T) {
		t.Parallel()
		address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if q.FormValue("limit") != "" {
				whole(w, q)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"picks":[`))
			panic(http.ErrAbortHandler)
		}))
		if _, err := run(t, address); err == nil || !strings.Contains(err.Error(), "EOF") {
			t.Errorf("the error is %v", err)
		}
	})
}

// A server elsewhere must not make its reader look into folders and nodes of the reader's own machine.
func TestAServerElsewhereCannotNameThisMachine(t *testing.T) {
	t.Parallel()
	r := newRecord(t, 3)
	r.commit(t)
	r.Attestation = map[string]any{
		"network": "eip155:84532", "contract": "0x4200000000000000000000000000000000000021", "schema_uid": "0x", "attester": "0x",
		"rpc_url": "http://127.0.0.1:1", "latest": nil,
	}
	report, err := audit.Run(t.Context(), audit.Options{URL: "http://record.example", Now: now, Environ: os.Environ(), Transport: answering{r.handler(t)}})
	if err != nil {
		t.Fatal(err)
	}
	for name, says := range map[string]string{"git": "--ledger", "attestations": "--rpc"} {
		if c := check(t, report, name); c.Status != audit.NotChecked || !strings.Contains(c.Detail, says) {
			t.Errorf("%s: %s: %s", name, c.Status, c.Detail)
		}
	}
}

// answering is a transport that a handler answers.
type answering struct{ http.Handler }

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w.Result(), nil
}

func TestWhatAServerSaysOfItselfHasToBeSo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, says string
		edit       func(r *record)
	}{
		{"valid", "valid is false", func(r *record) { r.Valid = false }},
		{"the length", "chain_length is 6", func(r *record) { r.Length++ }},
		{"the head", "head_hash", func(r *record) { r.Head = strings.Repeat("ab", 32) }},
		{"the date", "head_date", func(r *record) { r.HeadDate = new("2026-03-05") }},
		{"the rule", "hash_rule", func(r *record) { r.Rule = "price|ticker|date|previous_hash" }},
		{"the algorithm", "algorithm", func(r *record) { r.Algorithm = "SHA-1" }},
		{"the genesis", "genesis_hash", func(r *record) { r.Genesis = chain.Hash(chain.Link{}) }},
		{"the encoding", "encoding", func(r *record) { r.Encoding = "UTF-16" }},
		{"the first wrong pick", "calls pick 2 invalid", func(r *record) { r.Invalid = new(int64(2)) }},
		{"a check", "the check hashes is failed", func(r *record) { r.Checks["hashes"] = "failed" }},
		{"a state", "no state", func(r *record) { r.Picks[2].Attestation = "settled" }},
		{"the environment", "live or demo", func(r *record) { r.Environment = "prod" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRecord(t, 5)
			tt.edit(r)
			got := check(t, r.audit(t, audit.Options{}), "answer")
			if got.Status != audit.Mismatch || !strings.Contains(got.Detail, tt.says) {
				t.Errorf("%s: %s, want a mismatch that says %q", got.Status, got.Detail, tt.says)
			}
		})
	}
}

// FuzzAnswers: for any response of a server, the audit ends, and a chain that it calls verified is also a chain for another reader of
// JSON.
func FuzzAnswers(f *testing.F) {
	r := newRecord(f, 3, "2026-03-03")
	r.Corrections = append(r.Corrections, map[string]any{"seq": 1.0, "what": "a\"b", "evidence": "é", "date": "2026-03-03"})
	f.Add(r.body(f, 1, 0))
	f.Add([]byte(`{"picks":[{"seq":1,"a":{"b":["}"]}}],"gaps":[null]}`))
	f.Add([]byte(`{"picks":[{}, {"\"":0}]}`))
	head := r.body(f, 1, 1)
	f.Fuzz(func(t *testing.T, b []byte) {
		answer := answering{http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if q.FormValue("limit") != "" {
				_, _ = w.Write(head)
				return
			}
			_, _ = w.Write(b)
		})}
		report, err := audit.Run(t.Context(), audit.Options{URL: "http://record.example", Now: now, Transport: answer})
		if err != nil || !report.Verified {
			return
		}
		var seen struct {
			Picks []map[string]any `json:"picks"`
		}
		if err := json.Unmarshal(b, &seen); err != nil {
			t.Fatalf("verified %q, which is no JSON: %v", b, err)
		}
		var links []chain.Link
		for _, p := range seen.Picks {
			text := func(name string) string { s, _ := p[name].(string); return s }
			seq, _ := p["seq"].(float64)
			links = append(links, chain.Link{
				Seq: int64(seq), Ticker: text("ticker"), Price: text("price"), Date: text("date"), PreviousHash: text("previous_hash"), Hash: text("hash"),
			})
		}
		if at, err := chain.Verify(chain.Each(links)); err != nil || at.Length != report.Length || at.Head != report.Head {
			t.Errorf("verified %d picks up to %s; another reader sees %+v, %v", report.Length, report.Head, at, err)
		}
	})
}
