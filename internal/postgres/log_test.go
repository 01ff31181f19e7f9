package postgres_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/chain"
	"tidemark/chain/tlog"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
)

// testSigner signs, and keeps what survives a crash of a process.
type testSigner struct {
	*tlog.Signer

	mu   sync.Mutex
	size int64
	root tlog.Hash
	// signed are all signed roots by size.
	signed map[int64]tlog.Hash
	forked error
}

func newTestSigner(t *testing.T, origin string) *testSigner {
	t.Helper()
	keys, err := tlog.NewLogKey(rand.Reader, origin)
	if err != nil {
		t.Fatal(err)
	}
	s, err := tlog.NewSigner(keys.Private)
	if err != nil {
		t.Fatal(err)
	}
	return &testSigner{Signer: s, signed: map[int64]tlog.Hash{}}
}

func (s *testSigner) Mark() (int64, tlog.Hash, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size, s.root, nil
}

func (s *testSigner) SetMark(size int64, root tlog.Hash) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size, s.root = size, root
	return nil
}

func (s *testSigner) Sign(size int64, root tlog.Hash) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other, ok := s.signed[size]; ok && other != root {
		s.forked = fmt.Errorf("size %d was signed with two roots", size)
	}
	s.signed[size] = root
	return s.Signer.Sign(size, root)
}

func (s *testSigner) begin(t *testing.T, db *postgres.DB, log string) {
	t.Helper()
	if err := db.BeginLog(t.Context(), postgres.LogStart{Log: log, Origin: s.Origin(), VKey: s.VKey(), Environment: "demo"}); err != nil {
		t.Fatal(err)
	}
}

// sequence numbers and integrates leaves until none is left.
func sequence(ctx context.Context, db *postgres.DB, log string, s postgres.LogSigner) error {
	for {
		n, err := db.NumberLeaves(ctx, log)
		if err != nil {
			return err
		}
		_, added, err := db.IntegrateLeaves(ctx, log, s)
		if err != nil {
			return err
		}
		if n == 0 && !added {
			return nil
		}
	}
}

func fetched(t *testing.T, ctx context.Context, db *postgres.DB, n int) { //nolint:revive // a test comes first
	t.Helper()
	_, err := db.RecordFetch(ctx, series.Fetch{
		Source: "s", URL: fmt.Sprintf("https://upstream.example/%d", n), Status: 200, FetchedAt: time.Date(2026, 1, 2, 3, 4, 5, n*1000, time.UTC),
		SHA256: fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, n))), Bytes: int64(n),
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
}

// rootOf implements RFC 6962's definition of a root, independently of the package.
func rootOf(leaves [][]byte) [32]byte {
	switch len(leaves) {
	case 0:
		return sha256.Sum256(nil)
	case 1:
		return sha256.Sum256(append([]byte{0}, leaves[0]...))
	}
	k := 1
	for k*2 < len(leaves) {
		k *= 2
	}
	left, right := rootOf(leaves[:k]), rootOf(leaves[k:])
	return sha256.Sum256(slices.Concat([]byte{1}, left[:], right[:]))
}

// whole checks a log from its rows: every checkpoint has the root of the leaves below it, and all sizes are distinct.
func whole(t *testing.T, db *postgres.DB, url, log string) postgres.LogHead {
	t.Helper()
	heads, err := db.LogHeads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(heads, func(h postgres.LogHead) bool { return h.Log == log })
	if i < 0 {
		t.Fatalf("no log %s", log)
	}
	leaves, err := db.LogLeaves(t.Context(), log, 0, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(leaves)) != heads[i].Entries {
		t.Errorf("%d leaves, and the head says %d", len(leaves), heads[i].Entries)
	}
	for n, l := range leaves {
		if _, err := tlog.ParseLeaf(l); err != nil {
			t.Errorf("leaf %d: %v", n, err)
		}
	}
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	rows, err := c.Query(t.Context(), `select size, root from log_checkpoints where log = $1 order by size`, log)
	if err != nil {
		t.Fatal(err)
	}
	var size int64
	var root []byte
	_, err = pgx.ForEachRow(rows, []any{&size, &root}, func() error {
		if want := rootOf(leaves[:size]); !bytes.Equal(root, want[:]) {
			t.Errorf("the root of %d leaves is %x, want %x", size, root, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if size != heads[i].Size {
		t.Errorf("the newest checkpoint has size %d, the head %d", size, heads[i].Size)
	}
	return heads[i]
}

func TestAFactIsALeafFromItsTransactionOn(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "2026-03-02")
	s := newTestSigner(t, "test.example/log")
	s.begin(t, r.db, postgres.LogRecord)
	r.append("AAPL", "451.10", "2026-03-02")
	if err := sequence(t.Context(), r.db, postgres.LogRecord, s); err != nil {
		t.Fatal(err)
	}
	if h := whole(t, r.db, r.url, postgres.LogRecord); h.Size != 2 {
		t.Errorf("of a pick that is not announced the log has the seal alone: size %d", h.Size)
	}
	r.announce("2026-03-02")
	r.clock("2026-03-03", 18*time.Hour)
	if _, err := r.db.RecordGap(t.Context(), task.Fence{}, chain.Gap{Date: "2026-03-03", Reason: "50 % of %s are away"}); err != nil {
		t.Fatal(err)
	}
	if err := r.db.Correct(t.Context(), chain.Correction{Seq: 1, What: "the close was 451.20", Evidence: "https://example.org/1", Date: "2026-03-03"}, "me"); err != nil {
		t.Fatal(err)
	}
	if err := sequence(t.Context(), r.db, postgres.LogRecord, s); err != nil {
		t.Fatal(err)
	}
	if h := whole(t, r.db, r.url, postgres.LogRecord); h.Size != 6 {
		t.Fatalf("size %d, want 6", h.Size)
	}
	leaves, err := r.db.LogLeaves(t.Context(), postgres.LogRecord, 0, 9)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, text := range leaves {
		l, err := tlog.ParseLeaf(text)
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, l.Kind)
		if l.Kind == tlog.KindPick {
			if sum := sha256.Sum256([]byte(l.Get("preimage"))); fmt.Sprintf("%x", sum) != l.Get("hash") {
				t.Errorf("the hash of %s is not that of its preimage", text)
			}
		}
	}
	if want := []string{"genesis", "seal", "reveal", "pick", "gap", "correction"}; !slices.Equal(kinds, want) {
		t.Errorf("leaves %v, want %v", kinds, want)
	}
	logged := map[int64]int64{}
	next, err := r.db.LoggedPicks(t.Context(), 0, logged)
	if err != nil || len(logged) != 1 || logged[1] != 3 || next != 6 {
		t.Errorf("logged picks %v, next %d, %v", logged, next, err)
	}
	if again, err := r.db.LoggedPicks(t.Context(), next, logged); err != nil || again != next {
		t.Errorf("next %d after %d, %v", again, next, err)
	}
}

func TestALogThatBeginsHasWhatWasSaidBefore(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "2026-03-02")
	r.append("AAPL", "451.10", "2026-03-02")
	r.announce("2026-03-02")
	for n := range 3 {
		fetched(t, t.Context(), r.db, n)
	}
	rows := func(sql string) (n int64) {
		t.Helper()
		c, err := pgx.Connect(t.Context(), r.url)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
		if err := c.QueryRow(t.Context(), sql).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := rows(`select count(*) from log_pending`); n != 0 {
		t.Errorf("%d leaves wait for a log that does not exist", n)
	}
	// The log contains writes that began before the log was started and ended after it.
	s := newTestSigner(t, "test.example/log")
	c, err := pgx.Connect(t.Context(), r.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	tx, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const late = `insert into fetches (source, url, status, fetched_at, sha256, bytes) values ('s', 'https://late.example/', 200, now(), repeat('a', 64), 1)`
	if _, err := tx.Exec(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	begun := make(chan error, 1)
	go func() {
		begun <- r.db.BeginLog(t.Context(), postgres.LogStart{Log: postgres.LogSources, Origin: s.Origin(), VKey: s.VKey(), Environment: "demo"})
	}()
	for rows(`select count(*) from pg_locks where locktype = 'advisory' and mode = 'ExclusiveLock' and not granted`) == 0 {
		select {
		case err := <-begun:
			t.Fatalf("the log begins without the writer that found none: %v", err)
		default:
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-begun; err != nil {
		t.Fatal(err)
	}
	fetched(t, t.Context(), r.db, 4)
	if err := sequence(t.Context(), r.db, postgres.LogSources, s); err != nil {
		t.Fatal(err)
	}
	if h := whole(t, r.db, r.url, postgres.LogSources); h.Size != 6 {
		t.Errorf("the sources have %d leaves, want 6", h.Size)
	}
	record := newTestSigner(t, "record.example/log")
	for range 2 { // a second start adds nothing
		record.begin(t, r.db, postgres.LogRecord)
	}
	if err := sequence(t.Context(), r.db, postgres.LogRecord, record); err != nil {
		t.Fatal(err)
	}
	if h := whole(t, r.db, r.url, postgres.LogRecord); h.Size != 2 {
		t.Errorf("the record has %d leaves, want 2", h.Size)
	}
}

func TestTheLogRefusesToChange(t *testing.T) {
	t.Parallel()
	db, url := open(t, postgres.RoleWorker)
	if _, err := db.EnsureWorld(t.Context(), "live", nil); err != nil {
		t.Fatal(err)
	}
	s := newTestSigner(t, "test.example/log")
	s.begin(t, db, postgres.LogSources)
	for n := range 3 {
		fetched(t, t.Context(), db, n)
	}
	if err := sequence(t.Context(), db, postgres.LogSources, s); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		`update log_entries set leaf = 'x' where idx = 1`, `delete from log_entries`, `truncate log_entries cascade`,
		`update log_heads set size = size - 1`, `update log_heads set root = sha256('')`, `update log_heads set origin = 'other'`, `delete from log_heads`,
		`update log_tiles set hashes = sha256('')`, `delete from log_tiles`,
		`update log_checkpoints set root = sha256('')`, `update log_checkpoints set note = ''`, `delete from log_checkpoints`,
		`insert into log_checkpoints (log, size, root, note) select log, size, sha256('x'), note from log_checkpoints`,
	} {
		for _, role := range []string{"", postgres.RoleWorker, postgres.RoleAPI} {
			if err := exec(t, url, role, sql); err == nil {
				t.Errorf("%q as %q is taken", sql, role)
			}
		}
	}
	for _, sql := range []string{`select log_append('record', 'x', 'y')`, `select log_append('record', array['x'], array['y'])`} {
		if err := exec(t, url, postgres.RoleAPI, sql); err == nil || !strings.Contains(err.Error(), "permission denied for function") {
			t.Errorf("the API runs %s: %v", sql, err)
		}
	}
	if err := exec(t, url, postgres.RoleAPI, `select * from log_pending`); err == nil {
		t.Error("the API sees leaves before they have a number")
	}
	other := newTestSigner(t, "other.example/log")
	if err := db.BeginLog(t.Context(), postgres.LogStart{Log: postgres.LogSources, Origin: other.Origin(), VKey: other.VKey(), Environment: "live"}); err == nil {
		t.Error("the origin of a log was changed")
	}
	again := newTestSigner(t, "test.example/log")
	start := postgres.LogStart{Log: postgres.LogSources, Origin: again.Origin(), VKey: again.VKey(), Environment: "live"}
	if err := db.BeginLog(t.Context(), start); err == nil {
		t.Error("the key of a log was changed without the old one")
	}
	start.OldVKeys = []string{s.VKey()}
	if err := db.BeginLog(t.Context(), start); err != nil {
		t.Error(err)
	}
	if err := sequence(t.Context(), db, postgres.LogSources, s); err != nil {
		t.Fatal(err)
	}
	if h := whole(t, db, url, postgres.LogSources); h.Size != 5 || h.VKey != again.VKey() {
		t.Errorf("after the key changed: %+v", h)
	}
}

func TestADatabaseThatLostWhatWasSignedStopsTheLog(t *testing.T) {
	t.Parallel()
	db, url := open(t, postgres.RoleWorker)
	if _, err := db.EnsureWorld(t.Context(), "live", nil); err != nil {
		t.Fatal(err)
	}
	s := newTestSigner(t, "test.example/log")
	s.begin(t, db, postgres.LogSources)
	fetched(t, t.Context(), db, 1)
	if err := sequence(t.Context(), db, postgres.LogSources, s); err != nil {
		t.Fatal(err)
	}
	stops := func(why string) {
		t.Helper()
		fetched(t, t.Context(), db, 2)
		before := whole(t, db, url, postgres.LogSources).Size
		if err := sequence(t.Context(), db, postgres.LogSources, s); !errors.Is(err, postgres.ErrLogStopped) {
			t.Errorf("%s: %v", why, err)
		}
		if h := whole(t, db, url, postgres.LogSources); h.Stopped == "" || h.Size != before {
			t.Errorf("%s: %+v", why, h)
		}
	}
	good := s.root
	s.size = 90
	stops("a larger size was signed")
	s.size, s.root = 2, tlog.Hash{1}
	stops("another root was signed")
	s.size, s.root = 3, tlog.Hash{1}
	stops("another root of a size to come was signed")
	s.size, s.root = 0, tlog.Hash{}
	stops("the file is lost")
	s.size, s.root = 2, good
	if err := sequence(t.Context(), db, postgres.LogSources, s); err != nil {
		t.Fatal(err)
	}
	if h := whole(t, db, url, postgres.LogSources); h.Stopped != "" || h.Size != 6 {
		t.Errorf("after the repair: %+v", h)
	}
}

func TestAnOlderCosignatureDoesNotReplaceANewerOne(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	s := newTestSigner(t, "test.example/log")
	s.begin(t, db, postgres.LogRecord)
	if err := sequence(t.Context(), db, postgres.LogRecord, s); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ at, want string }{
		{"2026-03-02T00:00:01Z", "2026-03-02T00:00:01Z"},
		{"2026-03-02T00:00:00Z", "2026-03-02T00:00:01Z"},
		{"2026-03-02T00:00:02Z", "2026-03-02T00:00:02Z"},
	} {
		line := postgres.LogCosignature{Witness: "w", Line: step.at + "\n", At: instant(t, step.at)}
		if err := db.AddLogCosignatures(t.Context(), postgres.LogRecord, 1, []postgres.LogCosignature{line}, false); err != nil {
			t.Fatal(err)
		}
		c, err := db.NewestLogCheckpoint(t.Context(), postgres.LogRecord, false)
		if err != nil || !strings.HasSuffix(string(c.Note), step.want+"\n") {
			t.Errorf("after the line of %s the checkpoint is %q, %v; want the line of %s", step.at, c.Note, err, step.want)
		}
	}
}
