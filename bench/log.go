package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tidemark/chain/tlog"
	"tidemark/internal/devstack"
	"tidemark/internal/postgres"
)

const (
	// longLog is how many leaves are checked, leafBytes how long each is, and appended how many are added at once.
	longLog, leafBytes = 1_000_000, 254
	appended           = 10_000
)

// appends are the sizes of transactions that add leaves: how many leaves each has, and how many of them make a turn, and the least ratio.
var appends = []struct {
	leaves, turn int
	target       float64
}{{1, 1_000, 1 / 2.5}, {100, 100, 1 / 3.5}, {appended, 5, 1 / 2.0}}

// transparencyLog measures P13: what it costs to add leaves, to prove one, and to check all.
func transparencyLog(ctx context.Context, m *meter) error {
	if err := appendLeaves(ctx, m); err != nil {
		return err
	}
	leaves := make([][]byte, longLog)
	for i := range leaves {
		leaves[i] = bytes.Repeat([]byte{byte(i), byte(i >> 8), byte(i >> 16)}, leafBytes)[:leafBytes]
	}
	tiles, size, root, err := growLog(leaves)
	if err != nil {
		return err
	}
	if err := checkLeaves(m, leaves, root); err != nil {
		return err
	}
	return proveLeaves(m, tiles, size, root)
}

// checkLeaves compares the time to compute the root of all leaves, as a monitor does, with SHA-256 of the same bytes.
func checkLeaves(m *meter, leaves [][]byte, root tlog.Hash) error {
	var got tlog.Hash
	var last [sha256.Size]byte
	ours, theirs, err := m.turns(
		func() (time.Duration, error) {
			return m.once(func() error {
				var edge tlog.Edge
				for _, l := range leaves {
					edge.Add(tlog.LeafHash(l))
				}
				got = edge.Root()
				return nil
			})
		},
		func() (time.Duration, error) {
			return m.once(func() error {
				for _, l := range leaves {
					last = sha256.Sum256(l)
				}
				return nil
			})
		},
	)
	if err != nil {
		return err
	}
	if got != root || last == [sha256.Size]byte{} {
		return errors.New("the leaves have another root")
	}
	m.ratio("leaves checked, against SHA-256 alone", len(leaves), ours, theirs, 1/1.8)
	return nil
}

// logTiles are the tiles of a log in memory.
type logTiles map[tlog.Tile][]byte

// Tiles implements tlog.TileStore.
func (t logTiles) Tiles(tiles []tlog.Tile) ([][]byte, error) {
	out := make([][]byte, len(tiles))
	for i, at := range tiles {
		at.Width = 0
		out[i] = t[at]
	}
	return out, nil
}

// growLog makes the tiles of a log, some leaves at a time as the sequencer does.
func growLog(leaves [][]byte) (t logTiles, size int64, root tlog.Hash, err error) {
	t, root = logTiles{}, tlog.EmptyRoot()
	for part := range 1 + (len(leaves)-1)/appended {
		var hashes []tlog.Hash
		for _, l := range leaves[part*appended : min(len(leaves), (part+1)*appended)] {
			hashes = append(hashes, tlog.LeafHash(l))
		}
		g, err := tlog.Grow(size, root, t, hashes)
		if err != nil {
			return nil, 0, root, err
		}
		for _, tile := range g.Tiles {
			at := tile.Tile
			at.Width = 0
			t[at] = tile.Hashes
		}
		size, root = g.Size, g.Root
	}
	return t, size, root, nil
}

// counted remembers which tiles are read.
type counted struct {
	logTiles

	read [][]byte
}

// Tiles implements tlog.TileStore.
func (c *counted) Tiles(tiles []tlog.Tile) ([][]byte, error) {
	out, err := c.logTiles.Tiles(tiles)
	c.read = append(c.read, out...)
	return out, err
}

// proveLeaves compares making proofs from tiles in memory with computing the roots of the tiles that a proof reads. Each proof is checked
// against the signed root.
func proveLeaves(m *meter, tiles logTiles, size int64, root tlog.Hash) error {
	const proofs = 200
	index := func(i int) int64 { return int64(i) * 4_999 % size }
	var read [][]byte
	for i := range proofs {
		c := &counted{logTiles: tiles}
		if _, err := tlog.ProveInclusion(size, root, c, index(i)); err != nil {
			return err
		}
		read = append(read, c.read...)
	}
	var last tlog.Hash
	ours, theirs, err := m.turns(
		func() (time.Duration, error) {
			return m.once(func() error {
				for i := range proofs {
					if _, err := tlog.ProveInclusion(size, root, tiles, index(i)); err != nil {
						return err
					}
				}
				return nil
			})
		},
		func() (time.Duration, error) {
			return m.once(func() error {
				for _, t := range read {
					var e tlog.Edge
					for h := range slices.Chunk(t, len(last)) {
						e.Add(tlog.Hash(h))
					}
					last = e.Root()
				}
				return nil
			})
		},
	)
	if err != nil {
		return err
	}
	if (last == tlog.Hash{}) {
		return errors.New("no tile was read")
	}
	m.ratio(fmt.Sprintf("proofs, against the roots of %.1f tiles", float64(len(read))/proofs), proofs, ours, theirs, 1.0/8)
	return nil
}

// withLogs runs f on a new database of a live world.
func withLogs(ctx context.Context, f func(context.Context, *recordFixture) error) (err error) {
	s := &recordFixture{}
	if s.dir, err = os.MkdirTemp("", "tidemark-bench-log"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.dir)) }()
	if err := os.Chmod(s.dir, 0o755); err != nil { // as root, the server runs as another user
		return err
	}
	server, err := devstack.StartPostgres(ctx, devstack.PostgresOptions{Dir: filepath.Join(s.dir, "postgres"), Throwaway: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
	s.dsn = server.URL()
	if err := postgres.Migrate(ctx, s.dsn, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	if s.db, err = postgres.Open(ctx, s.dsn, postgres.RoleWorker); err != nil {
		return err
	}
	defer s.db.Close()
	if _, err := s.db.EnsureWorld(ctx, "live", nil); err != nil {
		return err
	}
	return f(ctx, s)
}

// appendLeaves compares adding leaves in one statement, with their numbers, with a plain INSERT of them into a table with the same keys.
func appendLeaves(ctx context.Context, m *meter) error {
	return withLogs(ctx, func(ctx context.Context, s *recordFixture) error { return s.appendLeaves(ctx, m) })
}

func (s *recordFixture) appendLeaves(ctx context.Context, m *meter) error {
	keys, err := tlog.NewLogKey(rand.Reader, "bench.example/log")
	if err != nil {
		return err
	}
	begin := postgres.LogStart{Log: postgres.LogSources, Origin: "bench.example/log", VKey: keys.Public, Environment: "live"}
	if err := s.db.BeginLog(ctx, begin); err != nil {
		return err
	}
	const plain = `create table plain (log text not null, idx bigint not null, key text collate "C" not null, leaf bytea not null, primary key (log, idx), unique (log, key))`
	if err := s.psql(ctx, nil, nil, plain); err != nil {
		return err
	}
	return s.appends(ctx, m)
}

func (s *recordFixture) appends(ctx context.Context, m *meter) error {
	const leaf = `E'tidemark/body/v1\nsource eia\nurl ' || repeat('a', 64) || E'\nfetched_at 2026-01-02T03:04:05.123456Z\nsha256 ' || repeat('b', 64) || E'\nbytes ' || i || E'\nnot_modified false\n'`
	short := *m
	short.rounds = 5
	var first int
	next := func(format string, leaves, turn int) (commands []string) {
		for range turn {
			commands = append(commands, fmt.Sprintf(format, first, first+leaves-1))
			first += leaves
		}
		return commands
	}
	number := func(want int) error { // which also shows that all were added
		for numbered := 0; ; {
			n, err := s.db.NumberLeaves(ctx, postgres.LogSources)
			if err != nil {
				return err
			}
			if numbered += int(n); n > 0 {
				continue
			}
			if numbered != want {
				return fmt.Errorf("%d leaves were added to the log, want %d", numbered, want)
			}
			return nil
		}
	}
	for _, a := range appends {
		add := `array_agg('k' || i), array_agg(` + leaf + `)` // the trigger of the fetches adds those of a statement so
		if a.leaves == 1 {
			add = `'k' || i, ` + leaf // and the triggers of the record one
		}
		adds := func() error {
			return s.psql(ctx, nil, nil, next(`do $$ begin perform log_append('sources', `+add+`) from generate_series(%d, %d) i; end $$`, a.leaves, a.turn)...)
		}
		inserts := func() (time.Duration, error) {
			return m.once(func() error {
				return s.psql(ctx, nil, nil, next(`insert into plain select 'sources', i, 'k' || i, convert_to(`+leaf+`, 'UTF8') from generate_series(%d, %d) i`, a.leaves, a.turn)...)
			})
		}
		ours, theirs, err := short.turns(func() (time.Duration, error) {
			took, err := m.once(adds)
			return took, errors.Join(err, number(a.turn*a.leaves))
		}, inserts)
		if err != nil {
			return err
		}
		m.ratio(fmt.Sprintf("%d leaves in a transaction, against INSERT", a.leaves), a.turn*a.leaves, ours, theirs, a.target)
		if a.leaves < appended {
			continue
		}
		ours, theirs, err = short.turns(func() (time.Duration, error) {
			return m.once(func() error { return errors.Join(adds(), number(a.turn*a.leaves)) })
		}, inserts)
		if err != nil {
			return err
		}
		m.ratio("the same, and given their numbers", a.turn*a.leaves, ours, theirs, 1.0/4)
	}
	return nil
}
