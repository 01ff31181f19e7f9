package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tidemark/chain/tlog"
	"tidemark/internal/postgres"
)

// What ten years of a log hold: on each trading day a seal, a reveal, a pick, two forecasts and two grades, and on each day so many bodies.
const (
	years, tradingDays, bodiesADay = 10, 252, 200
	yearsOfBodies                  = years * 365 * bodiesADay
	// proofsTried is how many proofs are made, and proofWitnesses how many lines their checkpoint has.
	proofsTried, proofWitnesses = 200, 3
)

// Statements that add the leaves of a range of days, in the forms of the migrations.
const (
	recordYearsSQL = `do $$ begin perform log_append('record', kind || ':' || d, leaf) from generate_series(%d, %d) d, lateral (values
		('seal:pick', E'tidemark/seal/v1\nabout pick 2026-01-02\ncommitment ' || encode(sha256(('c' || d)::bytea), 'hex') || E'\nmethod picks/83ff6dd0a1b2\nreveal_by 2026-01-02T23:10:00.000000Z\nat 2026-01-02T22:30:04.215613Z\n'),
		('reveal:pick', E'tidemark/reveal/v1\nseal ' || d || E'\nabout pick 2026-01-02\nsalt ' || encode(sha256(('s' || d)::bytea), 'hex') || E'\ncontent ' || repeat('QUFQ', 29) || E'\nat 2026-01-02T23:00:00.108824Z\n'),
		('pick', E'tidemark/pick/v1\nseq ' || d || E'\npreimage AAPL|243.85|2026-01-02|' || encode(sha256(('p' || d)::bytea), 'hex') || E'\nhash ' || encode(sha256(('h' || d)::bytea), 'hex') || E'\nat 2026-01-02T23:00:00.108824Z\n'),
		('forecast-a', %[3]s), ('forecast-b', %[3]s), ('grade-a', %[4]s), ('grade-b', %[4]s)) as l (kind, leaf); end $$`
	forecastLeafSQL = `E'tidemark/forecast/v1\nseq ' || d || E'\nid eia-weekly-petroleum:crude-stocks:2026-01-02\nrelease_at 2026-01-07T15:30:00.000000Z\nvalue 417803.25\nlo 414120.5\nhi 421477.75\nlevel 0.8\nmethod conformal/3\nhash ' || encode(sha256(('f' || d)::bytea), 'hex') || E'\nat 2026-01-03T06:00:00.000000Z\n'`
	gradeLeafSQL    = `E'tidemark/grade/v1\nseq ' || d || E'\nid eia-weekly-petroleum:crude-stocks:2026-01-02\npublished_at 2026-01-07T15:30:00.000000Z\nvalue 418904\nscore 1203.25 1877.5 1650.125\nhash ' || encode(sha256(('g' || d)::bytea), 'hex') || E'\nat 2026-01-07T16:00:00.000000Z\n'`
	bodyYearsSQL    = `do $$ begin perform log_append('sources', 'body:' || i, E'tidemark/body/v1\nsource eia-daily-spot-prices\nurl ' || encode(sha256(('u' || i)::bytea), 'hex') || E'\nfetched_at 2026-01-02T03:04:05.123456Z\nsha256 ' || encode(sha256(('b' || i)::bytea), 'hex') || E'\nbytes 48213\nnot_modified false\n') from generate_series(%d, %d) i; end $$`
	pastBodiesSQL   = `insert into fetches (source, url, status, fetched_at, sha256, bytes)
		select 'eia-daily-spot-prices', 'https://upstream.example/' || i, 200, timestamptz '2016-01-02' + i * interval '7 minutes', encode(sha256(('b' || i)::bytea), 'hex'), 48213
		from generate_series(1, %d) i`
	logSizesSQL = `\copy (select c.relname, pg_total_relation_size(c.oid) from pg_class c where c.relkind = 'r' and c.relname like 'log\_%' order by 1) to stdout`
)

// memorySigner signs, and keeps its mark in memory.
type memorySigner struct {
	*tlog.Signer

	size int64
	root tlog.Hash
}

func (s *memorySigner) Mark() (int64, tlog.Hash, error) { return s.size, s.root, nil }

func (s *memorySigner) SetMark(size int64, root tlog.Hash) error {
	s.size, s.root = size, root
	return nil
}

// logYears measures what ten years of leaves cost: disk, the first look of a new process, and proofs; and a log that begins after them.
func logYears(ctx context.Context, m *meter) error {
	err := withLogs(ctx, func(ctx context.Context, s *recordFixture) error {
		for _, l := range []struct {
			name         string
			total, batch int
			statement    func(from, to int) string
		}{
			{postgres.LogRecord, years * tradingDays, tradingDays, func(from, to int) string {
				return fmt.Sprintf(recordYearsSQL, from, to, forecastLeafSQL, gradeLeafSQL)
			}},
			{postgres.LogSources, yearsOfBodies, 50_000, func(from, to int) string { return fmt.Sprintf(bodyYearsSQL, from, to) }},
		} {
			if err := s.liveThrough(ctx, m, l.name, l.total, l.batch, l.statement); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return withLogs(ctx, func(ctx context.Context, s *recordFixture) error { return s.beginLate(ctx, m) })
}

// begin begins a log, and returns its signer.
func (s *recordFixture) begin(ctx context.Context, log string) (*memorySigner, error) {
	keys, err := tlog.NewLogKey(rand.Reader, "bench.example/"+log)
	if err != nil {
		return nil, err
	}
	signer, err := tlog.NewSigner(keys.Private)
	if err != nil {
		return nil, err
	}
	return &memorySigner{Signer: signer}, s.db.BeginLog(ctx, postgres.LogStart{Log: log, Origin: signer.Origin(), VKey: keys.Public, Environment: "live"})
}

// sequence numbers and signs all leaves of a log that wait, and returns its size.
func (s *recordFixture) sequence(ctx context.Context, log string, signer postgres.LogSigner) (int64, error) {
	for {
		n, err := s.db.NumberLeaves(ctx, log)
		if err != nil {
			return 0, err
		}
		size, added, err := s.db.IntegrateLeaves(ctx, log, signer)
		if err != nil || n == 0 && !added {
			return size, err
		}
	}
}

// beginLate begins a log after ten years of bodies. Their rows are put past the triggers, as a version without a log left them.
func (s *recordFixture) beginLate(ctx context.Context, m *meter) error {
	if err := s.psql(ctx, nil, nil, "set session_replication_role = replica", fmt.Sprintf(pastBodiesSQL, yearsOfBodies), "vacuum analyze fetches"); err != nil {
		return err
	}
	var signer *memorySigner
	begun, err := m.once(func() (err error) {
		signer, err = s.begin(ctx, postgres.LogSources)
		return err
	})
	if err != nil {
		return err
	}
	var size int64
	took, err := m.once(func() (err error) {
		size, err = s.sequence(ctx, postgres.LogSources, signer)
		return err
	})
	if err != nil {
		return err
	}
	m.say("  a log that begins after %d leaves: begun in %s, they are numbered and signed in %s more", size, begun.Round(time.Second/10), took.Round(time.Second/10))
	return nil
}

// liveThrough fills a log, and says what it costs.
func (s *recordFixture) liveThrough(ctx context.Context, m *meter, log string, total, batch int, statement func(from, to int) string) error {
	signer, err := s.begin(ctx, log)
	if err != nil {
		return err
	}
	var size int64
	took, err := m.once(func() error {
		for from := 1; from <= total; from += batch {
			if err := s.psql(ctx, nil, nil, statement(from, min(total, from+batch-1))); err != nil {
				return err
			}
			if size, err = s.sequence(ctx, log, signer); err != nil {
				return err
			}
		}
		return s.psql(ctx, nil, nil, "vacuum analyze log_entries", "vacuum analyze log_tiles", "vacuum full log_pending")
	})
	if err != nil {
		return err
	}
	m.say("  %s: %d leaves, added and signed in %s", log, size, took.Round(time.Second))
	if err := s.sayLogSizes(ctx, m); err != nil {
		return err
	}
	first, err := m.once(func() error { return s.firstLook(ctx, log, signer) })
	if err != nil {
		return err
	}
	m.say("  %s: first look of a sequencer and of an API %s", log, first.Round(time.Millisecond))
	return s.sayProofs(ctx, m, log, size)
}

// sayLogSizes prints what the tables of the logs take, with their indexes.
func (s *recordFixture) sayLogSizes(ctx context.Context, m *meter) error {
	file := filepath.Join(s.dir, "sizes")
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	if err := s.psql(ctx, nil, out, logSizesSQL); err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		var table string
		var bytes int64
		if _, err := fmt.Sscan(line, &table, &bytes); err != nil {
			return err
		}
		m.say("    %-20s %8.1f MB", table, float64(bytes)/1e6)
	}
	return nil
}

// firstLook does what a sequencer and an API do with a log when they start.
func (s *recordFixture) firstLook(ctx context.Context, log string, signer postgres.LogSigner) error {
	db, err := postgres.Open(ctx, s.dsn, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.NumberLeaves(ctx, log); err != nil {
		return err
	}
	if _, _, err := db.IntegrateLeaves(ctx, log, signer); err != nil {
		return err
	}
	if _, err := db.LogHeads(ctx); err != nil {
		return err
	}
	if log != postgres.LogRecord {
		return nil
	}
	if _, err := db.LoggedPicks(ctx, 0, map[int64]int64{}); err != nil {
		return err
	}
	var days tlog.SealedDays
	_, err = db.LoggedSeals(ctx, 0, func(index int64, text []byte) {
		if l, err := tlog.ParseLeaf(text); err == nil {
			days.Add(index, l)
		}
	})
	return err
}

// sayProofs makes proofs of leaves all over a log from its tiles in the database, with the lines of some witnesses.
func (s *recordFixture) sayProofs(ctx context.Context, m *meter, log string, size int64) error {
	c, err := s.db.NewestLogCheckpoint(ctx, log, false)
	if err != nil {
		return err
	}
	note := c.Note
	for i := range proofWitnesses {
		keys, err := tlog.NewWitnessKey(rand.Reader, fmt.Sprintf("witness%d.example/w", i))
		if err != nil {
			return err
		}
		w, err := tlog.NewCosigner(keys.Private)
		if err != nil {
			return err
		}
		line, err := w.Cosign(tlog.SignedBody(c.Note), m.now())
		if err != nil {
			return err
		}
		note = append(note, line...)
	}
	longest, hashes := 0, 0
	took, err := m.once(func() error {
		for i := range int64(proofsTried) {
			index := i * 4_999_999 % size
			leaves, err := s.db.LogLeaves(ctx, log, index, index+1)
			if err != nil {
				return err
			}
			list, err := tlog.ProveInclusion(c.Size, c.Root, s.db.LogTileStore(ctx, log), index)
			if err != nil {
				return err
			}
			longest = max(longest, len(tlog.Proof{Index: index, Extra: leaves[0], Hashes: list, Note: note}.Format()))
			hashes = max(hashes, len(list))
		}
		return nil
	})
	if err != nil {
		return err
	}
	m.say("  %s: a proof has at most %d hashes and %d bytes with %d witnesses, and takes %s", log, hashes, longest, proofWitnesses,
		(took / proofsTried).Round(10*time.Microsecond))
	return nil
}
