package faults

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/chain"
	"tidemark/chain/base"
	"tidemark/internal/calendar"
	"tidemark/internal/devchain"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/scheduler"
	"tidemark/test/dailypick"
	"tidemark/test/program"
)

// node is a proxy between workers and a development chain. Once armed, it kills the worker that sends the next transaction: before the
// chain gets it, or after that and before the worker receives the response.
type node struct {
	url   string
	chain *devchain.Chain

	mu   sync.Mutex
	kill func()
	late bool
}

func newNode(t *testing.T) *node {
	t.Helper()
	c, err := devchain.Start(devchain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	n := &node{chain: c}
	srv := httptest.NewServer(http.HandlerFunc(n.serve))
	t.Cleanup(srv.Close)
	n.url = srv.URL
	return n
}

// arm makes the next transaction the last act of the process that sends it.
func (n *node) arm(late bool, kill func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.kill, n.late = kill, late
}

func (n *node) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	var kill func()
	late := false
	if bytes.Contains(body, []byte(`"eth_sendRawTransaction"`)) {
		n.mu.Lock()
		kill, late = n.kill, n.late
		n.kill = nil
		n.mu.Unlock()
	}
	if kill != nil && !late {
		kill()
		panic(http.ErrAbortHandler)
	}
	// The proxy waits for the chain's response even if the worker dies.
	req, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), http.MethodPost, n.chain.URL(), bytes.NewReader(body))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = resp.Body.Close() }()
	if kill != nil {
		kill()
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.Copy(w, resp.Body)
}

// announce records and announces picks, a trading day each after the given one, and returns the last day and the chain's head.
func (s *fixture) announce(day time.Time, n int) (time.Time, chain.Checkpoint) {
	s.t.Helper()
	ctx := s.t.Context()
	for range n {
		day = calendar.Next(day)
		for _, do := range []struct {
			clock time.Duration
			run   func(at time.Time) error
		}{
			{17*time.Hour + 30*time.Minute, func(time.Time) error {
				_, err := dailypick.Record(ctx, s.db, postgres.NewPick{
					Ticker: "NVDA", Price: fmt.Sprintf("%d.50", 100+day.YearDay()), Date: day.Format(time.DateOnly), CIK: 1045810, Origin: "method",
				})
				return err
			}},
			{18 * time.Hour, func(at time.Time) error {
				_, err := s.db.AnnounceDue(ctx, task.Fence{}, at)
				return err
			}},
		} {
			at := calendar.At(day, do.clock)
			if err := s.db.SetClock(ctx, &at); err != nil {
				s.t.Fatal(err)
			}
			if err := do.run(at); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	head, err := s.db.AnnouncedHead(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	return day, head
}

// Workers die when they have stored a transaction and before they have sent it, and when they have sent it and before they know. The
// next worker makes one attestation of each head.
func TestAWorkerThatDiesWhileItAttestsLeavesOneAttestation(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	key := filepath.Join(t.TempDir(), "attester.key")
	if err := os.WriteFile(key, []byte(devchain.KeyHex(0)), 0o600); err != nil {
		t.Fatal(err)
	}
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	begin := calendar.At(day, 0)
	s := newFixtureAt(t, &begin, "BASE_RPC_URL="+n.url, "BASE_CHAIN_ID=84532", "ATTESTER_KEY_FILE="+key, "ATTESTER_DAILY_GWEI=1000000000")

	// The scheduler maintains the queue without any schedule, so this job is the only work.
	queue, err := scheduler.NewAsynqQueue(s.redis.URL(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = queue.Close() }()
	sched := &scheduler.Scheduler{
		Store: s.db, Queue: queue, Now: func() time.Time { return begin }, Log: slog.New(slog.DiscardHandler), Every: 100 * time.Millisecond,
		LostAfter: 6 * time.Second,
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- sched.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()

	var want []chain.Checkpoint
	for i, late := range []bool{false, false, true} { // the first transaction is the schema's
		var head chain.Checkpoint
		day, head = s.announce(day, 10)
		want = append(want, head)
		worker := s.start("worker")
		n.arm(late, func() { worker.Kill() })
		id, err := s.db.AddRun(t.Context(), task.Attest, task.SubjectAttest, calendar.At(day, 19*time.Hour), fmt.Sprint("round ", i))
		if err != nil {
			t.Fatal(err)
		}
		program.Until(t, program.Timeout, "the worker is dead", func() (bool, string) {
			select {
			case <-worker.Done:
				return true, ""
			default:
				return false, s.run(id).Status
			}
		})
		if r := s.run(id); r.Status != "running" {
			t.Errorf("round %d: the run of a worker that was killed is %s", i, r.Status)
		}
		next := s.start("worker")
		r := s.awaitStatus(id, "succeeded")
		if r.Losses != 1 || r.Failures != 0 {
			t.Errorf("round %d: %d losses and %d failures, want one loss", i, r.Losses, r.Failures)
		}
		next.Kill()
	}

	client, err := base.Dial(devchain.DefaultChainID, n.url)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	list, err := client.Attestations(t.Context(), base.EAS{Contract: devchain.EASAddress, Registry: devchain.SchemaRegistryAddress}, devchain.Address(0))
	if err != nil {
		t.Fatal(err)
	}
	var got []chain.Checkpoint
	for _, a := range list {
		got = append(got, a.Statement.Checkpoint())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attested (-want +got):\n%s", diff)
	}
	rows, err := s.db.Attestations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range rows {
		if a.Status() != postgres.AttestationConfirmed || len(a.Txs) != 1 || a.Length != want[i].Length {
			t.Errorf("row %d: %+v", i, a)
		}
	}
	// The schema and three heads: one transaction each.
	if sent, err := n.chain.Sent(0); err != nil || sent != 4 {
		t.Errorf("%d transactions, want 4: %v", sent, err)
	}
}
