package audit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"tidemark/chain"
	"tidemark/chain/audit"
	"tidemark/chain/base"
	"tidemark/chain/gitledger"
	"tidemark/internal/calendar"
	"tidemark/internal/devchain"
)

// now is the time of the audits: a Thursday morning in New York, after the last pick of record.
var now = time.Date(2026, time.March, 5, 15, 0, 0, 0, time.UTC)

// pick is a pick as it is served.
type pick struct {
	Seq          int64  `json:"seq"`
	Ticker       string `json:"ticker"`
	Price        string `json:"price"`
	Date         string `json:"date"`
	PreviousHash string `json:"previous_hash"`
	Hash         string `json:"hash"`
	Preimage     string `json:"preimage"`
	Attestation  string `json:"attestation_status"`
}

// record is the content of a server's response, member by member.
type record struct {
	Valid       bool              `json:"valid"`
	Length      int64             `json:"chain_length"`
	Algorithm   string            `json:"algorithm"`
	Rule        string            `json:"hash_rule"`
	Encoding    string            `json:"encoding"`
	Genesis     string            `json:"genesis_hash"`
	Head        string            `json:"head_hash"`
	HeadDate    *string           `json:"head_date"`
	VerifiedAt  string            `json:"verified_at"`
	Invalid     *int64            `json:"first_invalid_seq"`
	Picks       []pick            `json:"picks"`
	Git         map[string]any    `json:"git"`
	Gaps        []map[string]any  `json:"gaps"`
	Corrections []map[string]any  `json:"corrections"`
	Attestation map[string]any    `json:"attestation"`
	Checks      map[string]string `json:"checks"`
	Environment string            `json:"environment"`
	Seals       *saidSeals        `json:"seals,omitempty"`
}

type saidSeals struct {
	Since  string   `json:"since"`
	Faults []string `json:"faults"`
}

// newRecord makes the record of so many trading days up to the day before now, with gaps on the days named.
func newRecord(tb testing.TB, n int, gaps ...string) *record {
	tb.Helper()
	r := &record{
		Valid: true, Algorithm: "SHA-256", Rule: "ticker|price|date|previous_hash", Encoding: "UTF-8, lowercase hex", Genesis: chain.Genesis,
		Head: chain.Genesis, VerifiedAt: now.Format(time.RFC3339), Picks: []pick{}, Git: map[string]any{"repository": nil},
		Gaps: []map[string]any{}, Corrections: []map[string]any{}, Attestation: map[string]any{"network": nil},
		Checks: map[string]string{"hashes": "ok", "links": "ok"}, Environment: "live",
	}
	for _, g := range gaps {
		r.Gaps = append(r.Gaps, map[string]any{"date": g, "reason": "no price by the cutoff"})
	}
	day := calendar.Add(calendar.DayOf(now), -n)
	for range n {
		if date := day.Format(time.DateOnly); !slices.Contains(gaps, date) {
			r.announce(tb, date)
		}
		day = calendar.Next(day)
	}
	return r
}

// announce adds the pick of a day.
func (r *record) announce(tb testing.TB, date string) {
	tb.Helper()
	after := chain.Checkpoint{Length: r.Length, Head: r.Head}
	if r.HeadDate != nil {
		after.Date = *r.HeadDate
	}
	l, err := chain.Next(after, []string{"AAPL", "MSFT", "BRK.B", "F", "NVDA"}[r.Length%5], fmt.Sprintf("%d.50", 100+r.Length), date)
	if err != nil {
		tb.Fatal(err)
	}
	r.Picks = append(r.Picks, pick{l.Seq, l.Ticker, l.Price, l.Date, l.PreviousHash, l.Hash, chain.Preimage(l), "pending"})
	r.Length, r.Head, r.HeadDate = l.Seq, l.Hash, &l.Date
}

// rechain gives every pick from one on a valid hash, as an attacker with the whole record would.
func (r *record) rechain() {
	r.Head, r.Length = chain.Genesis, int64(len(r.Picks))
	for i := range r.Picks {
		p := &r.Picks[i]
		p.Seq, p.PreviousHash = int64(i+1), r.Head
		l := chain.Link{Seq: p.Seq, Ticker: p.Ticker, Price: p.Price, Date: p.Date, PreviousHash: p.PreviousHash}
		p.Hash, p.Preimage = chain.Hash(l), chain.Preimage(l)
		r.Head, r.HeadDate = p.Hash, &p.Date
	}
}

func (r *record) links() []chain.Link {
	links := make([]chain.Link, len(r.Picks))
	for i, p := range r.Picks {
		links[i] = chain.Link{Seq: p.Seq, Ticker: p.Ticker, Price: p.Price, Date: p.Date, PreviousHash: p.PreviousHash, Hash: p.Hash}
	}
	return links
}

// copy returns a record that can be changed.
func (r *record) copy(tb testing.TB) *record {
	tb.Helper()
	c := &record{}
	if err := json.Unmarshal(r.body(tb, 1, 0), c); err != nil {
		tb.Fatal(err)
	}
	return c
}

// body is the answer with the picks from one on, a number of them or all.
func (r *record) body(tb testing.TB, from int64, limit int) []byte {
	tb.Helper()
	page := *r
	page.Picks = r.Picks[min(from-1, int64(len(r.Picks))):]
	if limit > 0 {
		page.Picks = page.Picks[:min(limit, len(page.Picks))]
	}
	b, err := json.Marshal(page)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// chainPath is where a server has its chain.
const chainPath = "/api/v1/verify/picks"

// handler answers as the API does.
func (r *record) handler(tb testing.TB) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path != chainPath {
			http.NotFound(w, q)
			return
		}
		from, _ := strconv.ParseInt(q.FormValue("from_seq"), 10, 64)
		limit, _ := strconv.Atoi(q.FormValue("limit"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(r.body(tb, max(1, from), limit))
	}
}

func serve(tb testing.TB, h http.Handler) string {
	tb.Helper()
	s := httptest.NewServer(h)
	tb.Cleanup(s.Close)
	return s.URL
}

// audit audits a record over HTTP.
func (r *record) audit(tb testing.TB, o audit.Options) *audit.Report {
	tb.Helper()
	o.URL, o.Environ = serve(tb, r.handler(tb)), os.Environ()
	if o.Now.IsZero() {
		o.Now = now
	}
	report, err := audit.Run(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	return report
}

// check returns a check of a report by its name.
func check(tb testing.TB, r *audit.Report, name string) audit.Check {
	tb.Helper()
	i := slices.IndexFunc(r.Checks, func(c audit.Check) bool { return c.Name == name })
	if i < 0 {
		tb.Fatalf("there is no check %s in %+v", name, r.Checks)
	}
	return r.Checks[i]
}

// commit writes the record into a git ledger and names it in the answer.
func (r *record) commit(tb testing.TB) string {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "ledger.git")
	l, err := gitledger.Open(tb.Context(), gitledger.Options{
		Dir: dir, Environment: r.Environment, Author: gitledger.Identity{Name: "Ledger", Email: "ledger@example.org"}, Environ: os.Environ(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	var all []gitledger.Entry
	for _, k := range r.links() {
		all = append(all, gitledger.Entry{At: evening(tb, k.Date), Pick: &k})
	}
	for _, g := range r.Gaps {
		date := fmt.Sprint(g["date"])
		all = append(all, gitledger.Entry{At: evening(tb, date), Gap: &chain.Gap{Date: date, Reason: fmt.Sprint(g["reason"])}})
	}
	for _, c := range r.Corrections {
		k := chain.Correction{Seq: int64(c["seq"].(float64)), What: fmt.Sprint(c["what"]), Evidence: fmt.Sprint(c["evidence"]), Date: fmt.Sprint(c["date"])}
		all = append(all, gitledger.Entry{At: evening(tb, k.Date), Correction: &k})
	}
	slices.SortStableFunc(all, func(a, b gitledger.Entry) int { return a.At.Compare(b.At) })
	commits, err := l.Append(tb.Context(), all...)
	if err != nil {
		tb.Fatal(err)
	}
	r.Git = map[string]any{"repository": "file://" + dir, "branch": "main", "commit": commits[len(commits)-1].ID}
	return dir
}

func evening(tb testing.TB, date string) time.Time {
	tb.Helper()
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		tb.Fatal(err)
	}
	return calendar.At(day, calendar.AnnouncementClock)
}

// attest puts the record's head at the given lengths on a development chain and names it in the answer.
func (r *record) attest(tb testing.TB, c *devchain.Chain, account int, lengths ...int64) {
	tb.Helper()
	client, err := base.Dial(devchain.DefaultChainID, c.URL())
	if err != nil {
		tb.Fatal(err)
	}
	defer client.Close()
	signer := base.NewSigner(devchain.Key(account))
	rows := &rows{}
	a := &base.Attester{
		Client: client, Signer: signer, Store: rows, Limits: base.Limits{Daily: 1e18},
		EAS: base.EAS{Contract: devchain.EASAddress, Registry: devchain.SchemaRegistryAddress},
	}
	for _, n := range lengths {
		head := chain.Checkpoint{Length: n, Head: r.Picks[n-1].Hash, Date: r.Picks[n-1].Date}
		at := evening(tb, head.Date)
		for i := 0; !rows.settled(head.Head); i++ {
			if i == 30 {
				tb.Fatalf("the head of %d picks is not attested: %+v", n, rows.all)
			}
			if _, err := a.Step(tb.Context(), at.Add(time.Duration(10*i)*time.Second), head); err != nil {
				tb.Fatal(err)
			}
		}
	}
	newest := rows.all[len(rows.all)-1]
	r.Attestation = map[string]any{
		"network": "eip155:84532", "contract": base.EASAddress, "schema_uid": base.SchemaUID(base.Schema).Hex(), "attester": signer.Address().Hex(),
		"start_block": 0, "rpc_url": c.URL(),
		"latest": map[string]any{"seq": newest.Length, "uid": newest.UID, "tx_hash": newest.Mined.TxHash, "block_number": newest.Mined.BlockNumber, "status": "confirmed"},
	}
	for i := range newest.Length {
		r.Picks[i].Attestation = "confirmed"
	}
}

// rows keeps an attester's rows in memory.
type rows struct{ all []base.Row }

func (s *rows) settled(head string) bool {
	return slices.ContainsFunc(s.all, func(r base.Row) bool {
		return r.Kind == base.KindAttest && r.Subject == head && (r.State == base.StateSafe || r.State == base.StateFinal)
	})
}

func (s *rows) Open(context.Context) (open []base.Row, err error) {
	for _, r := range s.all {
		if r.State != base.StateFinal && r.State != base.StateFailed {
			open = append(open, r)
		}
	}
	return open, nil
}

func (s *rows) Attested(context.Context) (newest base.Row, ok bool, err error) {
	for _, r := range s.all {
		if r.Kind == base.KindAttest && (r.State == base.StateSafe || r.State == base.StateFinal) && r.Length > newest.Length {
			newest, ok = r, true
		}
	}
	return newest, ok, nil
}

func (s *rows) Insert(_ context.Context, r base.Row) (base.Row, error) {
	r.ID, r.Version = int64(len(s.all)+1), 1
	s.all = append(s.all, r)
	return r, nil
}

func (s *rows) Update(_ context.Context, r base.Row) (base.Row, error) {
	r.Version++
	s.all[r.ID-1] = r
	return r, nil
}

func (s *rows) Spent(context.Context, string) (int64, error) { return 0, nil }

func startChain(tb testing.TB) *devchain.Chain {
	tb.Helper()
	c, err := devchain.Start(devchain.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}
