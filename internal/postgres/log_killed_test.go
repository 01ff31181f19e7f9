package postgres_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
)

// killer ends every connection at the nth write to the server: before the write, or after it and before the response.
type killer struct {
	at    int64
	after bool
	n     atomic.Int64
	dead  atomic.Bool
	// died is called at the death; it may be nil.
	died func()
}

type killed struct {
	net.Conn

	k *killer
}

var errKilled = errors.New("the process is dead")

func (c killed) Write(p []byte) (int, error) {
	if c.k.dead.Load() {
		return 0, errKilled
	}
	if c.k.n.Add(1) < c.k.at {
		return c.Conn.Write(p)
	}
	c.k.dead.Store(true)
	if c.k.after {
		_, _ = c.Conn.Write(p)
	}
	_ = c.Close()
	if c.k.died != nil {
		c.k.died()
	}
	return 0, errKilled
}

func (c killed) Read(p []byte) (int, error) {
	if c.k.dead.Load() {
		return 0, errKilled
	}
	return c.Conn.Read(p)
}

func (k *killer) config(c *pgxpool.Config) {
	dial := c.ConnConfig.DialFunc
	c.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if k.dead.Load() {
			return nil, errKilled
		}
		conn, err := dial(ctx, network, addr)
		return killed{conn, k}, err
	}
}

func TestAProcessKilledAtAnyStatementLeavesOneLog(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db := as(t, url, postgres.RoleWorker)
	if _, err := db.EnsureWorld(t.Context(), "live", nil); err != nil {
		t.Fatal(err)
	}
	s := newTestSigner(t, "test.example/log")
	s.begin(t, db, postgres.LogSources)
	n, died := 0, 0
	for _, after := range []bool{false, true} {
		for at := int64(1); ; at++ {
			for range 3 {
				n++
				fetched(t, t.Context(), db, n)
			}
			k := &killer{at: at, after: after}
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond) // limits the connection attempts to a server that was stopped
			victim, err := postgres.Open(ctx, url, postgres.RoleWorker, postgres.WithConfig(k.config))
			if err == nil {
				err = sequence(ctx, victim, postgres.LogSources, s)
				victim.Close()
			}
			cancel()
			if !k.dead.Load() && err == nil {
				break
			}
			died++
			n++
			fetched(t, t.Context(), db, n) // new leaves come after the numbered ones
			if at%4 == 0 {
				if err := sequence(t.Context(), db, postgres.LogSources, s); err != nil {
					t.Fatalf("after a death at write %d: %v", at, err)
				}
			}
		}
	}
	// The server may hold the locks of a dead process for a while, and other processes then do nothing.
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if err := sequence(t.Context(), db, postgres.LogSources, s); err != nil {
			t.Fatal(err)
		}
		if heads, err := db.LogHeads(t.Context()); err != nil || heads[0].Size == int64(n)+1 {
			break
		}
	}
	h := whole(t, db, url, postgres.LogSources)
	if s.forked != nil {
		t.Error(s.forked)
	}
	if h.Size != int64(n)+1 || died < 20 {
		t.Errorf("%d deaths, %d leaves, size %d", died, n, h.Size)
	}
	t.Logf("%d deaths, %d leaves", died, n)
}

func TestManySequencersAndWritersMakeOneLog(t *testing.T) {
	t.Parallel()
	db, url := open(t, postgres.RoleWorker)
	if _, err := db.EnsureWorld(t.Context(), "live", nil); err != nil {
		t.Fatal(err)
	}
	s := newTestSigner(t, "test.example/log")
	s.begin(t, db, postgres.LogSources)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 40 {
				fetched(t, t.Context(), db, w*40+i)
			}
		})
		wg.Go(func() {
			for range 10 {
				if err := sequence(t.Context(), db, postgres.LogSources, s); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := sequence(t.Context(), db, postgres.LogSources, s); err != nil {
		t.Fatal(err)
	}
	if h := whole(t, db, url, postgres.LogSources); h.Size != 161 || s.forked != nil {
		t.Errorf("size %d, %v", h.Size, s.forked)
	}
}
