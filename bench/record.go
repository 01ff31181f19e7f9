package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/api"
	"tidemark/api/view"
	"tidemark/chain"
	"tidemark/ingest/world"
	"tidemark/internal/devstack"
	"tidemark/internal/postgres"
)

// longChain is the length of the chain that is measured: one pick on each day of 27 centuries.
const longChain = 1_000_000

// linksOf makes a chain.
func linksOf(n int) ([]chain.Link, error) {
	tickers := []string{"AAPL", "MSFT", "BRK.B", "F", "NVDA", "GOOG", "XOM"}
	day := time.Date(1, time.January, 2, 0, 0, 0, 0, time.UTC)
	var at chain.Checkpoint
	links := make([]chain.Link, n)
	for i := range links {
		price := strconv.FormatFloat(1+float64(i%90_000)/100, 'f', 2, 64)
		l, err := chain.Next(at, tickers[i%len(tickers)], price, day.Format(time.DateOnly))
		if err != nil {
			return nil, err
		}
		links[i] = l
		at, day = chain.Checkpoint{Length: l.Seq, Head: l.Hash, Date: l.Date}, day.AddDate(0, 0, 1)
	}
	return links, nil
}

// recordFixture is a database with a long announced chain.
type recordFixture struct {
	dir, dsn string
	links    []chain.Link
	db       *postgres.DB
}

// withRecord runs f on a database whose chain has so many links. The rows are copied in past the triggers, which would take hours.
func withRecord(ctx context.Context, n int, f func(context.Context, *recordFixture) error) (err error) {
	s := &recordFixture{}
	if s.links, err = linksOf(n); err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "tidemark-bench-record"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.dir)) }()
	if err := os.Chmod(s.dir, 0o755); err != nil { // as root, servers run as other users
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
	var rows bytes.Buffer
	for _, l := range s.links {
		fmt.Fprintf(&rows, "%d\t%s\t%s\t%s\t%s\t%s\t1\tA\tXNAS\tEnergy\tEurope\tUS\tUSD\tmethod\tr\t2026-01-02\t2026-01-02\n",
			l.Seq, l.Ticker, l.Price, l.Date, l.PreviousHash, l.Hash)
	}
	for _, commands := range [][]string{
		{"set session_replication_role = replica", `\copy picks from pstdin`},
		{"set session_replication_role = replica", "insert into announcements select seq, announce_at from picks"},
		{"vacuum analyze"},
	} {
		if err := s.psql(ctx, &rows, nil, commands...); err != nil {
			return err
		}
	}
	if s.db, err = postgres.Open(ctx, s.dsn, postgres.RoleAPI); err != nil {
		return err
	}
	defer s.db.Close()
	return f(ctx, s)
}

// psql runs commands in one session.
func (s *recordFixture) psql(ctx context.Context, in io.Reader, out *os.File, commands ...string) error {
	args := []string{"-X", "-q", "-v", "ON_ERROR_STOP=1"}
	for _, c := range commands {
		args = append(args, "-c", c)
	}
	cmd := exec.CommandContext(ctx, "psql", append(args, s.dsn)...) //nolint:gosec // our own
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = in, &said
	if out != nil {
		cmd.Stdout = out
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("psql: %w: %s", err, said.Bytes())
	}
	return nil
}

// verifyChain measures P8.
func verifyChain(ctx context.Context, m *meter) error {
	err := withRecord(ctx, longChain, func(ctx context.Context, s *recordFixture) (err error) {
		if err := s.inMemory(m); err != nil {
			return err
		}
		if err := s.refusesStored(ctx); err != nil {
			return err
		}
		c, err := startCopier(ctx, s.dsn)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.close()) }()
		ours, theirs, err := m.turns(
			func() (time.Duration, error) { return m.once(func() error { return s.verify(ctx, nil) }) },
			func() (time.Duration, error) {
				return m.once(func() error {
					return c.copy("select seq, ticker, price, date, previous_hash, hash from announced_picks order by seq")
				})
			},
		)
		if err != nil {
			return err
		}
		m.ratio("streamed from Postgres and verified", longChain, ours, theirs, 0.75)
		return s.memory(ctx, m)
	})
	if err != nil {
		return err
	}
	return withRecord(ctx, longChain/10, func(ctx context.Context, s *recordFixture) error { return s.memory(ctx, m) })
}

// verify recomputes the stored chain. look, if any, is called every 10,000 links.
func (s *recordFixture) verify(ctx context.Context, look func()) error {
	var v chain.Verifier
	err := s.db.StreamChain(ctx, func(seq int64, ticker, price, date, previous, hash []byte) error {
		if look != nil && seq%10_000 == 0 {
			look()
		}
		return v.AddBytes(seq, ticker, price, date, previous, hash)
	})
	if err == nil && v.Checkpoint().Head != s.links[len(s.links)-1].Hash {
		err = errors.New("the chain in the database is another one")
	}
	return err
}

// refusesStored reads the stored chain with the price of one link changed on its way to the verifier.
func (s *recordFixture) refusesStored(ctx context.Context) error {
	var v chain.Verifier
	err := s.db.StreamChain(ctx, func(seq int64, ticker, price, date, previous, hash []byte) error {
		if seq == longChain/2 {
			price = append(slices.Clone(price), '1')
		}
		return v.AddBytes(seq, ticker, price, date, previous, hash)
	})
	if err == nil {
		return errors.New("the verifier accepts another price in a link of the stored chain")
	}
	return nil
}

// inMemory compares the verifier with SHA-256 of the same bytes, by processor time. Ten years of picks fit into the processor's caches; a longer
// chain would measure how long its links take to come from memory. The turns are many and short, so that other work of the machine affects few of
// them.
func (s *recordFixture) inMemory(m *meter) error {
	const part, times = 2_500, 4
	short := *m
	short.rounds = 500
	if err := refuses(s.links[:part]); err != nil {
		return err
	}
	links, preimages := s.links[:part], make([][]byte, part)
	for i, l := range links {
		preimages[i] = chain.AppendPreimage(nil, l)
	}
	var last [sha256.Size]byte
	ours, theirs, err := short.turns(
		func() (time.Duration, error) {
			return m.processor(func() error {
				for range times {
					var v chain.Verifier
					for _, l := range links {
						if err := v.Add(l); err != nil {
							return err
						}
					}
				}
				return nil
			})
		},
		func() (time.Duration, error) {
			return m.processor(func() error {
				for range times {
					for _, p := range preimages {
						last = sha256.Sum256(p)
					}
				}
				return nil
			})
		},
	)
	if err != nil {
		return err
	}
	if hex.EncodeToString(last[:]) != links[part-1].Hash {
		return errors.New("the hashes are others")
	}
	m.ratio("in memory, against SHA-256 alone", part*times, ours, theirs, 0.75)
	return s.onAllCores(m)
}

// onAllCores compares one goroutine that verifies the whole chain in memory with one per core. Each of them takes the hash before its part as the links
// state it. The part before it has recomputed that hash when all have ended, so together they prove what one does.
func (s *recordFixture) onAllCores(m *meter) error {
	return m.onCores("a million links in memory", func(goroutines int) error {
		var g errgroup.Group
		for part := range goroutines {
			from, to := len(s.links)*part/goroutines, len(s.links)*(part+1)/goroutines
			g.Go(func() error { return verifyPart(s.links, from, to) })
		}
		return g.Wait()
	})
}

// refuses says whether the verifier notices what is worth measuring: a chain in which a price, a ticker or a hash is another one.
func refuses(links []chain.Link) error {
	if err := verifyPart(links, 0, len(links)); err != nil {
		return err
	}
	for what, change := range map[string]func(*chain.Link){
		"price":         func(l *chain.Link) { l.Price += "1" },
		"ticker":        func(l *chain.Link) { l.Ticker += "X" },
		"hash":          func(l *chain.Link) { l.Hash = l.PreviousHash },
		"previous hash": func(l *chain.Link) { l.PreviousHash = l.Hash },
	} {
		for _, at := range []int{1, len(links) / 2, len(links) - 1} {
			changed := slices.Clone(links)
			change(&changed[at])
			if verifyPart(changed, 0, len(changed)) == nil {
				return fmt.Errorf("the verifier accepts another %s in link %d", what, changed[at].Seq)
			}
			if verifyPart(changed, at, len(changed)) == nil {
				return fmt.Errorf("the verifier of a part accepts another %s in link %d", what, changed[at].Seq)
			}
		}
	}
	return nil
}

func verifyPart(links []chain.Link, from, to int) error {
	var at chain.Checkpoint
	if from > 0 {
		before := links[from-1]
		at = chain.Checkpoint{Length: before.Seq, Head: before.Hash, Date: before.Date}
	}
	v, err := chain.Resume(at)
	if err != nil {
		return err
	}
	for _, l := range links[from:to] {
		if err := v.Add(l); err != nil {
			return err
		}
	}
	return nil
}

// memory prints how far the heap grows while the chain is streamed and verified.
func (s *recordFixture) memory(ctx context.Context, m *meter) error {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	before, most := stats.HeapAlloc, uint64(0)
	err := s.verify(ctx, func() {
		runtime.GC() // garbage does not count
		runtime.ReadMemStats(&stats)
		most = max(most, stats.HeapAlloc)
	})
	if err != nil {
		return err
	}
	m.say("  %-34s %12d links: the heap grew by at most %.2f MB", "memory", len(s.links), max(0, (float64(most)-float64(before))/1e6))
	return nil
}

// serveChain measures P9.
func serveChain(ctx context.Context, m *meter) error {
	program, err := findNginx()
	if err != nil {
		m.say("  not measured: %v", err)
		return nil
	}
	return withRecord(ctx, longChain, func(ctx context.Context, s *recordFixture) error {
		s.links = nil // the memory is the server's
		ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		url, log := "http://"+ln.Addr().String(), slog.New(slog.DiscardHandler)
		v, err := view.New(view.Options{Store: s.db, PublicURL: url, World: view.WorldSandbox, Now: func() time.Time { return now }, Log: log})
		if err != nil {
			return err
		}
		if err := recordStarts(ctx, m, s.dsn); err != nil {
			return err
		}
		r, err := newRecord(s.db, url, log)
		if err != nil {
			return err
		}
		srv := api.New(api.Options{View: v, Record: r, Log: log})
		g, ctx := errgroup.WithContext(ctx)
		ctx, stop := context.WithCancel(ctx)
		begin := m.now()
		g.Go(func() error { return r.Run(ctx) })
		g.Go(func() error { return srv.Serve(ctx, ln) })
		g.Go(func() error {
			defer stop()
			if err := hasState(ctx, r); err != nil {
				return err
			}
			for r.State().Whole().Gzip.Body == nil {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(time.Millisecond):
				}
			}
			m.say("  %-34s %12.2f s: the bytes have their compressed form, too", "", m.now().Sub(begin).Seconds())
			return s.against(ctx, m, program, url+"/api/v1/verify/picks")
		})
		return g.Wait()
	})
}

// recordStarts measures how long a record takes from nothing to its answers, each time in a new process. A process that has freed as much memory
// before is faster at its first record, and slower from its second on.
func recordStarts(ctx context.Context, m *meter, dsn string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var took, used []time.Duration
	m.count(startRounds)
	for range startRounds {
		cmd := exec.CommandContext(ctx, self, recordStartName, dsn) //nolint:gosec // our own
		said, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("start a record: %w", err)
		}
		elapsed, err := time.ParseDuration(strings.TrimSpace(string(said)))
		if err != nil {
			return err
		}
		took, used = append(took, elapsed), append(used, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	slices.Sort(took)
	m.say("  %-34s %12.2f s (%.2f to %.2f): %d links read, recomputed and made into finished bytes; the process used %.2f s of processor time", "start",
		middle(took).Seconds(), took[0].Seconds(), took[len(took)-1].Seconds(), longChain, middle(used).Seconds())
	return nil
}

// recordStartName is the argument with which recordStarts starts this program.
const recordStartName = "record-start"

// recordStart prints how long the record of a database takes until it has its answers.
func recordStart(ctx context.Context, dsn string, out io.Writer) error {
	db, err := postgres.Open(ctx, dsn, postgres.RoleAPI)
	if err != nil {
		return err
	}
	defer db.Close()
	r, err := newRecord(db, "http://127.0.0.1", slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	begin := world.Wall{}.Now()
	g.Go(func() error { return r.Run(ctx) })
	g.Go(func() error {
		defer stop()
		if err := hasState(ctx, r); err != nil {
			return err
		}
		_, err := fmt.Fprintln(out, world.Wall{}.Now().Sub(begin))
		return err
	})
	return g.Wait()
}

// newRecord returns the record of a database, which has read nothing yet.
func newRecord(db *postgres.DB, url string, log *slog.Logger) (*view.Record, error) {
	return view.NewRecord(view.RecordOptions{
		Store: db, PublicURL: url, World: view.WorldSandbox, Now: func() time.Time { return now }, FullPass: time.Hour, Log: log,
	})
}

// hasState waits until a record has its answers.
func hasState(ctx context.Context, r *view.Record) error {
	for r.State() == nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// against compares the whole chain, plain and compressed, with nginx serving the same bytes from files.
func (s *recordFixture) against(ctx context.Context, m *meter, program, ours string) error {
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	files := filepath.Join(s.dir, "files")
	if err := os.Mkdir(files, 0o755); err != nil {
		return err
	}
	codings := []struct{ name, header string }{{"plain", "identity"}, {"compressed", "gzip"}}
	for _, c := range codings {
		f, err := os.Create(filepath.Join(files, c.name))
		if err != nil {
			return err
		}
		_, err = fetch(ctx, client, ours, c.header, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	theirs, _, stop, err := startNginx(ctx, program, s.dir, files, true)
	if err != nil {
		return err
	}
	defer stop()
	for _, c := range codings {
		var size int64
		get := func(address string) func() (time.Duration, error) {
			return func() (time.Duration, error) {
				return m.once(func() (err error) { size, err = fetch(ctx, client, address, c.header, io.Discard); return err })
			}
		}
		a, b, err := m.turns(get(ours), get(theirs+"/"+c.name))
		if err != nil {
			return err
		}
		m.ratio(fmt.Sprintf("whole chain, %s, %.0f MB", c.name, float64(size)/1e6), longChain, a, b, 0.5)
	}
	return nil
}

func fetch(ctx context.Context, client *http.Client, address, coding string, to io.Writer) (int64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Accept-Encoding", coding)
	resp, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s answers %s", address, resp.Status)
	}
	return io.CopyBuffer(struct{ io.Writer }{to}, resp.Body, make([]byte, 256<<10))
}
