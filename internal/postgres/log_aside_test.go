package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/postgres"
	"tidemark/internal/series"
)

// logFixture is a log of sources in a database of its own.
func logFixture(t *testing.T) (db *postgres.DB, url string, s *testSigner) {
	t.Helper()
	db, url = open(t, postgres.RoleWorker)
	if _, err := db.EnsureWorld(t.Context(), "live", nil); err != nil {
		t.Fatal(err)
	}
	s = newTestSigner(t, "test.example/log")
	s.begin(t, db, postgres.LogSources)
	return db, url, s
}

func TestAKeyThatComesBackIsALeafOfItsOwn(t *testing.T) {
	t.Parallel()
	db, url, a := logFixture(t)
	b := newTestSigner(t, "test.example/log")
	for i, now := range []*testSigner{b, a, b, a} {
		old := []string{a.VKey()}
		if now == a {
			old[0] = b.VKey()
		}
		start := postgres.LogStart{Log: postgres.LogSources, Origin: a.Origin(), VKey: now.VKey(), OldVKeys: old, Environment: "live"}
		if err := db.BeginLog(t.Context(), start); err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			continue // two changes may wait at once
		}
		if err := sequence(t.Context(), db, postgres.LogSources, a); err != nil {
			t.Fatalf("change %d: %v", i+1, err)
		}
	}
	if h := whole(t, db, url, postgres.LogSources); h.Size != 5 || h.VKey != a.VKey() {
		t.Errorf("after four changes of the key: %+v", h)
	}
	if list, err := db.LogAsides(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("leaves were set aside: %v, %v", list, err)
	}
}

func TestALeafThatCannotBeNumberedStopsNoOther(t *testing.T) {
	t.Parallel()
	db, url, s := logFixture(t)
	fetched(t, t.Context(), db, 1)
	if err := sequence(t.Context(), db, postgres.LogSources, s); err != nil {
		t.Fatal(err)
	}
	// The database's owner puts in what log_append refuses.
	for _, p := range [][2]string{{"body:1", bodyLeaf(7)}, {"x", "hello"}, {"y", "\xff\x00"}, {"body:900", bodyLeaf(8)}, {"body:900", bodyLeaf(8)}, {"body:900", bodyLeaf(9)}} {
		c, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Exec(t.Context(), `insert into log_pending (log, key, leaf) values ('sources', $1, $2)`, p[0], []byte(p[1]))
		if closed := c.Close(context.WithoutCancel(t.Context())); err != nil || closed != nil {
			t.Fatal(err, closed)
		}
	}
	fetched(t, t.Context(), db, 2)
	if err := sequence(t.Context(), db, postgres.LogSources, s); err != nil {
		t.Fatal(err)
	}
	if h := whole(t, db, url, postgres.LogSources); h.Size != 4 { // genesis, two bodies, and the first leaf of body:900
		t.Errorf("the log has %d leaves", h.Size)
	}
	list, err := db.LogAsides(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, a := range list {
		keys = append(keys, a.Key)
	}
	slices.Sort(keys)
	if want := []string{"body:1", "body:900", "x", "y"}; !slices.Equal(keys, want) {
		t.Errorf("set aside: %q, want %q", keys, want)
	}
	healths, err := db.LogHealths(t.Context())
	if err != nil || len(healths) != 1 || healths[0].Aside != 4 || healths[0].Pending != 0 {
		t.Errorf("the operator hears %+v, %v", healths, err)
	}
	for _, a := range list {
		if err := db.SettleLogAside(t.Context(), a.ID); err != nil {
			t.Error(err)
		}
	}
	if list, err = db.LogAsides(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("after they were settled: %+v, %v", list, err)
	}
}

// What log_append compared with its form is not compared again, so nothing else may say that it was.
func TestTheDatabaseHoldsWhatTheLogReliesOn(t *testing.T) {
	t.Parallel()
	db, url, s := logFixture(t)
	fetched(t, t.Context(), db, 1)
	if err := sequence(t.Context(), db, postgres.LogSources, s); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		`insert into log_pending (log, key, leaf, formed) values ('sources', 'x', 'hello', true)`,
		`insert into log_entries (log, idx, key, leaf) values ('sources', 3, 'x', 'x')`,
		`insert into log_entries (log, idx, key, leaf) values ('sources', 2, 'x', 'x'), ('sources', 4, 'y', 'y')`,
		`insert into log_entries (log, idx, key, leaf) values ('record', 0, 'genesis', 'x')`,
		`insert into log_entries (log, idx, key, leaf) values ('other', 0, 'genesis', 'x')`,
	} {
		for _, role := range []string{"", postgres.RoleWorker} {
			if err := exec(t, url, role, sql); err == nil {
				t.Errorf("%q as %q is taken", sql, role)
			}
		}
	}
	if h := whole(t, db, url, postgres.LogSources); h.Size != 2 {
		t.Errorf("the log has %d leaves, want 2", h.Size)
	}
}

// In the live world a fetch has the time of the wall clock. Elsewhere only the record of the fetch has.
func TestTheOperatorHearsHowLongABodyWaitedForTheLog(t *testing.T) {
	t.Parallel()
	for world, fetched := range map[string]time.Time{"live": time.Now().Add(-90 * time.Second), "sandbox": time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} {
		t.Run(world, func(t *testing.T) {
			t.Parallel()
			db, _ := open(t, postgres.RoleWorker)
			record := func(n int, at time.Time) {
				t.Helper()
				_, err := db.RecordFetch(t.Context(), series.Fetch{
					Source: "s", URL: fmt.Sprintf("https://upstream.example/%d", n), Status: 200, FetchedAt: at,
					SHA256: fmt.Sprintf("%064x", n), Bytes: int64(n),
				}, 0)
				if err != nil {
					t.Fatal(err)
				}
			}
			var clock *time.Time
			if world != "live" {
				clock = new(fetched.Add(-time.Hour))
			}
			if _, err := db.EnsureWorld(t.Context(), world, clock); err != nil {
				t.Fatal(err)
			}
			if world == "live" {
				record(1, fetched.AddDate(0, 0, -3)) // before the log
			}
			s := newTestSigner(t, "test.example/log")
			start := postgres.LogStart{
				Log: postgres.LogSources, Origin: s.Origin(), VKey: s.VKey(), Environment: "live", Witnesses: []postgres.LogWitness{{Name: "anna", VKey: "anna+1+x"}},
			}
			if err := db.BeginLog(t.Context(), start); err != nil {
				t.Fatal(err)
			}
			if err := sequence(t.Context(), db, postgres.LogSources, s); err != nil {
				t.Fatal(err)
			}
			health := func() postgres.LogHealth {
				t.Helper()
				list, err := db.LogHealths(t.Context())
				if err != nil || len(list) != 1 {
					t.Fatalf("%+v, %v", list, err)
				}
				return list[0]
			}
			if h := health(); h.BodySigned != nil || h.BodyWitnessed != nil {
				t.Errorf("a log without a body of its time: %+v", h)
			}
			record(2, fetched)
			if err := sequence(t.Context(), db, postgres.LogSources, s); err != nil {
				t.Fatal(err)
			}
			h := health()
			if h.BodySigned == nil || h.BodyWitnessed == nil || *h.BodyWitnessed < *h.BodySigned || *h.BodySigned > 12*time.Hour || world == "live" && *h.BodySigned < 90*time.Second {
				t.Errorf("a body that no witness has seen: %v, %v", h.BodySigned, h.BodyWitnessed)
			}
			c, err := db.NewestLogCheckpoint(t.Context(), postgres.LogSources, false)
			if err != nil {
				t.Fatal(err)
			}
			if err := db.AddLogCosignatures(t.Context(), postgres.LogSources, c.Size, nil, true); err != nil {
				t.Fatal(err)
			}
			before := *health().BodyWitnessed
			if h := health(); *h.BodyWitnessed != before || before < *h.BodySigned {
				t.Errorf("a body that the quorum holds: %v, %v and then %v", h.BodySigned, before, h.BodyWitnessed)
			}
		})
	}
}

// A statement that numbers leaves looks for the leaf before them. It must not read the log for that.
func TestNumberingDoesNotReadTheLog(t *testing.T) {
	t.Parallel()
	_, url, _ := logFixture(t)
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	for _, span := range [][2]int{{1, 2000}, {2001, 2001}} {
		tx, err := c.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = tx.Exec(t.Context(), fmt.Sprintf(`
			insert into log_entries (log, idx, key, leaf)
			select 'sources', i, 'k' || i, 'x' from generate_series(%d, %d) i`, span[0], span[1]))
		if err != nil {
			t.Fatal(err)
		}
		var read int
		err = tx.QueryRow(t.Context(), `select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables where relname = 'log_entries'`).Scan(&read)
		if err != nil {
			t.Fatal(err)
		}
		if read > 10 {
			t.Errorf("%d rows of the log were read to number the leaves %v", read, span)
		}
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// The form of a body's leaf is compared as bytes, which is faster than the expression that says what the form is. They must agree on
// whatever stands in a leaf: a hundred edits of a true one at each of some places, and leaves of other kinds.
func TestTheFormOfABodysLeafIsThatOfItsExpression(t *testing.T) {
	t.Parallel()
	_, url := open(t, postgres.RoleWorker)
	hash := strings.Repeat("0123456789abcdef", 4)
	leaf := "tidemark/body/v1\nsource a-b\nurl " + hash + "\nfetched_at 2026-09-24T01:05:00.000000Z\nsha256 " + hash + "\nbytes 446\nnot_modified false\n"
	leaves := [][]byte{
		[]byte(leaf),
		{},
		[]byte("tidemark/body/v1\n"), []byte(strings.Replace(leaf, "false", "true", 1)), []byte(strings.Replace(leaf, "a-b", "", 1)),
		[]byte(strings.Replace(leaf, "a-b", "Bücher \\ x", 1)), []byte(strings.Replace(leaf, "a-b", strings.Repeat("a", 8000), 1)), []byte(leaf + "\n"),
		[]byte(strings.Replace(leaf, "446", "", 1)), []byte("tidemark/gap/v1\ndate 2026-09-24\nreason none\nat 2026-09-24T01:05:00.000000Z\n"),
	}
	r := rand.New(rand.NewPCG(1, 15)) //nolint:gosec // a test
	const pieces = "\n\n\x00\xff 09afgAF-:.TZ\\u"
	for range 4000 {
		at, n := r.IntN(len(leaf)), r.IntN(2)
		put := ""
		if r.IntN(3) > 0 {
			i := r.IntN(len(pieces))
			put = pieces[i : i+1]
		}
		leaves = append(leaves, []byte(leaf[:at]+put+leaf[at+n:]))
	}
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	var known, unlike int
	var one []byte
	err = c.QueryRow(t.Context(), `
		select count(*) filter (where known), count(*) filter (where known is distinct from formed), min(leaf) filter (where known is distinct from formed)
		from (select encode(leaf, 'escape') as leaf, log_leaf_known(leaf) as known, log_leaf_formed(leaf) as formed from unnest($1::bytea[]) as t (leaf)) t`,
		leaves).Scan(&known, &unlike, &one)
	if err != nil {
		t.Fatal(err)
	}
	if unlike > 0 {
		t.Errorf("%d of %d leaves are judged otherwise, such as %q", unlike, len(leaves), one)
	}
	if known < 100 || known > len(leaves)/2 {
		t.Errorf("%d of %d leaves are known, so that there is little to compare", known, len(leaves))
	}
}
