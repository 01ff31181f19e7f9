package postgres_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/chain"
	"tidemark/internal/calendar"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// record is a sandbox whose clock the test moves.
type record struct {
	t   *testing.T
	db  *postgres.DB // as the worker's role
	url string
}

// newRecord starts a sandbox at 17:30 New York of a day.
func newRecord(t *testing.T, day string) *record {
	t.Helper()
	r := &record{t: t, url: pgtest.New(t)}
	r.db = as(t, r.url, postgres.RoleWorker)
	at := calendar.At(date(t, day), 17*time.Hour+30*time.Minute)
	if _, err := r.db.EnsureWorld(t.Context(), "sandbox", &at); err != nil {
		t.Fatal(err)
	}
	return r
}

func date(t *testing.T, day string) time.Time {
	t.Helper()
	d, err := time.Parse(time.DateOnly, day)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// clock moves the world's time to a clock time in New York.
func (r *record) clock(day string, clock time.Duration) {
	r.t.Helper()
	at := calendar.At(date(r.t, day), clock)
	if err := r.db.SetClock(r.t.Context(), &at); err != nil {
		r.t.Fatal(err)
	}
}

func newPick(ticker, price, day string) postgres.NewPick {
	return postgres.NewPick{
		Ticker: ticker, Price: price, Date: day, CIK: 320193, Name: ticker + " Inc.", Exchange: "XNAS", Sector: "Information Technology",
		Region: "North America", Country: "US", Currency: "USD", Origin: "method", Reason: "the best score of the day",
	}
}

func (r *record) append(ticker, price, day string) postgres.Pick {
	r.t.Helper()
	p, added, err := r.db.AppendPick(r.t.Context(), task.Fence{}, newPick(ticker, price, day))
	if err != nil || !added {
		r.t.Fatalf("append the pick of %s: added %v, %v", day, added, err)
	}
	return p
}

// announce moves the clock to 18:00 New York of a day and announces.
func (r *record) announce(day string) []postgres.Pick {
	r.t.Helper()
	return r.announceAt(day, 18*time.Hour)
}

func (r *record) announceAt(day string, clock time.Duration) []postgres.Pick {
	r.t.Helper()
	r.clock(day, clock)
	list, err := r.db.AnnounceDue(r.t.Context(), task.Fence{}, calendar.At(date(r.t, day), clock))
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

// vectors are the published links of chain/testdata.
func vectors(t *testing.T) []chain.Link {
	t.Helper()
	b, err := os.ReadFile("../../chain/testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	var links []chain.Link
	for line := range strings.Lines(string(b)) {
		var l chain.Link
		if _, err := fmt.Sscan(line, &l.Seq, &l.Ticker, &l.Price, &l.Date, &l.PreviousHash, &l.Hash); err != nil {
			t.Fatal(err)
		}
		links = append(links, l)
	}
	return links
}

func TestTheRecordMakesThePublishedVectors(t *testing.T) {
	t.Parallel()
	want := vectors(t)
	r := newRecord(t, want[0].Date)
	for _, l := range want {
		r.clock(l.Date, 17*time.Hour+30*time.Minute)
		p := r.append(l.Ticker, l.Price, l.Date)
		if diff := cmp.Diff(l, p.Link); diff != "" {
			t.Fatalf("link %d (-want +got):\n%s", l.Seq, diff)
		}
		if list := r.announce(l.Date); len(list) != 1 || list[0].Link != l || list[0].AnnouncedAt == nil {
			t.Fatalf("announced: %+v", list)
		}
	}
	var v chain.Verifier
	if err := r.db.StreamChain(t.Context(), v.AddBytes); err != nil {
		t.Fatal(err)
	}
	if got := v.Checkpoint(); got.Length != int64(len(want)) || got.Head != want[len(want)-1].Hash {
		t.Errorf("the streamed chain ends at %+v", got)
	}
}

// The trigger's functions and package chain must agree on every value. The test changes many values at random and shows each to both.
func TestTheDatabaseJudgesFieldsAsTheChainDoes(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	random := rand.New(rand.NewPCG(8, 8))
	alphabet := []string{"A", "Z", "0", "9", "1", ".", "-", "|", " ", "a", "\n", "é", "٣", "+", ","}
	seeds := vectors(t)
	seeds = append(seeds, chain.Link{Ticker: "ABCDEFGHIJKLMNOP", Price: "0.50", Date: "2024-02-29", PreviousHash: chain.Genesis},
		chain.Link{Ticker: "A.B-C", Price: "0.0000", Date: "1900-02-29", PreviousHash: chain.Genesis},
		chain.Link{Ticker: "X", Price: "00.50", Date: "0000-01-01", PreviousHash: chain.Genesis},
		chain.Link{Ticker: "X", Price: "1000000000000.00", Date: "9999-12-31", PreviousHash: strings.Repeat("F", 64)})
	bend := func(s string) string {
		runes := []rune(s)
		i := random.IntN(len(runes) + 1)
		piece := alphabet[random.IntN(len(alphabet))]
		switch random.IntN(4) {
		case 0:
			return string(runes[:i]) + piece + string(runes[i:])
		case 1:
			return string(runes[:min(i, len(runes))]) + piece + string(runes[min(i+1, len(runes)):])
		case 2:
			return string(runes[:i]) + string(runes[min(i+1, len(runes)):])
		default:
			return s
		}
	}
	var tickers, prices, dates, previous, wantFault, wantHash []string
	for range 6000 {
		l := seeds[random.IntN(len(seeds))]
		l.Seq = 1
		l.Ticker, l.Price, l.Date = bend(l.Ticker), bend(l.Price), bend(l.Date)
		if random.IntN(4) == 0 {
			l.PreviousHash = bend(l.PreviousHash)
		}
		l.Hash = chain.Hash(l)
		fault := ""
		if err := chain.Check(l); err != nil {
			e, ok := errors.AsType[*chain.Error](err)
			if !ok {
				t.Fatal(err)
			}
			fault = e.Field
		}
		tickers, prices, dates, previous = append(tickers, l.Ticker), append(prices, l.Price), append(dates, l.Date), append(previous, l.PreviousHash)
		wantFault, wantHash = append(wantFault, fault), append(wantHash, l.Hash)
	}
	rows, err := pool.Query(t.Context(), `
		select coalesce(pick_fault(t, p, d, h), ''), pick_hash(t, p, d, h)
		from unnest($1::text[], $2::text[], $3::text[], $4::text[]) with ordinality as v (t, p, d, h, n) order by n`, tickers, prices, dates, previous)
	if err != nil {
		t.Fatal(err)
	}
	good, i := 0, 0
	var fault, hash string
	if _, err := pgx.ForEachRow(rows, []any{&fault, &hash}, func() error {
		if fault != wantFault[i] || hash != wantHash[i] {
			return fmt.Errorf("%q %q %q %q: the database says %q and %s, the chain %q and %s",
				tickers[i], prices[i], dates[i], previous[i], fault, hash, wantFault[i], wantHash[i])
		}
		if fault == "" {
			good++
		}
		i++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if good < 100 || i-good < 1000 {
		t.Errorf("of %d links %d are good: the comparison shows little", i, good)
	}
}

func TestTheDatabaseJudgesNotesAsTheChainDoes(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	for _, note := range []string{
		"", "no price by the cutoff", "é", strings.Repeat("x", 2000), strings.Repeat("x", 2001), strings.Repeat("é", 1001), "two\nlines", "tab\t",
		"\x01", "\x1f", "\x7f", "\u0085", "\u009f", "\u00a0", "\u2028", "\u2029", "\u2027",
	} {
		var bad bool
		if err := pool.QueryRow(t.Context(), `select note_fault($1)`, note).Scan(&bad); err != nil {
			t.Fatal(err)
		}
		if want := (chain.Gap{Date: "2026-03-05", Reason: note}).Check() != nil; bad != want {
			t.Errorf("%.20q: refused %v, want %v", note, bad, want)
		}
	}
}

func TestTheRecordIsNeverEdited(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "2026-03-02")
	r.append("AAPL", "243.85", "2026-03-02")
	r.announce("2026-03-02")
	if err := r.db.Correct(t.Context(), chain.Correction{Seq: 1, What: "w", Evidence: "e", Date: "2026-03-02"}, "me"); err != nil {
		t.Fatal(err)
	}
	r.clock("2026-03-03", 17*time.Hour)
	if _, err := r.db.RecordGap(t.Context(), task.Fence{}, chain.Gap{Date: "2026-03-03", Reason: "no price"}); err != nil {
		t.Fatal(err)
	}
	r.clock("2026-03-04", 17*time.Hour)
	r.append("MSFT", "423.35", "2026-03-04")

	for _, role := range []string{"", postgres.RoleWorker, postgres.RoleAPI} {
		for table, column := range map[string]string{"picks": "price", "announcements": "seq", "gaps": "reason", "corrections": "what"} {
			for _, sql := range []string{
				fmt.Sprintf("update %s set %s = %s", table, column, column), "delete from " + table, "truncate " + table + " cascade",
			} {
				if err := exec(t, r.url, role, sql); err == nil {
					t.Errorf("%q was done by the role %q", sql, role)
				}
			}
		}
	}
	head := chain.Checkpoint{Length: 2, Head: r.picks()[1].Hash, Date: "2026-03-04"}
	good, err := chain.Next(head, "NVDA", "140.115", "2026-03-05")
	if err != nil {
		t.Fatal(err)
	}
	r.clock("2026-03-05", 17*time.Hour)
	bend := func(f func(*chain.Link)) chain.Link {
		l := good
		f(&l)
		if l.Hash == good.Hash {
			l.Hash = chain.Hash(l)
		}
		return l
	}
	for name, l := range map[string]chain.Link{
		"a number left out":                bend(func(l *chain.Link) { l.Seq = 4 }),
		"a number again":                   bend(func(l *chain.Link) { l.Seq = 2 }),
		"a link to an earlier pick":        bend(func(l *chain.Link) { l.PreviousHash = r.picks()[0].Hash }),
		"a link to nothing":                bend(func(l *chain.Link) { l.PreviousHash = chain.Genesis }),
		"yesterday":                        bend(func(l *chain.Link) { l.Date = "2026-03-04" }),
		"tomorrow":                         bend(func(l *chain.Link) { l.Date = "2026-03-06" }),
		"a price as a number would be":     bend(func(l *chain.Link) { l.Price = "140.1" }),
		"a ticker in lower case":           bend(func(l *chain.Link) { l.Ticker = "nvda" }),
		"a hash of other values":           bend(func(l *chain.Link) { l.Hash = strings.Repeat("0", 64) }),
		"a separator in the ticker":        bend(func(l *chain.Link) { l.Ticker = "NVDA|140" }),
		"a hash in upper case":             bend(func(l *chain.Link) { l.Hash = strings.ToUpper(chain.Hash(*l)) }),
		"a previous hash that is too long": bend(func(l *chain.Link) { l.PreviousHash += "0" }),
	} {
		if err := r.insert("", l); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if err := r.insert(postgres.RoleWorker, good); err == nil {
		t.Error("the worker inserted a link past append_pick")
	}
	if err := r.insert("", good); err != nil {
		t.Errorf("a good link: %v", err)
	}
}

func (r *record) picks() []postgres.Pick {
	r.t.Helper()
	list, err := r.db.RecordedPicks(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

// insert adds a link to the table without append_pick.
func (r *record) insert(role string, l chain.Link) error {
	return exec(r.t, r.url, role, fmt.Sprintf(`
		insert into picks (seq, ticker, price, date, previous_hash, hash, cik, name, exchange, sector, region, country, currency, origin, reason,
			announce_at, appended_at)
		values (%d, '%s', '%s', '%s', '%s', '%s', 1, '', '', '', '', '', '', 'method', '', world_now() + interval '1 hour', world_now())`,
		l.Seq, l.Ticker, l.Price, l.Date, l.PreviousHash, l.Hash))
}

func TestADayHasOnePickOrAGapAndKeepsIt(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "2026-03-02")
	first := r.append("AAPL", "243.85", "2026-03-02")
	again, added, err := r.db.AppendPick(t.Context(), task.Fence{}, newPick("MSFT", "1.00", "2026-03-02"))
	if err != nil || added || again.Link != first.Link {
		t.Errorf("a second pick of the day: %+v, added %v, %v", again, added, err)
	}
	gap := func(day, reason string) (bool, error) {
		return r.db.RecordGap(t.Context(), task.Fence{}, chain.Gap{Date: day, Reason: reason})
	}
	if _, err := gap("2026-03-02", "no price"); !errors.Is(err, postgres.ErrRefused) {
		t.Errorf("a gap on a day with a pick: %v", err)
	}
	if _, err := gap("2026-03-03", "no price"); !errors.Is(err, postgres.ErrRefused) {
		t.Errorf("a gap on a day to come: %v", err)
	}
	if _, err := gap("2026-03-01", "no price"); !errors.Is(err, postgres.ErrRefused) {
		t.Errorf("a gap on a Sunday: %v", err)
	}
	r.clock("2026-03-04", 17*time.Hour+30*time.Minute)
	for i, want := range []bool{true, false} {
		if added, err := gap("2026-03-03", fmt.Sprint("reason ", i)); err != nil || added != want {
			t.Errorf("gap of yesterday: added %v, %v", added, err)
		}
	}
	if _, err := gap("2026-03-04", "no price"); err != nil {
		t.Errorf("gap of today: %v", err)
	}
	if _, _, err := r.db.AppendPick(t.Context(), task.Fence{}, newPick("MSFT", "1.00", "2026-03-04")); !errors.Is(err, postgres.ErrRefused) {
		t.Errorf("a pick on a gap: %v", err)
	}
	if _, _, err := r.db.AppendPick(t.Context(), task.Fence{}, newPick("MSFT", "1.00", "2026-03-03")); !errors.Is(err, postgres.ErrRefused) {
		t.Errorf("a pick of yesterday: %v", err)
	}
	gaps, err := r.db.Gaps(t.Context())
	if diff := cmp.Diff([]chain.Gap{{Date: "2026-03-03", Reason: "reason 0"}, {Date: "2026-03-04", Reason: "no price"}}, gaps); err != nil || diff != "" {
		t.Errorf("gaps: %v (-want +got):\n%s", err, diff)
	}
}

func TestAnAttemptThatWasGivenUpRecordsNothing(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "2026-03-02")
	gone := task.Fence{RunID: 1, Attempt: 1}
	if _, _, err := r.db.AppendPick(t.Context(), gone, newPick("AAPL", "243.85", "2026-03-02")); !errors.Is(err, postgres.ErrFenced) {
		t.Errorf("append: %v", err)
	}
	if _, err := r.db.RecordGap(t.Context(), gone, chain.Gap{Date: "2026-03-02", Reason: "r"}); !errors.Is(err, postgres.ErrFenced) {
		t.Errorf("gap: %v", err)
	}
	r.append("AAPL", "243.85", "2026-03-02")
	r.clock("2026-03-02", 18*time.Hour)
	if _, err := r.db.AnnounceDue(t.Context(), gone, calendar.At(date(t, "2026-03-02"), 18*time.Hour)); !errors.Is(err, postgres.ErrFenced) {
		t.Errorf("announce: %v", err)
	}
	if list, err := r.db.AnnouncedPicks(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("announced: %v, %v", list, err)
	}
}

func TestCorrectionsStandBesideAnnouncedPicksOnly(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "2026-03-02")
	before := r.append("AAPL", "243.85", "2026-03-02")
	c := chain.Correction{Seq: 1, What: "the price was 243.58", Evidence: strings.Repeat("https://example.com/", 90), Date: "2026-03-02"}
	if err := r.db.Correct(t.Context(), c, "me"); !errors.Is(err, postgres.ErrNotFound) {
		t.Errorf("a correction before the announcement: %v", err)
	}
	r.announce("2026-03-02")
	for range 2 {
		if err := r.db.Correct(t.Context(), c, "me"); err != nil {
			t.Fatal(err)
		}
	}
	backdated := c
	backdated.Date = "2026-03-01"
	if err := r.db.Correct(t.Context(), backdated, "me"); !errors.Is(err, postgres.ErrRefused) {
		t.Errorf("a backdated correction: %v", err)
	}
	list, err := as(t, r.url, postgres.RoleAPI).Corrections(t.Context())
	if diff := cmp.Diff([]chain.Correction{c}, list); err != nil || diff != "" {
		t.Errorf("corrections: %v (-want +got):\n%s", err, diff)
	}
	if after := r.picks()[0]; after.Link != before.Link {
		t.Errorf("the link has changed: %+v", after)
	}
}
