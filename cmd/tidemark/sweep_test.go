package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/test/contention"
)

var (
	sweepPairs  = flag.Int("sweep.pairs", 0, "how many pairs of a statement and a class of error are tried; 0: none, -1: all")
	sweepFrom   = flag.Int("sweep.from", 0, "how many pairs are left out first, which were tried before under the same seed")
	sweepGroup  = flag.Int("sweep.group", 30, "how many of them are tried in one world")
	sweepOnly   = flag.String("sweep.only", "", "only statements that have this text in them")
	sweepClass  = flag.String("sweep.class", "", "only this class of error")
	sweepSilent = flag.Bool("sweep.together", false, "do not look for the one that breaks a world")
)

// sweepDays is the number of days of the world for each group of errors: three trading days, with an operator's work on the last.
const sweepDays = 4

// sweepBegin is the first instant of such a world, a Monday.
var sweepBegin = time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC)

// sweepWorld is the maximum duration of such a world.
const sweepWorld = 4 * time.Minute

// TestEveryStatementMayFailOnce makes statements of the program fail, each once, with each class of transient error. It compares every row
// of the resulting world with a world without errors. Many statements fail in one world. If that world differs, the test tries halves of
// the group until it finds the statement.
func TestEveryStatementMayFailOnce(t *testing.T) {
	if *sweepPairs == 0 {
		t.Skip("make sweep runs this: it takes minutes, and the whole machine")
	}
	seed := *contentionSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	s := &sweep{t: t, servers: startContended(t), dice: rand.New(rand.NewPCG(seed, 3))} //nolint:gosec // it is to be the same again
	s.begin()
	pairs := s.pairs()
	all := len(pairs)
	pairs = pairs[min(*sweepFrom, all):]
	if n := *sweepPairs; n > 0 {
		pairs = pairs[:min(n, len(pairs))]
	}
	began := time.Now()
	for group := range slices.Chunk(pairs, *sweepGroup) {
		s.try(group)
		t.Logf("%d of %d pairs tried after %s, %d broke", s.tried, len(pairs), time.Since(began).Round(time.Second), len(s.broke))
	}
	tried := map[string]bool{}
	for _, p := range pairs {
		tried[p.SQL] = true
	}
	t.Logf("%d statements x %d classes: %d of %d pairs tried in %d worlds (%d did not come up), %d broke", len(tried), len(contention.Classes), s.tried, all,
		s.worlds, s.unseen, len(s.broke))
	for _, b := range s.broke {
		t.Errorf("BROKEN  %s", b)
	}
	if len(s.broke) > 0 {
		t.Logf("again: make sweep CONTENTION_SEED=%d", seed)
	}
}

// sweep compares worlds with errors with a world without errors.
type sweep struct {
	t       *testing.T
	servers *contendedServers
	dice    *rand.Rand
	// faultless is the world without errors, and sums are the checksums of its rows.
	faultless *contended
	sums      contention.Sums
	seen      map[string]contention.Seen

	worlds, tried, unseen int
	broke                 []string
}

// world runs a world with some errors. broke says how the world failed.
func (s *sweep) world(shots []contention.Shot) (w *contended, broke error) {
	s.worlds++
	w = newContended(s.t, s.servers, sweepBegin, sweepDays, contention.Options{Seed: 1})
	w.quick, w.clients = true, trading
	said := w.logTo(s.t)
	w.tap.Load(shots...)
	err := w.live(s.t.Context(), sweepWorld, func(ctx context.Context) error { return nil })
	if err != nil {
		return w, fmt.Errorf("%w\n  log: %s", err, said.last(6))
	}
	return w, nil
}

// begin runs the world without errors.
func (s *sweep) begin() {
	s.t.Helper()
	var err error
	if s.faultless, err = s.world(nil); err != nil {
		s.t.Fatalf("the world breaks without an error: %v", err)
	}
	if s.sums, err = contention.Sum(s.t.Context(), s.faultless.db); err != nil {
		s.t.Fatal(err)
	}
	s.seen = s.faultless.tap.Statements()
	var empty []string
	for _, name := range slices.Sorted(maps.Keys(s.sums)) {
		if strings.HasPrefix(s.sums[name], "0 rows") {
			empty = append(empty, name)
		}
	}
	s.t.Logf("%d statements are seen; the world has no row in %s", len(s.seen), strings.Join(empty, ", "))
}

// pairs returns all statements with all classes, in an order from the seed.
func (s *sweep) pairs() (out []contention.Shot) {
	for _, sql := range slices.Sorted(maps.Keys(s.seen)) {
		if *sweepOnly != "" && !strings.Contains(sql, *sweepOnly) {
			continue
		}
		for _, class := range contention.Classes {
			n := s.seen[sql].All
			if class == contention.Full {
				n = s.seen[sql].Outside
			}
			if n == 0 || *sweepClass != "" && string(class) != *sweepClass {
				continue
			}
			out = append(out, contention.Shot{SQL: sql, Class: class, Nth: 1 + s.dice.IntN(max(1, n*2/3))})
		}
	}
	s.dice.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// try runs a group of errors, and finds the errors in it that break the world.
func (s *sweep) try(group []contention.Shot) {
	fired, broke := s.judge(group)
	s.tried += len(fired)
	s.unseen += len(group) - len(fired)
	if broke == nil {
		return
	}
	s.t.Logf("%d together break: %v", len(fired), broke)
	if *sweepSilent {
		s.broke = append(s.broke, fmt.Sprintf("%d together: %v", len(fired), broke))
		return
	}
	if found := s.search(fired, broke); found == 0 {
		s.broke = append(s.broke, fmt.Sprintf("%d together, and none of them alone: %v", len(fired), broke))
	}
}

// search finds the single errors of a group that break the world, and returns their number.
func (s *sweep) search(group []contention.Shot, broke error) (found int) {
	if len(group) == 1 {
		s.t.Logf("broken by %s: %v", group[0], broke)
		s.broke = append(s.broke, fmt.Sprintf("%s: %v", group[0], broke))
		return 1
	}
	for _, half := range [][]contention.Shot{group[:len(group)/2], group[len(group)/2:]} {
		if _, broke := s.judge(half); broke != nil {
			found += s.search(half, broke)
		}
	}
	return found
}

// judge runs a world with some errors, and describes how its result differs.
func (s *sweep) judge(group []contention.Shot) (fired []contention.Shot, broke error) {
	w, err := s.world(group)
	defer w.forget()
	fired = w.tap.Fired()
	if err != nil {
		return fired, err
	}
	sums, err := contention.Sum(s.t.Context(), w.db)
	if err != nil {
		return fired, err
	}
	different, err := contention.Differences(s.t.Context(), s.faultless.db, w.db, s.sums, sums)
	if err != nil {
		return fired, err
	}
	if len(different) > 0 {
		return fired, errors.New(strings.Join(different, "\n  "))
	}
	return fired, nil
}
