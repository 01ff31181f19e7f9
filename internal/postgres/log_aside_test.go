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

	"tidemark/chain/tlog"
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

func TestAppendSkipsWhatIsThereAndRefusesAnotherLeaf(t *testing.T) {
	t.Parallel()
	db, url, s := logFixture(t)
	leaf := bodyLeaf(1)
	if _, err := tlog.ParseLeaf([]byte(leaf)); err != nil {
		t.Fatal(err)
	}
	add := func(key, leaf string) error {
		return exec(t, url, postgres.RoleWorker, fmt.Sprintf(`select log_append('sources', '%s', '%s')`, key, leaf))
	}
	for range 2 {
		if err := add("body:70", leaf); err != nil {
			t.Fatal(err)
		}
		if err := sequence(t.Context(), db, postgres.LogSources, s); err != nil {
			t.Fatal(err)
		}
	}
	if h := whole(t, db, url, postgres.LogSources); h.Size != 2 {
		t.Errorf("the log has %d leaves, want 2", h.Size)
	}
	other := leaf[:len(leaf)-len("false\n")] + "true\n"
	if err := add("body:70", other); err == nil {
		t.Error("another leaf of the same key is taken")
	}
	for _, bad := range []string{"hello", "", leaf + "x", "tidemark/later/v1\nat 2026-01-02T03:04:05.000000Z\n", "tidemark/genesis/v1\n", leaf[:40]} {
		if err := add("body:71", bad); err == nil {
			t.Errorf("%q is taken as a leaf", bad)
		}
	}
}

// bodyLeaf is the leaf of a body that no fetch has.
func bodyLeaf(n int) string {
	return fmt.Sprintf("tidemark/body/v1\nsource s\nurl %064x\nfetched_at 2026-01-02T03:04:05.000000Z\nsha256 %064x\nbytes %d\nnot_modified false\n", n, n, n)
}

// A list of leaves is added all or none, and each leaf is judged as if it came alone.
func TestAListOfLeavesIsAddedAllOrNone(t *testing.T) {
	t.Parallel()
	db, url, s := logFixture(t)
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	if _, err := c.Exec(t.Context(), "set role "+postgres.RoleWorker); err != nil {
		t.Fatal(err)
	}
	type leaf struct {
		key  any
		leaf any
	}
	add := func(list ...leaf) error {
		keys, leaves := []any{}, []any{}
		for _, l := range list {
			if l.key != "-" {
				keys = append(keys, l.key)
			}
			if l.leaf != "-" {
				leaves = append(leaves, l.leaf)
			}
		}
		_, err := c.Exec(t.Context(), `select log_append('sources', $1::text[], $2::text[])`, keys, leaves)
		return err
	}
	size := func(want int64, why string) {
		t.Helper()
		if err := sequence(t.Context(), db, postgres.LogSources, s); err != nil {
			t.Fatal(err)
		}
		if h := whole(t, db, url, postgres.LogSources); h.Size != want {
			t.Errorf("%s: the log has %d leaves, want %d", why, h.Size, want)
		}
	}
	for why, list := range map[string][]leaf{"none": {}, "two, not in the order of their keys": {{"b", bodyLeaf(2)}, {"a", bodyLeaf(1)}}} {
		if err := add(list...); err != nil {
			t.Fatalf("%s: %v", why, err)
		}
	}
	size(3, "two leaves")
	leaves, err := db.LogLeaves(t.Context(), postgres.LogSources, 1, 3)
	if err != nil || string(leaves[0]) != bodyLeaf(2) || string(leaves[1]) != bodyLeaf(1) {
		t.Errorf("the leaves are %q, %v", leaves, err)
	}
	for why, list := range map[string][]leaf{
		"another leaf of a key":              {{"c", bodyLeaf(3)}, {"a", bodyLeaf(4)}},
		"only another leaf of a key":         {{"a", bodyLeaf(4)}},
		"no known form":                      {{"c", bodyLeaf(3)}, {"d", "hello"}},
		"no known form of a key that is in":  {{"c", bodyLeaf(3)}, {"a", "hello"}},
		"a key more":                         {{"c", bodyLeaf(3)}, {"d", "-"}},
		"a key more, of a leaf that is in":   {{"c", bodyLeaf(3)}, {"a", "-"}},
		"a leaf more":                        {{"c", bodyLeaf(3)}, {"-", bodyLeaf(4)}},
		"no key":                             {{"c", bodyLeaf(3)}, {nil, bodyLeaf(4)}},
		"no leaf":                            {{"c", bodyLeaf(3)}, {"d", nil}},
		"a name that is like that of a time": {{"c", strings.Replace(bodyLeaf(3), "fetched_at", "fetched-at", 1)}},
	} {
		if err := add(list...); err == nil {
			t.Errorf("%s: the list is taken", why)
		}
	}
	size(3, "lists that are refused")
	if err := add(leaf{"a", bodyLeaf(1)}, leaf{"c", bodyLeaf(3)}, leaf{"b", bodyLeaf(2)}, leaf{"c", bodyLeaf(3)}); err != nil {
		t.Fatal(err)
	}
	size(4, "one of four is new")
	if err := add(leaf{"d", bodyLeaf(5)}, leaf{"d", bodyLeaf(6)}); err != nil {
		t.Fatal(err)
	}
	size(5, "two leaves of a key that wait at once")
	if list, err := db.LogAsides(t.Context()); err != nil || len(list) != 1 || list[0].Key != "d" {
		t.Errorf("set aside: %+v, %v", list, err)
	}
	if _, err := c.Exec(t.Context(), `select log_append('record', array['x'], array['hello'])`); err == nil {
		t.Error("a leaf of no known form is taken for a log that has not begun")
	}
	if _, err := c.Exec(t.Context(), `select log_append('record', array['x'], array[$1])`, bodyLeaf(1)); err != nil {
		t.Errorf("a log that has not begun: %v", err)
	}
}

// No key is locked before it has a number, so the order in which transactions add their leaves does not matter.
func TestTwoTransactionsAddTheSameLeavesAtOnce(t *testing.T) {
	t.Parallel()
	db, url, s := logFixture(t)
	var both [2]*pgx.Conn
	for i := range both {
		c, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
		both[i] = c
	}
	run := func(c *pgx.Conn, sql string, args ...any) {
		t.Helper()
		if _, err := c.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	const add = `select log_append('sources', $1::text[], $2::text[])`
	for _, c := range both {
		run(c, `begin; set local lock_timeout = '10s'`)
	}
	for i := range 2 {
		for j, c := range both {
			n := i ^ j
			run(c, add, []string{fmt.Sprint("k", n), fmt.Sprint("l", n)}, []string{bodyLeaf(n), bodyLeaf(10 + n)})
		}
	}
	for _, c := range both {
		run(c, `commit`)
	}
	run(both[0], `begin`)
	run(both[0], add, []string{"m"}, []string{bodyLeaf(20)})
	run(both[0], `rollback`)
	if err := sequence(t.Context(), db, postgres.LogSources, s); err != nil {
		t.Fatal(err)
	}
	if h := whole(t, db, url, postgres.LogSources); h.Size != 5 {
		t.Errorf("the log has %d leaves, want 5", h.Size)
	}
	if list, err := db.LogAsides(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("set aside: %+v, %v", list, err)
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

// The leaves of all fetches of a statement are added at once, and each is judged as if it came alone.
func TestFetchesOfOneStatementAreJudgedEachByItself(t *testing.T) {
	t.Parallel()
	db, url, s := logFixture(t)
	const insert = `insert into fetches (id, source, url, status, fetched_at, sha256, bytes, constructed) overriding system value
		select id, 's', 'https://upstream.example/' || id, status, timestamptz '2026-01-02T03:04:05Z' + id * interval '1 s', encode(sha256(id::text::bytea), 'hex'), id, constructed
		from (values %s) as t (id, status, constructed)`
	fetch := func(rows string) error { return exec(t, url, "", fmt.Sprintf(insert, rows)) }
	size := func(want int64) {
		t.Helper()
		if err := sequence(t.Context(), db, postgres.LogSources, s); err != nil {
			t.Fatal(err)
		}
		if h := whole(t, db, url, postgres.LogSources); h.Size != want {
			t.Errorf("the log has %d leaves, want %d", h.Size, want)
		}
	}
	// The log has the true leaf of a fetch to come, and another leaf for the one after it.
	err := exec(t, url, "", `
		select log_append('sources', 'body:' || t.key, body_leaf(row(f.*)::fetches)) from (values (903, 903), (904, 5)) as t (key, id), lateral (
			select (jsonb_populate_record(null::fetches, jsonb_build_object('id', t.id, 'source', 's', 'url', 'https://upstream.example/' || t.id,
				'fetched_at', timestamptz '2026-01-02T03:04:05Z' + t.id * interval '1 s', 'sha256', encode(sha256(t.id::text::bytea), 'hex'), 'bytes', t.id,
				'not_modified', false))).*) f`)
	if err != nil {
		t.Fatal(err)
	}
	size(3)
	if err := fetch(`(905, 200, false), (903, 200, false), (902, 404, false), (901, 304, false), (906, 200, true)`); err != nil {
		t.Fatal(err)
	}
	size(5) // 901 and 905; 903 is there
	leaves, err := db.LogLeaves(t.Context(), postgres.LogSources, 3, 5)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"\nbytes 901\n", "\nbytes 905\n"} {
		if !strings.Contains(string(leaves[i]), want) {
			t.Errorf("leaf %d is %q, want the one with %q", 3+i, leaves[i], want)
		}
	}
	if err := fetch(`(907, 200, false), (904, 200, false)`); err == nil {
		t.Error("a fetch is taken whose key has another leaf in the log")
	}
	if err := exec(t, url, "", strings.Replace(fmt.Sprintf(insert, `(908, 200, false), (909, 200, false)`), "'s'", `E'two\nlines'`, 1)); err == nil {
		t.Error("a fetch is taken whose leaf has no known form")
	}
	size(5)
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

func TestFetchesRecordedTogetherAreAsThoseRecordedAlone(t *testing.T) {
	t.Parallel()
	db, url, s := logFixture(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)
	list := []series.Fetch{
		{Source: "s", URL: "https://upstream.example/ü?a=\"1\"", Status: 200, Header: map[string]string{"Etag": `"x\y"`}, FetchedAt: at, SHA256: strings.Repeat("a", 64), Bytes: 1 << 40},
		{Source: "s", URL: "https://upstream.example/2", Status: 304, FetchedAt: at.Add(-time.Hour), SHA256: strings.Repeat("b", 64), NotModified: true},
		{Source: "r", URL: "https://upstream.example/3", Status: 500, FetchedAt: at.Add(time.Microsecond), SHA256: strings.Repeat("c", 64), Bytes: 3, Synthetic: true},
		{Source: "r", URL: "https://upstream.example/4", Status: 200, FetchedAt: at, SHA256: strings.Repeat("d", 64), Bytes: 4, Constructed: true},
	}
	together, err := db.RecordFetches(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	var alone []int64
	for _, f := range list {
		id, err := db.RecordFetch(t.Context(), f, 0)
		if err != nil {
			t.Fatal(err)
		}
		alone = append(alone, id)
	}
	rows := map[int64]string{}
	for f, err := range db.Fetches(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		id := f.ID
		f.ID = 0
		rows[id] = fmt.Sprintf("%+v", f)
	}
	for i := range list {
		if got, want := rows[together[i]], rows[alone[i]]; got != want || got == "" {
			t.Errorf("fetch %d was recorded as %s, alone as %s", i, got, want)
		}
	}
	if err := sequence(t.Context(), db, postgres.LogSources, s); err != nil {
		t.Fatal(err)
	}
	if h := whole(t, db, url, postgres.LogSources); h.Size != 5 {
		t.Errorf("the log has %d leaves, want 5", h.Size)
	}
	list[3].SHA256 = "none"
	if _, err := db.RecordFetches(t.Context(), list); err == nil {
		t.Error("a list with a fetch that has no hash is recorded")
	}
}
