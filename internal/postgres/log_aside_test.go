package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"tidemark/chain/tlog"
	"tidemark/internal/postgres"
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
	body := func(n int) string {
		return fmt.Sprintf("tidemark/body/v1\nsource s\nurl %064x\nfetched_at 2026-01-02T03:04:05.000000Z\nsha256 %064x\nbytes %d\nnot_modified false\n", n, n, n)
	}
	// The database's owner puts in what log_append refuses.
	for _, p := range [][2]string{{"body:1", body(7)}, {"x", "hello"}, {"y", "\xff\x00"}, {"body:900", body(8)}, {"body:900", body(8)}, {"body:900", body(9)}} {
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

func TestAppendSkipsWhatIsThereAndRefusesAnotherLeaf(t *testing.T) {
	t.Parallel()
	db, url, s := logFixture(t)
	leaf := fmt.Sprintf("tidemark/body/v1\nsource s\nurl %064x\nfetched_at 2026-01-02T03:04:05.000000Z\nsha256 %064x\nbytes 1\nnot_modified false\n", 1, 1)
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
