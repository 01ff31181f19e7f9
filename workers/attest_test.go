package workers_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/google/go-cmp/cmp"

	"tidemark/chain"
	"tidemark/chain/base"
	"tidemark/internal/devchain"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/workers"
)

// witness is the job that attests, on its own development chain.
type witness struct {
	*record
	workers.Attest
	chain *devchain.Chain
	// node is the chain as anybody reaches it.
	node *ethclient.Client
	// ahead is added to the job's clock.
	ahead atomic.Int64
}

func newWitness(t *testing.T, r *record, o devchain.Options) *witness {
	t.Helper()
	c, err := devchain.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	client, err := base.Dial(devchain.DefaultChainID, c.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	outside, err := ethclient.DialContext(t.Context(), c.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(outside.Close)
	w := &witness{record: r, chain: c, node: outside}
	signer := base.NewSigner(devchain.Key(0))
	w.Attest = workers.Attest{
		DB: r.db, Now: func() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }, Log: slog.New(slog.DiscardHandler),
		Attester: &base.Attester{
			Client: client, Signer: signer, EAS: base.EAS{Contract: devchain.EASAddress, Registry: devchain.SchemaRegistryAddress},
			Limits: base.Limits{Daily: 1e18},
		},
		State: postgres.AttesterState{
			Attester: postgres.Attester{
				ChainID: devchain.DefaultChainID, Contract: strings.ToLower(devchain.EASAddress.Hex()), SchemaUID: base.SchemaUID(base.Schema).Hex(),
				Attester: strings.ToLower(signer.Address().Hex()),
			},
			RPCURL: c.URL(),
		},
	}
	return w
}

func (w *witness) run() error {
	return w.Run(w.t.Context(), task.Task{Job: task.Attest, Subject: task.SubjectAttest})
}

// mustRun runs the job once. A continuation later, because nothing is final on a young development chain, is not an error.
func (w *witness) mustRun() {
	w.t.Helper()
	if err := w.run(); err != nil {
		if _, later := workers.LaterIn(err); !later {
			w.t.Fatal(err)
		}
	}
}

// one checks that the L2 has one attestation of each head, each referring to the one before, and that the database says the same.
func (w *witness) one(heads ...chain.Checkpoint) {
	w.t.Helper()
	list, err := w.Attester.Client.Attestations(w.t.Context(), w.Attester.EAS, w.Attester.Signer.Address())
	if err != nil {
		w.t.Fatal(err)
	}
	var attested, stored []chain.Checkpoint
	var uids, references, storedUIDs []string
	before := strings.Repeat("0", 64)
	for _, a := range list {
		attested = append(attested, a.Statement.Checkpoint())
		uids, references = append(uids, strings.ToLower(a.UID.Hex())), append(references, strings.ToLower(a.RefUID.Hex()))
	}
	rows, err := w.db.Attestations(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, a := range rows {
		stored = append(stored, chain.Checkpoint{Length: a.Length, Head: a.Subject, Date: a.Date})
		storedUIDs = append(storedUIDs, a.UID)
		if a.Status() != postgres.AttestationConfirmed || a.Mined == nil || a.CostWei <= 0 || a.Alarm {
			w.t.Errorf("row: %+v", a)
		}
	}
	if diff := cmp.Diff(heads, attested); diff != "" {
		w.t.Errorf("on the chain (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(heads, stored); diff != "" {
		w.t.Errorf("in the database (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(uids, storedUIDs); diff != "" {
		w.t.Errorf("uids (-chain +database):\n%s", diff)
	}
	if want := append([]string{"0x" + before}, uids[:max(len(uids)-1, 0)]...); len(uids) > 0 && !slices.Equal(references, want) {
		w.t.Errorf("references %v, want %v", references, want)
	}
}

func TestAnAnnouncedHeadIsAttestedOnce(t *testing.T) {
	t.Parallel()
	w := newWitness(t, newRecord(t, "replay"), devchain.Options{})
	w.mustRun() // no pick, nothing to attest
	first := w.announce(2)
	w.pick() // not announced: it is in no attestation
	for range 2 {
		w.mustRun()
		w.one(first)
	}
	second := w.announce(1)
	w.mustRun()
	w.one(first, second)

	list, err := w.db.Attestations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for seq, length := range map[int64]int64{1: 2, 2: 2, 3: 4, 4: 4} {
		if a, ok := postgres.Covering(list, seq); !ok || a.Length != length {
			t.Errorf("pick %d is covered by %d picks (%v), want %d", seq, a.Length, ok, length)
		}
	}
	if _, ok := postgres.Covering(list, 5); ok {
		t.Error("a pick that is not there is covered")
	}
	if s, err := w.db.AttesterState(t.Context()); err != nil || s.Status != postgres.AttesterOK || s.BalanceWei == "" || s.RunwayDays == nil || s.RPCURL != w.chain.URL() {
		t.Errorf("the attester's state: %+v, %v", s, err)
	}
	// The schema took one transaction, each head one.
	if sent, err := w.chain.Sent(0); err != nil || sent != 3 {
		t.Errorf("%d transactions, want 3: %v", sent, err)
	}
}

func TestWithoutAKeyAttestationsArePending(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "replay")
	r.announce(1)
	a := workers.Attest{DB: r.db, State: postgres.AttesterState{Status: postgres.AttesterOff, Note: "ATTESTER_KEY_FILE is not set"}}
	if err := a.Run(t.Context(), task.Task{Subject: task.SubjectAttest}); err != nil {
		t.Fatal(err)
	}
	if s, err := r.db.AttesterState(t.Context()); err != nil || s.Status != postgres.AttesterOff || s.Alarm() {
		t.Errorf("the attester's state: %+v, %v", s, err)
	}
}

func TestANodeThatIsAwayIsAskedAgain(t *testing.T) {
	t.Parallel()
	w := newWitness(t, newRecord(t, "replay"), devchain.Options{})
	head := w.announce(1)
	there := w.Attester.Client
	away, err := base.Dial(devchain.DefaultChainID, "http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	w.Attester.Client = away
	if _, later := workers.LaterIn(w.run()); !later {
		t.Error("the run does not go on later")
	}
	if s, err := w.db.AttesterState(t.Context()); err != nil || s.Status != postgres.AttesterUnavailable || s.Alarm() {
		t.Errorf("the attester's state: %+v, %v", s, err)
	}
	w.Attester.Client = there
	w.mustRun()
	w.one(head)
}

// manual is a chain that makes blocks when it is told, and a job that gives up waiting for them.
func manual(t *testing.T) *witness {
	t.Helper()
	w := newWitness(t, newRecord(t, "replay"), devchain.Options{Manual: true})
	w.Attester.Limits.StuckAfter = time.Minute
	return w
}

// send runs the job until a number of transactions was sent for the head, without making a block, and ends it.
func (w *witness) send(head chain.Checkpoint, txs int) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.Run(ctx, task.Task{Job: task.Attest, Subject: task.SubjectAttest})
	}()
	w.until("it is signed and sent", func() bool {
		rows, err := w.db.OpenAttestations(w.t.Context(), w.State.Attester)
		if err != nil || len(rows) == 0 {
			return false
		}
		newest := rows[len(rows)-1]
		return newest.Length == head.Length && len(newest.Txs) >= txs && !newest.Txs[txs-1].SentAt.IsZero()
	})
	cancel()
	<-done
}

// until waits until something holds.
func (w *witness) until(what string, ok func() bool) {
	w.t.Helper()
	deadline, tick := time.After(2*time.Minute), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			w.t.Fatalf("not in two minutes: %s", what)
		case <-tick.C:
		}
	}
}

// mined runs the job while a block is made whenever a transaction waits for one. More blocks would make what was attested final.
func (w *witness) mined() {
	w.t.Helper()
	done := make(chan error, 1)
	go func() { done <- w.run() }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			if _, later := workers.LaterIn(err); err != nil && !later {
				w.t.Fatal(err)
			}
			return
		case <-tick.C:
			nonce, err := w.node.NonceAt(w.t.Context(), w.Attester.Signer.Address(), nil)
			waits, perr := w.node.PendingNonceAt(w.t.Context(), w.Attester.Signer.Address())
			if err == nil && perr == nil && waits > nonce {
				w.chain.Commit()
			}
		}
	}
}

func TestATransactionThatTheNodesLostIsSentAgain(t *testing.T) {
	t.Parallel()
	w := manual(t)
	first := w.announce(1)
	w.mined()
	second := w.announce(1)
	w.send(second, 1)
	if err := w.chain.Drop(); err != nil {
		t.Fatal(err)
	}
	w.chain.Commit()
	w.ahead.Add(int64(2 * time.Minute))
	w.mined()
	w.one(first, second)
}

func TestAStuckTransactionIsPaidMore(t *testing.T) {
	t.Parallel()
	w := manual(t)
	first := w.announce(1)
	w.mined()
	second := w.announce(1)
	w.send(second, 1)
	w.ahead.Add(int64(2 * time.Minute))
	w.send(second, 2)
	w.mined()
	w.one(first, second)
	rows, err := w.db.Attestations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if txs := rows[1].Txs; len(txs) != 2 || txs[0].Nonce != txs[1].Nonce || txs[1].FeeCap <= txs[0].FeeCap {
		t.Errorf("transactions: %+v", txs)
	}
}

// height is the number of the newest block.
func (w *witness) height() uint64 {
	w.t.Helper()
	n, err := w.node.BlockNumber(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func TestAReorganisedAttestationIsRepaired(t *testing.T) {
	t.Parallel()
	w := manual(t)
	first := w.announce(1)
	w.mined()
	before, err := w.node.HeaderByNumber(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	second := w.announce(1)
	w.mined()
	w.one(first, second)
	seen := w.height()
	if err := w.chain.Fork(before.Hash()); err != nil {
		t.Fatal(err)
	}
	if err := w.chain.Drop(); err != nil {
		t.Fatal(err)
	}
	for w.height() <= seen { // a node that is behind the observed height is not trusted
		w.chain.Commit()
	}
	w.mined()
	w.one(first, second)
}

func TestAnAttestationOfAChainThatIsGoneIsVoid(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "sandbox")
	w := newWitness(t, r, devchain.Options{})
	first := r.announce(10)
	w.mustRun()
	w.one(first)
	if n, err := r.db.VoidAttestations(t.Context(), devchain.DefaultChainID); err != nil || n != 2 {
		t.Errorf("%d rows are void, %v", n, err)
	}
	again := newWitness(t, r, devchain.Options{})
	again.mustRun()
	again.one(first)

	other := newWitness(t, newRecord(t, "replay"), devchain.Options{})
	other.announce(1)
	other.mustRun()
	if _, err := other.db.VoidAttestations(t.Context(), devchain.DefaultChainID); !errors.Is(err, postgres.ErrRefused) {
		t.Errorf("attestations of a world that is no sandbox: %v", err)
	}
}

func TestTheSchemaIsRegisteredBeforeThereIsAHead(t *testing.T) {
	t.Parallel()
	w := newWitness(t, newRecord(t, "replay"), devchain.Options{})
	for range 2 {
		row, err := w.Register(t.Context(), task.Fence{})
		if err != nil || row.Kind != base.KindRegister || row.State != base.StateSafe && row.State != base.StateFinal {
			t.Errorf("the schema's row: %+v, %v", row, err)
		}
	}
	head := w.announce(1)
	w.mustRun()
	w.one(head)
	if nonce, err := w.node.NonceAt(t.Context(), w.Attester.Signer.Address(), nil); err != nil || nonce != 2 {
		t.Errorf("%d transactions, want 2: %v", nonce, err)
	}
}

func TestAnAttestationCannotSayWhatIsNotAnnounced(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "replay")
	r.announce(1)
	r.pick()
	picks, err := r.db.RecordedPicks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	who := postgres.Attester{ChainID: 1, Contract: "0x1", SchemaUID: "0x2", Attester: "0x3"}
	row := func(p postgres.Pick) postgres.Attestation {
		return postgres.Attestation{Attester: who, Kind: "attest", State: "due", Subject: p.Hash, Length: p.Seq, Date: p.Date, CreatedAt: r.day, UpdatedAt: r.day}
	}
	if _, err := r.db.InsertAttestation(t.Context(), task.Fence{}, row(picks[1])); !errors.Is(err, postgres.ErrRefused) {
		t.Errorf("of a pick that is not announced: %v", err)
	}
	a, err := r.db.InsertAttestation(t.Context(), task.Fence{}, row(picks[0]))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.db.InsertAttestation(t.Context(), task.Fence{}, row(picks[0])); !errors.Is(err, postgres.ErrExists) {
		t.Errorf("a second row: %v", err)
	}
	a.Subject, a.Length, a.Date = picks[1].Hash, picks[1].Seq, picks[1].Date
	if _, err := r.db.UpdateAttestation(t.Context(), task.Fence{}, a); !errors.Is(err, postgres.ErrRefused) {
		t.Errorf("moved to a pick that is not announced: %v", err)
	}
	a.Subject, a.Length, a.Date = picks[0].Hash, picks[0].Seq, picks[0].Date
	a.State, a.Txs = "signed", []postgres.AttestationTx{{Hash: "0xa"}}
	if a, err = r.db.UpdateAttestation(t.Context(), task.Fence{}, a); err != nil {
		t.Fatal(err)
	}
	stale := a
	stale.Version--
	if _, err := r.db.UpdateAttestation(t.Context(), task.Fence{}, stale); !errors.Is(err, postgres.ErrStale) {
		t.Errorf("a row that was changed: %v", err)
	}
	if _, err := r.db.UpdateAttestation(t.Context(), task.Fence{RunID: 9, Attempt: 1}, a); !errors.Is(err, postgres.ErrFenced) {
		t.Errorf("an attempt that was given up: %v", err)
	}
	a.Txs = []postgres.AttestationTx{{Hash: "0xb"}}
	if _, err := r.db.UpdateAttestation(t.Context(), task.Fence{}, a); !errors.Is(err, postgres.ErrRefused) {
		t.Errorf("a forgotten transaction: %v", err)
	}
}
