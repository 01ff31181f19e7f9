package view

import (
	"context"
	"errors"
	"time"

	"tidemark/internal/postgres"
)

// EarlyPick is a sealed pick before its announcement, for readers who pay. No public answer has it before the announcement.
type EarlyPick struct {
	Ticker   string `json:"ticker"`
	Name     string `json:"name"`
	Exchange string `json:"exchange"`
	Sector   string `json:"sector"`
	Region   string `json:"region"`
	Country  string `json:"country"`
	// Date is a trading day of New York. Price is exactly what is hashed: the close of that day.
	Date     string `json:"date"`
	Price    string `json:"price"`
	Currency string `json:"currency"`
	// Origin is "method" if the method chose the pick, "editor" if a person did.
	Origin string `json:"origin"`
	// AnnouncedFrom is when everybody sees the pick, or soon after.
	AnnouncedFrom time.Time `json:"announced_from"`
	// Hash and PreviousHash are those of the link that the announcement adds to the public chain.
	Hash         string    `json:"hash"`
	PreviousHash string    `json:"previous_hash"`
	Seal         EarlySeal `json:"seal"`
}

// EarlySeal opens the seal of a pick: SHA-256 of "tidemark/seal/v1", a line feed, the bytes of Salt and Content is Commitment.
type EarlySeal struct {
	Commitment string `json:"commitment"`
	// Salt is 32 bytes in hex. Content is what the chain hashes.
	Salt    string `json:"salt"`
	Content string `json:"content"`
	// LogIndex is the number of the seal's leaf, ProofURL the file that proves it offline.
	LogIndex int64  `json:"log_index"`
	ProofURL string `json:"proof_url"`
	// SealedAt is in the world's time. WitnessedAt is when a quorum of the operator's witnesses had cosigned the seal.
	SealedAt    time.Time `json:"sealed_at"`
	WitnessedAt time.Time `json:"witnessed_at"`
}

// EarlyPick returns the sealed pick that waits for its announcement, or nil if none may be seen. It is read for each request and kept nowhere.
func (st *PublicationsState) EarlyPick(ctx context.Context) (*Document, error) {
	p, err := st.o.Store.EarlyPick(ctx)
	if errors.Is(err, postgres.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	meta, modified := st.meta(p.SealedAt)
	return one(EarlyPick{
		Ticker: p.Ticker, Name: p.Name, Exchange: p.Exchange, Sector: p.Sector, Region: p.Region, Country: p.Country, Date: p.Date,
		Price: p.Price, Currency: p.Currency, Origin: p.Origin, AnnouncedFrom: p.AnnounceAt.UTC(), Hash: p.Hash, PreviousHash: p.PreviousHash,
		Seal: EarlySeal{
			Commitment: p.Commitment, Salt: p.Salt, Content: p.Content, LogIndex: p.Index, ProofURL: *proofURL(st.o.PublicURL, &p.Index),
			SealedAt: p.SealedAt.UTC(), WitnessedAt: p.WitnessedAt.UTC(),
		},
	}, meta, modified)
}
