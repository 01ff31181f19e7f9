package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	random "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/accounts"
	"tidemark/internal/devstack"
	"tidemark/internal/postgres"
)

const (
	// chargeClients ask at once, of chargeKeys keys or of one.
	chargeClients, chargeKeys = 64, 1000
	// chargeTime is how long each is measured in a round, chargeRounds how often, after one round that does not count.
	chargeTime, chargeRounds = 5 * time.Second, 5
	// chargeLimit is the limit of the 99th percentile.
	chargeLimit = 30 * time.Millisecond
)

// charges measures P10: 64 clients charge prices to keys on a durable Postgres, each price with a balance entry. In the same round, pgbench
// -N runs with as many clients on the same server, because the time of an fsync varies within minutes.
func charges(ctx context.Context, m *meter) (err error) {
	pgbench, err := findPgbench()
	if err != nil {
		m.say("  not measured: there is no pgbench (on Debian: apt install postgresql-contrib)")
		return nil //nolint:nilerr // it is said, and the others go on
	}
	dir, err := os.MkdirTemp("", "tidemark-bench-charges")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o755); err != nil { // as root, the server runs as another user
		return err
	}
	server, err := devstack.StartPostgres(ctx, devstack.PostgresOptions{Dir: filepath.Join(dir, "postgres")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
	b := &chargeBench{meter: m, pgbench: pgbench, server: server.URL(), statement: filepath.Join(dir, "one.sql")}
	if err := os.WriteFile(b.statement, []byte(oneStatement), 0o600); err != nil {
		return err
	}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	defer b.db.Close()
	return b.run(ctx)
}

// findPgbench looks where a distribution puts it, too.
func findPgbench() (string, error) {
	if path, err := exec.LookPath("pgbench"); err == nil {
		return path, nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	if err != nil || len(found) == 0 {
		return "", errors.Join(exec.ErrNotFound, err)
	}
	return found[len(found)-1], nil
}

type chargeBench struct {
	*meter

	// statement is the file with oneStatement.
	pgbench, server, statement string

	db      *postgres.DB
	charger *postgres.Charger
	keys    []int64
}

// prepare makes the tables of both, and keys that can pay.
func (b *chargeBench) prepare(ctx context.Context) error {
	if err := postgres.Migrate(ctx, b.server, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	worker, err := postgres.Open(ctx, b.server, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer worker.Close()
	if b.db, err = postgres.Open(ctx, b.server, postgres.RoleAPI); err != nil {
		return err
	}
	b.charger = postgres.NewCharger(b.db.KeyStore)
	for i := range chargeKeys {
		key, err := accounts.NewKey(rand.Reader)
		if err != nil {
			return err
		}
		r := postgres.Registration{PublicID: fmt.Sprintf("key_%026d", i), Name: "bench", Key: key}
		_, err = b.db.Register(ctx, r, nil, func(made postgres.Registered) ([]byte, error) {
			b.keys = append(b.keys, made.ID)
			return nil, nil
		})
		if err != nil {
			return err
		}
		if _, err := worker.Credit(ctx, b.keys[i], 1_000_000*accounts.PerDollar, postgres.Gift{Ref: fmt.Sprint("bench ", i), By: "bench", Reason: "to be spent"}); err != nil {
			return err
		}
	}
	_, err = b.command(ctx, "-i", "-q", "-s", "20")
	return err
}

func (b *chargeBench) run(ctx context.Context) error {
	var many, one, theirs, least []float64
	var waits []time.Duration
	b.count(chargeRounds)
	for round := range chargeRounds + 1 {
		m, waited, err := b.charge(ctx, b.keys)
		if err != nil {
			return err
		}
		p, err := b.reference(ctx, "-N")
		if err != nil {
			return err
		}
		l, err := b.reference(ctx, "-f", b.statement)
		if err != nil {
			return err
		}
		o, waited2, err := b.charge(ctx, b.keys[:1])
		if err != nil {
			return err
		}
		if round > 0 {
			many, one, theirs, least = append(many, m/p), append(one, o/p), append(theirs, p), append(least, m/l)
			waits = append(waits, waited, waited2)
			b.say("  round %d: %6.0f charges/s of %d keys, %6.0f of one, against %6.0f transactions/s", round, m, chargeKeys, o, p)
		}
	}
	slices.Sort(many)
	slices.Sort(one)
	slices.Sort(theirs)
	slices.Sort(least)
	for _, r := range []struct {
		what   string
		ratios []float64
	}{{fmt.Sprintf("%d keys", chargeKeys), many}, {"one key", one}} {
		mid := r.ratios[len(r.ratios)/2]
		b.say("  %-34s ratio %6.2f  target >= 2.5  %s", r.what, mid, verdict(mid >= 2.5))
	}
	b.say("  %-34s ratio %6.2f", fmt.Sprintf("%d keys, against one statement", chargeKeys), least[len(least)/2])
	p99 := median(waits)
	b.say("  %-34s %s  target <= %s  %s", "99th percentile", p99.Round(100*time.Microsecond), chargeLimit, verdict(p99 <= chargeLimit))
	return nil
}

// charge lets all clients take prices from some keys for a while, and returns how many a second, and the 99th percentile of the time
// that one took.
func (b *chargeBench) charge(ctx context.Context, keys []int64) (perSecond float64, p99 time.Duration, err error) {
	took := make([][]time.Duration, chargeClients)
	begin := b.now()
	g, ctx := errgroup.WithContext(ctx)
	for client := range chargeClients {
		g.Go(func() error {
			for at := b.now(); at.Sub(begin) < chargeTime; {
				q := postgres.Charge{KeyID: keys[random.IntN(len(keys))], Price: 1000, Endpoint: "/picks/latest", RequestID: "req_bench"}
				o, err := b.charger.Charge(ctx, q)
				if err != nil {
					return err
				}
				if o.Outcome != postgres.Charged {
					return fmt.Errorf("a charge was %s", o.Outcome)
				}
				now := b.now()
				took[client] = append(took[client], now.Sub(at))
				at = now
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return 0, 0, err
	}
	all := slices.Concat(took...)
	elapsed := b.now().Sub(begin)
	slices.Sort(all)
	return float64(len(all)) / elapsed.Seconds(), all[len(all)*99/100], nil
}

var transactionsPerSecond = regexp.MustCompile(`tps = ([0-9.]+)`)

// oneStatement is the least that a durable charge can be: pgbench's simple update, whose five ways to the server are one.
const oneStatement = `\set aid random(1, 100000 * :scale)
with taken as (update pgbench_accounts set abalance = abalance - 1 where aid = :aid returning aid)
insert into pgbench_history (tid, bid, aid, delta, mtime) select 1, 1, aid, -1, now() from taken;
`

// reference returns pgbench's rate for a script, in transactions a second.
func (b *chargeBench) reference(ctx context.Context, script ...string) (float64, error) {
	out, err := b.command(ctx, append(script, "-n", "-M", "prepared", "-c", strconv.Itoa(chargeClients), "-j", "2", "-T", strconv.Itoa(int(chargeTime.Seconds())))...)
	if err != nil {
		return 0, err
	}
	found := transactionsPerSecond.FindSubmatch(out)
	if found == nil {
		return 0, fmt.Errorf("pgbench does not say how fast it was: %s", out)
	}
	return strconv.ParseFloat(string(found[1]), 64)
}

func (b *chargeBench) command(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, b.pgbench, append(args, b.server)...) //nolint:gosec // our own
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("pgbench: %w: %s", err, out)
	}
	return out, nil
}
