package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/chain/tlog"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
)

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
