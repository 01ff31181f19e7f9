package workers_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/klauspost/compress/zstd"

	"tidemark/chain/gitledger"
	"tidemark/internal/calendar"
	"tidemark/internal/ops"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/redisurl"
	"tidemark/internal/task"
	"tidemark/internal/telemetry"
	"tidemark/workers"
)

// journal keeps what is logged. It is safe for concurrent use.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// secret identifies a pick: its hash anywhere, its ticker and price in the texts of a job about itself.
type secret struct {
	hash string
	told *regexp.Regexp
	// salt opens its seal; empty before it is known.
	salt string
}

// in lists the parts of the secret in a text from a job, the ledger or a page.
func (s secret) in(text string) string {
	if strings.Contains(text, s.hash) {
		return s.hash
	}
	if s.salt != "" && strings.Contains(text, s.salt) {
		return s.salt
	}
	return s.told.FindString(text)
}

// Between its recording and its announcement a pick is in no log, run or attempt, and in no task of the queue. It is in no table that is
// not for picks, in no file of the ledger, and on no page or metric for operators. The log has its sealed commitment, and not the salt.
func TestAnUnannouncedPickIsInNoLogRunLedgerOrPageOfOperators(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m := newMarket(t, "2026-03-05")
	key := newLogKey(t)
	keepLog(t, m.db, key)
	var kept journal
	log := telemetry.Logger(&kept, "json", "debug")
	m.picks.Log, m.picks.Cards.Log = log, log
	day := "2026-03-05"
	for range 10 { // a sandbox in its past writes its ledger when there is enough to write
		day = calendar.Next(on(t, day)).Format(time.DateOnly)
		m.live(day)
	}
	day = calendar.Next(on(t, day)).Format(time.DateOnly)
	m.trade(day)

	dir := filepath.Join(t.TempDir(), "ledger.git")
	ledger := workers.Ledger{DB: m.db, Branch: "main", Open: func(ctx context.Context) (*gitledger.Ledger, error) {
		return gitledger.Open(ctx, gitledger.Options{
			Dir: dir, Environment: "demo", Author: gitledger.Identity{Name: "Test", Email: "test@tidemark.invalid"}, Environ: os.Environ(), Known: workers.KnownEntries(m.db),
		})
	}}
	handlers := map[string]workers.Handler{}
	for job := range task.Policies {
		handlers[job] = func(context.Context, task.Task) error { return nil }
	}
	handlers[task.Pick], handlers[task.Announce], handlers[task.Ledger] = m.picks.Run, m.handler(task.Announce), ledger.Run
	queue := pgtest.Redis(t)
	metrics := telemetry.NewMetrics("1", "c", time.Now)
	w, err := workers.New(workers.Options{DB: m.db, RedisURL: queue, Name: "w", Log: log, Handlers: handlers})
	if err != nil {
		t.Fatal(err)
	}
	deliver := func(job, subject string, slot time.Time) {
		t.Helper()
		id, err := m.db.AddRun(ctx, job, subject, slot, "test")
		if err != nil {
			t.Fatal(err)
		}
		_ = w.Deliver(ctx, task.Task{Fence: task.Fence{RunID: id, Attempt: 1}, Job: job, Subject: subject, Slot: slot})
	}
	// An attempt fails first: the error of one is kept, too.
	m.clock(day, pickClock)
	failing := handlers[task.Pick]
	handlers[task.Pick] = func(ctx context.Context, one task.Task) error {
		if err := failing(ctx, one); err != nil {
			return err
		}
		return failing(ctx, one) // the day has its pick already
	}
	slot := calendar.At(on(t, day), pickClock)
	deliver(task.Pick, task.Daily, slot)
	deliver(task.Pick, task.Daily, slot.Add(time.Second))
	deliver(task.Announce, task.Daily, slot.Add(2*time.Second))
	deliver(task.Ledger, task.SubjectLedger, slot.Add(3*time.Second))

	keepLog(t, m.db, key)

	made, err := m.db.RecordedPicks(ctx)
	if err != nil || len(made) != 11 || made[10].AnnouncedAt != nil {
		t.Fatalf("%d picks, the last %+v: %v", len(made), made[len(made)-1], err)
	}
	pick := made[10]
	if slices.ContainsFunc(made[:10], func(p postgres.Pick) bool { return p.Price == pick.Price }) {
		t.Fatal("another pick has the price: the test would find that one")
	}
	s := secret{hash: pick.Hash, told: regexp.MustCompile(regexp.QuoteMeta(pick.Price) + `|\b` + regexp.QuoteMeta(pick.Name) + `\b|\b` + regexp.QuoteMeta(pick.Ticker) + `\b`)}
	if slices.ContainsFunc(made[:10], func(p postgres.Pick) bool { return p.Ticker == pick.Ticker }) { // then the ticker alone tells nothing
		s.told = regexp.MustCompile(regexp.QuoteMeta(pick.Price))
	}

	if found := s.in(kept.String()); found != "" {
		t.Errorf("the log has %q", found)
	}
	for _, line := range m.lines(`select 'run ' || x::text from runs x union all select 'attempt ' || x::text from run_attempts x`) {
		if found := s.in(line); found != "" {
			t.Errorf("%q stands in %s", found, line)
		}
	}
	// The hash is in the table of picks, and in no other.
	var tables []string
	for _, table := range m.lines(`select quote_ident(tablename) from pg_tables where schemaname = 'public'`) {
		if m.lines(fmt.Sprintf(`select count(*)::text from %s x where x::text like '%%%s%%'`, table, pick.Hash))[0] != "0" {
			tables = append(tables, table)
		}
	}
	if !slices.Equal(tables, []string{"picks"}) {
		t.Errorf("the hash stands in the tables %v", tables)
	}
	s.salt = m.lines(`select encode(salt, 'hex') from pick_seals order by seq desc limit 1`)[0]
	m.sealedAlone(s, pick.Date)
	if found := s.in(stored(t, queue)); found != "" {
		t.Errorf("the queue has %q", found)
	}
	text := ledgerText(t, dir)
	if found := s.in(text); found != "" || !strings.Contains(text, made[9].Hash) {
		t.Errorf("the ledger has %q of the pick, and the one before it: %t", found, strings.Contains(text, made[9].Hash))
	}
	// A data set that is made now, too.
	if err := (workers.Publications{Picks: m.picks, Log: log}).Run(ctx, m.begin(task.Publish, task.Dataset, slot.Add(4*time.Second))); err != nil {
		t.Fatal(err)
	}
	sets := m.datasetText()
	if found := s.in(sets); found != "" || !strings.Contains(sets, made[9].Hash) {
		t.Errorf("the data set has %q of the pick, and the one before it: %t", found, strings.Contains(sets, made[9].Hash))
	}
	pages := m.operators(queue, metrics, log)
	for path, body := range pages {
		if found := s.in(body); found != "" {
			t.Errorf("the operators' %s has %q", path, found)
		}
	}
	if found := s.in(kept.String()); found != "" {
		t.Errorf("the log of the operators' pages has %q", found)
	}
}

// datasetText is the newest data set as the API reads it: its description, its files, and their pages uncompressed.
func (m *picksFixture) datasetText() string {
	m.t.Helper()
	set, err := m.api.DatasetOf(m.t.Context(), "")
	if err != nil {
		m.t.Fatal(err)
	}
	all := bytes.NewBufferString(fmt.Sprintf("%+v", set))
	for _, table := range set.Tables {
		b, err := m.api.DatasetFile(m.t.Context(), table.SHA256)
		if err != nil {
			m.t.Fatal(err)
		}
		all.Write(b)
		for rest := b; ; {
			i := bytes.Index(rest, []byte{0x28, 0xb5, 0x2f, 0xfd}) // a frame of zstd
			if i < 0 {
				break
			}
			if r, err := zstd.NewReader(bytes.NewReader(rest[i:]), zstd.WithDecoderConcurrency(1)); err == nil {
				_, _ = io.Copy(all, r) // what follows the frame ends with an error
				r.Close()
			}
			rest = rest[i+4:]
		}
	}
	return all.String()
}

// sealedAlone checks that the salt of the newest pick stands in its seal alone, and that the log has the commitment and nothing more of it.
func (m *picksFixture) sealedAlone(s secret, day string) {
	m.t.Helper()
	for _, table := range m.lines(`select quote_ident(tablename) from pg_tables where schemaname = 'public' and tablename <> 'pick_seals'`) {
		if m.lines(fmt.Sprintf(`select count(*)::text from %s x where x::text like '%%%s%%'`, table, s.salt))[0] != "0" {
			m.t.Errorf("the salt stands in the table %s", table)
		}
	}
	leaves := m.lines(`select convert_from(leaf, 'UTF8') from log_entries where log = 'record' order by idx`)
	commitment := m.lines(`select commitment from pick_seals where date = '` + day + `'`)[0]
	if !slices.ContainsFunc(leaves, func(l string) bool { return strings.Contains(l, "about pick "+day) && strings.Contains(l, commitment) }) {
		m.t.Errorf("the log has no seal of %s", day)
	}
	for _, l := range leaves {
		if strings.Contains(l, s.hash) || strings.Contains(l, s.salt) || strings.Contains(l, day+"|") {
			m.t.Errorf("the log has %q", l)
		}
	}
}

// lines are the rows of a query of one column, as the owner of the database sees them.
func (m *picksFixture) lines(sql string) []string {
	m.t.Helper()
	c, err := pgx.Connect(m.t.Context(), m.url)
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = c.Close(m.t.Context()) }()
	rows, err := c.Query(m.t.Context(), sql)
	if err != nil {
		m.t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		m.t.Fatalf("%s: %v", sql, err)
	}
	return list
}

// stored is everything in a Redis.
func stored(t *testing.T, url string) string {
	t.Helper()
	at, err := redisurl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	c := at.Client(nil)
	defer func() { _ = c.Close() }()
	keys, err := c.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, k := range keys {
		dump, err := c.Dump(t.Context(), k).Result()
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(k + dump)
	}
	return all.String()
}

// ledgerText is every file of a git folder that is text, and every object in it.
func ledgerText(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "--git-dir="+dir, "cat-file", "--batch-all-objects", "--batch").Output()
	if err != nil {
		t.Fatal(err)
	}
	all := bytes.NewBuffer(out)
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "/objects/") {
			return err
		}
		body, err := os.ReadFile(path)
		all.Write(body)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// operators are the pages and metrics of the private listener, by path.
func (m *picksFixture) operators(queue string, metrics *telemetry.Metrics, log *slog.Logger) map[string]string {
	t := m.t
	t.Helper()
	at, err := redisurl.Parse(queue)
	if err != nil {
		t.Fatal(err)
	}
	waiting := ops.NewQueue(at)
	defer func() { _ = waiting.Close() }()
	server := httptest.NewServer(ops.New(ops.Options{Role: "worker", Metrics: metrics, Log: log, StatusPages: &ops.StatusPages{
		Observer: &ops.Observer{DB: m.db, Now: time.Now, PickDue: pickClock}, Next: func(task.Schedule, time.Time) time.Time { return time.Time{} }, Queue: waiting,
	}}).Handler())
	defer server.Close()
	paths := []string{"/", "/schedule", "/runs", "/runs?job=pick", "/runs?status=failed", "/quarantine", "/backfills", "/actions", "/workers", "/metrics", "/healthz", "/readyz"}
	for _, id := range m.lines(`select id::text from runs order by id desc limit 8`) {
		paths = append(paths, "/runs/"+id)
	}
	all := map[string]string{}
	for _, path := range paths {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, accept := range []string{"text/html", "application/json"} {
			r.Header.Set("Accept", accept)
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("%s: %s, %v", path, resp.Status, err)
			}
			all[path+" as "+accept] = string(body)
		}
	}
	return all
}
