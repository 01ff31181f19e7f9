package workers

import (
	"context"
	"errors"

	"tidemark/chain/base"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// AttestationStore keeps the rows of one attester in Postgres, for as long as the attempt that Fence names is the current one.
type AttestationStore struct {
	DB    *postgres.DB
	Fence task.Fence
	Who   postgres.Attester
}

// Open implements base.Store.
func (s AttestationStore) Open(ctx context.Context) ([]base.Row, error) {
	list, err := s.DB.OpenAttestations(ctx, s.Who)
	rows := make([]base.Row, len(list))
	for i, a := range list {
		rows[i] = asRow(a)
	}
	return rows, err
}

// Attested implements base.Store.
func (s AttestationStore) Attested(ctx context.Context) (base.Row, bool, error) {
	a, err := s.DB.NewestAttested(ctx, s.Who)
	if err != nil {
		return base.Row{}, false, ignoreNotFound(err)
	}
	return asRow(a), true, nil
}

// Insert implements base.Store.
func (s AttestationStore) Insert(ctx context.Context, r base.Row) (base.Row, error) {
	a, err := s.DB.InsertAttestation(ctx, s.Fence, s.asAttestation(r))
	if errors.Is(err, postgres.ErrExists) {
		return r, base.ErrExists
	}
	r.ID, r.Version = a.ID, a.Version
	return r, err
}

// Update implements base.Store.
func (s AttestationStore) Update(ctx context.Context, r base.Row) (base.Row, error) {
	a, err := s.DB.UpdateAttestation(ctx, s.Fence, s.asAttestation(r))
	if errors.Is(err, postgres.ErrStale) {
		return r, base.ErrStale
	}
	r.Version = a.Version
	return r, err
}

// Spent implements base.Store.
func (s AttestationStore) Spent(ctx context.Context, day string) (int64, error) {
	return s.DB.SpentOnAttestations(ctx, s.Who, day)
}

func asRow(a postgres.Attestation) base.Row {
	r := base.Row{
		ID: a.ID, Version: a.Version, Kind: base.Kind(a.Kind), State: base.State(a.State), Subject: a.Subject, Length: a.Length, Date: a.Date,
		PreviousHead: a.PreviousHead, RefUID: a.RefUID, UID: a.UID, CostWei: a.CostWei, SpentOn: a.SpentOn, Note: a.Note, Alarm: a.Alarm,
		CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt,
	}
	for _, t := range a.Txs {
		r.Txs = append(r.Txs, base.Tx(t))
	}
	if a.Mined != nil {
		r.Mined = new(base.Mined(*a.Mined))
	}
	return r
}

func (s AttestationStore) asAttestation(r base.Row) postgres.Attestation {
	a := postgres.Attestation{
		ID: r.ID, Version: r.Version, Attester: s.Who, Kind: string(r.Kind), State: string(r.State), Subject: r.Subject, Length: r.Length,
		Date: r.Date, PreviousHead: r.PreviousHead, RefUID: r.RefUID, UID: r.UID, CostWei: r.CostWei, SpentOn: r.SpentOn, Note: r.Note,
		Alarm: r.Alarm, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
	for _, t := range r.Txs {
		a.Txs = append(a.Txs, postgres.AttestationTx(t))
	}
	if r.Mined != nil {
		a.Mined = new(postgres.AttestationPlace(*r.Mined))
	}
	return a
}
