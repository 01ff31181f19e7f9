package tamper_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/chain/audit"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/test/program"
)

func TestMain(m *testing.M) {
	defer program.Build()()
	pgtest.Main(m)
}

// answers is a transport that gives what a server said: the statement to a request with a limit, else the chain.
type answers struct {
	statement, chain []byte
	now              time.Time
}

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	if body := a.chain; r.URL.Query().Has("limit") {
		w.Body = bytes.NewBuffer(a.statement)
	} else {
		w.Body = bytes.NewBuffer(body)
	}
	return w.Result(), nil
}

func (a answers) audit(ctx context.Context) (*audit.Report, error) {
	return audit.Run(ctx, audit.Options{URL: "http://record.example", Now: a.now, Transport: a, Environ: os.Environ()})
}

// change is one change of the picks of a served chain, each of them an object.
type change struct {
	what string
	make func(rng *rand.Rand, picks []json.RawMessage) []json.RawMessage
}

// alphabet has what fields are made of, and a little more.
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-| "

// character changes one character of a field of a random pick: it replaces, deletes or inserts one.
func character(field string) change {
	return change{field, func(rng *rand.Rand, picks []json.RawMessage) []json.RawMessage {
		i := rng.IntN(len(picks))
		var p map[string]any
		d := json.NewDecoder(bytes.NewReader(picks[i]))
		d.UseNumber()
		if err := d.Decode(&p); err != nil {
			panic(err)
		}
		switch v := p[field].(type) {
		case json.Number:
			changed := different(rng, v.String(), "0123456789")
			if changed == "" || changed[0] == '0' {
				changed = "1" + v.String()
			}
			p[field] = json.Number(changed)
		case string:
			p[field] = different(rng, v, alphabet)
		}
		edited, err := json.Marshal(p)
		if err != nil {
			panic(err)
		}
		picks[i] = edited
		return picks
	}}
}

func different(rng *rand.Rand, s, from string) string {
	for {
		at, c := rng.IntN(len(s)), string(from[rng.IntN(len(from))])
		out := s[:at] + c + s[at+1:]
		switch rng.IntN(4) {
		case 0:
			out = s[:at] + s[at+1:]
		case 1:
			out = s[:at] + c + s[at:]
		}
		if out != s {
			return out
		}
	}
}

var changes = []change{
	character("ticker"), character("price"), character("date"), character("hash"), character("previous_hash"), character("preimage"),
	character("seq"), character("attestation_status"),
	{"order", func(rng *rand.Rand, picks []json.RawMessage) []json.RawMessage {
		i := rng.IntN(len(picks))
		j := (i + 1 + rng.IntN(len(picks)-1)) % len(picks)
		picks[i], picks[j] = picks[j], picks[i]
		return picks
	}},
	{"deletion", func(rng *rand.Rand, picks []json.RawMessage) []json.RawMessage {
		i := rng.IntN(len(picks))
		return slices.Delete(picks, i, i+1)
	}},
	{"insertion", func(rng *rand.Rand, picks []json.RawMessage) []json.RawMessage {
		return slices.Insert(picks, rng.IntN(len(picks)+1), picks[rng.IntN(len(picks))])
	}},
}

// Each of 2,160 random changes of the chain as it is sent is found, by the picks alone and without a witness.
func TestEveryChangeOfTheServedChainIsFound(t *testing.T) {
	t.Parallel()
	s, _ := start(t, days, time.Hour)
	sent := answers{s.get(t, "/api/v1/verify/picks?limit=1"), s.get(t, "/api/v1/verify/picks"), s.now}
	if r, err := sent.audit(t.Context()); err != nil || !r.Verified || r.Length != days-1 {
		t.Fatalf("the record as it is: %+v, %v", r, err)
	}
	var around struct{ Picks []json.RawMessage }
	if err := json.Unmarshal(sent.chain, &around); err != nil {
		t.Fatal(err)
	}
	from := bytes.Index(sent.chain, []byte(`"picks":[`)) + len(`"picks":[`)
	to := from + bytes.Index(sent.chain[from:], []byte("],"))
	const each = 180
	for k, c := range changes {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(2026, uint64(k)))
			for range each {
				b := bytes.Clone(sent.chain[:from])
				for i, p := range c.make(rng, slices.Clone(around.Picks)) {
					if i > 0 {
						b = append(b, ',')
					}
					b = append(b, p...)
				}
				b = append(b, sent.chain[to:]...)
				r, err := answers{sent.statement, b, s.now}.audit(t.Context())
				if err == nil && r.Verified {
					t.Fatalf("a change was not found: %s", firstDifference(sent.chain, b))
				}
			}
		})
	}
	t.Run("any byte of the picks", func(t *testing.T) {
		t.Parallel()
		rng := rand.New(rand.NewPCG(2026, 99))
		for range each {
			b := bytes.Clone(sent.chain)
			i := from + rng.IntN(to-from)
			for b[i] == sent.chain[i] {
				b[i] = alphabet[rng.IntN(len(alphabet))]
			}
			r, err := answers{sent.statement, b, s.now}.audit(t.Context())
			if err == nil && r.Verified {
				t.Fatalf("a change was not found: %s", firstDifference(sent.chain, b))
			}
		}
	})
}

func firstDifference(a, b []byte) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	show := func(x []byte) string { return string(x[max(0, i-60):min(len(x), i+60)]) }
	return fmt.Sprintf("%q became %q", show(a), show(b))
}

// The database rejects every change that the program's own roles try. A superuser who disables the triggers gets through. Then the server
// reports at its next full pass that its chain is not valid, and where, and the audit finds it.
func TestEveryChangeOfTheStoredChainIsRefusedOrFound(t *testing.T) {
	t.Parallel()
	s, root := start(t, days, 20*time.Millisecond)
	edits := []struct{ what, sql, check string }{
		{"ticker", `update picks set ticker = 'ZZZ' where seq = 40`, "hashes"},
		{"price", `update picks set price = '999.99' where seq = 300`, "hashes"},
		{"date", `update picks set date = '2025-02-29' where seq = 41`, "hashes"},
		{"hash", `update picks set hash = repeat('ab', 32) where seq = 42`, "hashes"},
		{"previous hash", `update picks set previous_hash = repeat('cd', 32) where seq = 43`, "links"},
		{"a price and its hash", `update picks set price = '1.00', hash = pick_hash(ticker, '1.00', date, previous_hash) where seq = 44`, "links"},
		{"order", `update picks p set seq = case p.seq when 50 then 1000050 else 1000051 end where seq in (50, 51);
			update picks p set seq = case p.seq when 1000050 then 51 else 50 end where seq > 1000000`, "links"},
		{"deletion", `delete from announcements where seq = 60`, "links"},
		{"deletion of a pick", `delete from announcements where seq = 61; delete from picks where seq = 61`, "links"},
		{"insertion", `insert into picks select 301, 'ZZZ', '1.00', '2027-01-04', repeat('1', 64), pick_hash('ZZZ', '1.00', '2027-01-04', repeat('1', 64)),
			cik, name, exchange, sector, region, country, currency, origin, reason, announce_at, appended_at from picks where seq = 1;
			insert into announcements values (301, now())`, "links"},
		{"a quotation mark", `update picks set ticker = 'A"B' where seq = 45`, "hashes"},
	}
	for _, e := range edits {
		t.Run(e.what, func(t *testing.T) {
			for _, role := range []string{postgres.RoleWorker, postgres.RoleAPI} {
				err := pgx.BeginFunc(t.Context(), root, func(tx pgx.Tx) error {
					if _, err := tx.Exec(t.Context(), "set local role "+role); err != nil {
						return err
					}
					_, err := tx.Exec(t.Context(), e.sql)
					return err
				})
				if err == nil {
					t.Errorf("%s may do it", role)
				}
			}
			if _, err := root.Exec(t.Context(), e.sql); err == nil || !strings.Contains(err.Error(), "SQLSTATE") {
				t.Errorf("with the triggers on, even the owner gets: %v", err)
			}

			// The edit, and then everything as it was.
			save := `create table kept_picks as table picks; create table kept_announcements as table announcements`
			undo := `delete from announcements; delete from picks; insert into picks table kept_picks; insert into announcements table kept_announcements;
				drop table kept_picks, kept_announcements`
			offline(t, root, save+";"+e.sql)
			eventually(t, "the full pass", func() bool { return !s.record.State().Valid() })
			r, err := answers{s.get(t, "/api/v1/verify/picks?limit=1"), s.get(t, "/api/v1/verify/picks"), s.now}.audit(t.Context())
			if err == nil && r.Verified {
				t.Error("the audit verified it")
			}
			var body struct {
				Valid           bool
				FirstInvalidSeq *int64            `json:"first_invalid_seq"`
				Checks          map[string]string `json:"checks"`
			}
			if err := json.Unmarshal(s.get(t, "/api/v1/verify/picks"), &body); err != nil {
				t.Fatal(err)
			}
			if body.Valid || body.FirstInvalidSeq == nil || body.Checks[e.check] != "failed" {
				t.Errorf("the server says %+v, want that %s failed", body, e.check)
			}
			offline(t, root, undo)
			eventually(t, "the chain to be whole again", func() bool { st := s.record.State(); return st.Valid() && st.Length() == days-1 })
		})
	}
}

// offline runs statements as the superuser with all triggers and foreign keys switched off.
func offline(t *testing.T, root *pgx.Conn, sql string) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), root, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "set local session_replication_role = replica;"+sql)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// An attacker with the database can build another, equally consistent chain, and adapt every table that refers to it. The witnesses,
// written by the program's own jobs, still reveal it.
func TestARewrittenDatabaseIsToldByTheWitnesses(t *testing.T) {
	t.Parallel()
	s, root := start(t, 41, 20*time.Millisecond)
	s.testify(t)
	checks := func() map[string]audit.Check {
		r, err := audit.Run(t.Context(), audit.Options{URL: s.url, Now: s.now, Environ: os.Environ()})
		if err != nil {
			t.Fatal(err)
		}
		of := map[string]audit.Check{}
		for _, c := range r.Checks {
			of[c.Name] = c
		}
		return of
	}
	eventually(t, "the witnesses", func() bool { c := s.record.State().Checks(); return c.Git == "ok" && c.Attestations == "ok" })
	for name, c := range checks() {
		if c.Status != audit.OK && name != "seals" && name != "log" { // no log is kept
			t.Errorf("%s: %s: %s", name, c.Status, c.Detail)
		}
	}

	offline(t, root, `
		do $$
		declare
			r record;
			previous text := repeat('0', 64);
		begin
			update picks set price = '999.99' where seq = 25;
			for r in select * from picks order by seq loop
				update picks set previous_hash = previous, hash = pick_hash(ticker, price, date, previous) where seq = r.seq returning hash into previous;
			end loop;
			update attestations a set subject = p.hash from picks p where p.seq = a.length;
		end
		$$`)
	eventually(t, "the full pass", func() bool { return bytes.Contains(s.get(t, "/api/v1/verify/picks?from_seq=25"), []byte("999.99")) })
	if !s.record.State().Valid() {
		t.Error("a chain whose links match is called invalid")
	}
	got := checks()
	for _, name := range []string{"hashes", "links", "answer", "business_days"} {
		if got[name].Status != audit.OK {
			t.Errorf("%s: %s: %s", name, got[name].Status, got[name].Detail)
		}
	}
	for name, says := range map[string]string{"git": "pick 25 is", "attestations": "after 40 picks"} {
		if c := got[name]; c.Status != audit.Mismatch || !strings.Contains(c.Detail, says) {
			t.Errorf("%s: %s: %s", name, c.Status, c.Detail)
		}
	}
}
