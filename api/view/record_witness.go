package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/internal/postgres"
)

// ledgerPath is the file with the picks in the ledger.
const ledgerPath = "chain/picks.ndjson"

// checkGit returns the state of the ledger from the data that its job stored. It does not compare the contents: readers can check the
// repository themselves.
func (st *RecordState) checkGit() string {
	open := slices.ContainsFunc(st.commits, func(c postgres.LedgerCommit) bool { return c.Commit == "" })
	switch {
	case len(st.commits) == 0:
		return CheckNone
	case st.ledger.Alarm() && st.ledger.Status != "":
		return CheckFailed
	case open || st.ledger.Status == "" || st.ledger.Status == postgres.LedgerPending:
		return CheckPending
	case st.ledger.Status == postgres.LedgerLocal && st.ledger.Repository == "":
		return CheckLocalOnly
	}
	return CheckOK
}

// checkAttestations compares the attested hashes with the recomputed chain.
func (st *RecordState) checkAttestations() string {
	if len(st.links) == 0 {
		return CheckNone
	}
	var confirmed int64
	for _, a := range st.attestations {
		if a.Length < 1 || a.Length > int64(len(st.links)) {
			return CheckFailed
		}
		// Nothing of the chain is proven after an invalid link.
		l := st.links[a.Length-1]
		if l.Hash != a.Subject || l.Date != a.Date || st.proof.invalid != 0 && st.proof.invalid <= a.Length {
			return CheckFailed
		}
		if a.Status() == postgres.AttestationConfirmed {
			confirmed = max(confirmed, a.Length)
		}
	}
	switch {
	case st.attester.Status != "" && st.attester.Alarm():
		return CheckFailed
	case confirmed < int64(len(st.links)):
		return CheckPending
	}
	return CheckOK
}

// spansOf returns the states of the picks, from attestations sorted by length.
func spansOf(list []postgres.Attestation) spans {
	var s spans
	for i, a := range list {
		status := a.Status()
		if status == postgres.AttestationFailed && slices.ContainsFunc(list[i+1:], func(b postgres.Attestation) bool { return b.Status() != postgres.AttestationFailed }) {
			continue // the next attestation that did not fail also proves these picks
		}
		if n := len(s); n > 0 && s[n-1].state == status {
			s[n-1].to = max(s[n-1].to, a.Length)
			continue
		}
		s = append(s, span{a.Length, status})
	}
	return s
}

// RecordGit says where the ledger is.
type RecordGit struct {
	// Repository is null while the ledger is nowhere but here.
	Repository *string `json:"repository"`
	Branch     *string `json:"branch"`
	Path       string  `json:"path"`
	// Commit is the newest that readers find in the repository.
	Commit      *string    `json:"commit"`
	CommittedAt *time.Time `json:"committed_at"`
	// Status is the status of the ledger's job: local, pushed, pending, refused, diverged, conflict or damaged; null before its first run.
	Status *string `json:"status"`
}

func (st *RecordState) git() RecordGit {
	s := st.ledger
	g := RecordGit{Repository: known(s.Repository), Branch: known(s.Branch), Path: ledgerPath, Commit: known(s.Pushed), Status: known(s.Status)}
	if s.Status == postgres.LedgerLocal {
		g.Commit = known(s.Head)
	}
	if g.Commit != nil {
		for _, c := range slices.Backward(st.commits) {
			if c.Commit == *g.Commit {
				g.CommittedAt = new(c.At.UTC().Truncate(time.Second))
				break
			}
		}
	}
	return g
}

// known returns nil for the empty string.
func known(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// RecordAttestation says where the attestations are. All but the newest one is null if nothing is configured.
type RecordAttestation struct {
	// Network is the chain in the form of CAIP-2.
	Network   *string `json:"network"`
	Contract  *string `json:"contract"`
	SchemaUID *string `json:"schema_uid"`
	Attester  *string `json:"attester"`
	// StartBlock is a block before the first attestation. RPC is the node of a development chain.
	StartBlock *uint64            `json:"start_block"`
	RPC        *string            `json:"rpc_url"`
	Latest     *NewestAttestation `json:"latest"`
}

// NewestAttestation is the one of the longest chain.
type NewestAttestation struct {
	// Seq is the newest pick that it proves.
	Seq         int64      `json:"seq"`
	UID         *string    `json:"uid"`
	TxHash      *string    `json:"tx_hash"`
	BlockNumber *int64     `json:"block_number"`
	BlockTime   *time.Time `json:"block_time"`
	Status      string     `json:"status"`
}

func (st *RecordState) attestation() RecordAttestation {
	var a RecordAttestation
	if s := st.attester; s.Attester.Attester != "" {
		a = RecordAttestation{
			Network: new(networkOf(s.ChainID)), Contract: &s.Contract, SchemaUID: &s.SchemaUID, Attester: &s.Attester.Attester,
			StartBlock: &s.StartBlock, RPC: known(s.RPCURL),
		}
	}
	if n := len(st.attestations); n > 0 {
		last := st.attestations[n-1]
		if a.Attester == nil { // the attester's key was removed later
			a.Network, a.Contract, a.SchemaUID, a.Attester = new(networkOf(last.ChainID)), &last.Contract, &last.SchemaUID, &last.Attester.Attester
		}
		a.Latest = &NewestAttestation{Seq: last.Length, UID: known(last.UID), Status: last.Status()}
		a.Latest.TxHash, a.Latest.BlockNumber, a.Latest.BlockTime = place(last)
	}
	return a
}

func networkOf(chainID uint64) string { return fmt.Sprintf("eip155:%d", chainID) }

func place(a postgres.Attestation) (tx *string, block *int64, at *time.Time) {
	if a.Mined == nil {
		return nil, nil, nil
	}
	return &a.Mined.TxHash, &a.Mined.BlockNumber, new(a.Mined.BlockTime.UTC())
}

// commitURL returns the web page of a commit, in the URL scheme of the common hosts, or nil if the repository is not on the web.
func commitURL(repository, commit string) *string {
	if !strings.HasPrefix(repository, "https://") || commit == "" {
		return nil
	}
	return new(strings.TrimSuffix(strings.TrimSuffix(repository, "/"), ".git") + "/commit/" + commit)
}

// Demo reports whether the record is a demonstration.
func (st *RecordState) Demo() bool { return st.o.environment() == "demo" }

// Repository returns the URL of the git ledger for readers, empty if the ledger exists only on this server.
func (st *RecordState) Repository() string {
	if strings.HasPrefix(st.ledger.Repository, "https://") {
		return st.ledger.Repository
	}
	return ""
}
