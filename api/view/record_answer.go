package view

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/chain"
	"tidemark/internal/postgres"
)

// recordHead and recordTail are the members of /api/v1/verify/picks before and after its picks.
type recordHead struct {
	// Valid is true only when every link was recomputed from the stored values and matches.
	Valid       bool    `json:"valid"`
	ChainLength int     `json:"chain_length"`
	Algorithm   string  `json:"algorithm"`
	HashRule    string  `json:"hash_rule"`
	Encoding    string  `json:"encoding"`
	GenesisHash string  `json:"genesis_hash"`
	HeadHash    string  `json:"head_hash"`
	HeadDate    *string `json:"head_date"`
	// VerifiedAt is when the chain was recomputed last, in the world's time.
	VerifiedAt      time.Time `json:"verified_at"`
	FirstInvalidSeq *int64    `json:"first_invalid_seq"`
}

type recordTail struct {
	// Verdict is this server's own on the whole chain, by the rules of every verifier and the operator's policy.
	Verdict chain.Verdict `json:"verdict"`
	// JudgedBy says who was counted.
	JudgedBy    Judged             `json:"judged_by"`
	Git         RecordGit          `json:"git"`
	Gaps        []RecordGap        `json:"gaps"`
	Corrections []RecordCorrection `json:"corrections"`
	Seals       RecordSeals        `json:"seals"`
	Attestation RecordAttestation  `json:"attestation"`
	Checks      RecordChecks       `json:"checks"`
	HowToVerify string             `json:"how_to_verify"`
	Environment string             `json:"environment"`
	Disclaimer  string             `json:"disclaimer"`
}

// RecordGap is a trading day without a pick.
type RecordGap struct {
	Date   string `json:"date"`
	Reason string `json:"reason"`
}

// RecordCorrection says that a pick was wrong. The pick stays as it is.
type RecordCorrection struct {
	Seq      int64  `json:"seq"`
	What     string `json:"what"`
	Evidence string `json:"evidence"`
	Date     string `json:"date"`
}

// frame builds the bytes before and after the picks.
func (st *RecordState) frame() (head, tail []byte, err error) {
	h := recordHead{
		Valid: st.Valid(), ChainLength: len(st.links), Algorithm: "SHA-256", HashRule: chain.Rule, Encoding: "UTF-8, lowercase hex",
		GenesisHash: chain.Genesis, HeadHash: chain.Genesis, VerifiedAt: st.verifiedAt,
	}
	if n := len(st.links); n > 0 {
		h.HeadHash, h.HeadDate = st.links[n-1].Hash, &st.links[n-1].Date
	}
	if !st.Valid() {
		h.FirstInvalidSeq = &st.proof.invalid
	}
	if head, err = Encode(h); err != nil {
		return nil, nil, err
	}
	t := recordTail{
		Verdict: st.verdict, JudgedBy: st.judged, Git: st.git(), Gaps: make([]RecordGap, len(st.gaps)), Corrections: make([]RecordCorrection, len(st.corrections)),
		Seals: st.seals(), Attestation: st.attestation(), Checks: st.checks, HowToVerify: st.o.PublicURL + "/verify",
		Environment: st.o.environment(), Disclaimer: st.o.disclaimer(),
	}
	for i, g := range st.gaps {
		t.Gaps[i] = RecordGap(g)
	}
	for i, c := range st.corrections {
		t.Corrections[i] = RecordCorrection(c)
	}
	if tail, err = Encode(t); err != nil {
		return nil, nil, err
	}
	return append(head[:len(head)-len("}\n")], `,"picks":[`...), tail[len("{"):], nil
}

func (o RecordOptions) environment() string { return Options{World: o.World}.environment() }

func (o RecordOptions) disclaimer() string {
	return Options{World: o.World}.disclaimer(o.World == WorldSandbox)
}

// Disclaimer returns the disclaimer of the responses about the record.
func (st *RecordState) Disclaimer() string { return st.o.disclaimer() }

// VerifiedPick is the body of /api/v1/verify/pick/{ticker}.
type VerifiedPick struct {
	// Verdict is this server's own verdict, by the rules of every verifier and the operator's policy. It is witnessed if fresh parties hold the
	// pick, contradicted if the chain, the ledger, a witness or the pick's seal holds something else, and self_consistent otherwise. Readers who
	// ask the witnesses themselves need not believe it.
	Verdict chain.Verdict `json:"verdict"`
	// JudgedBy says who was counted.
	JudgedBy Judged `json:"judged_by"`
	// Valid is true when this pick and every one before it was recomputed and matches, and the next one is linked to it.
	Valid          bool         `json:"valid"`
	Ticker         string       `json:"ticker"`
	Pick           PickLink     `json:"pick"`
	Preimage       string       `json:"preimage"`
	RecomputedHash string       `json:"recomputed_hash"`
	ChainPosition  int          `json:"chain_position"`
	ChainLength    int          `json:"chain_length"`
	VerifiedAt     time.Time    `json:"verified_at"`
	Checks         PickChecks   `json:"checks"`
	Git            PickGit      `json:"git"`
	Attestation    PickAttested `json:"attestation"`
	// LogIndex is the number of the pick's leaf in the transparency log, ProofURL the file that proves it offline. Both are null while no
	// signed size of the log has it.
	LogIndex *int64  `json:"log_index"`
	ProofURL *string `json:"proof_url"`
	// Seal is the sealed pick of the day; null if that day's pick was not sealed.
	Seal        *PickSeal          `json:"seal"`
	Corrections []RecordCorrection `json:"corrections"`
	// All are the picks of the ticker, newest first.
	All         []PickDate `json:"all"`
	HowToVerify string     `json:"how_to_verify"`
	Environment string     `json:"environment"`
	Disclaimer  string     `json:"disclaimer"`
}

// PickLink is a link of the chain.
type PickLink struct {
	Seq          int64  `json:"seq"`
	Ticker       string `json:"ticker"`
	Price        string `json:"price"`
	Date         string `json:"date"`
	PreviousHash string `json:"previous_hash"`
	Hash         string `json:"hash"`
}

// PickDate names a pick.
type PickDate struct {
	Seq  int64  `json:"seq"`
	Date string `json:"date"`
}

// PickChecks are the checks of one pick.
type PickChecks struct {
	Hash        string `json:"hash"`
	Previous    string `json:"previous"`
	Next        string `json:"next"`
	Git         string `json:"git"`
	Attestation string `json:"attestation"`
	// Seal says whether the pick was revealed in time, and as it was sealed.
	Seal string `json:"seal"`
}

// PickGit is the commit that recorded a pick.
type PickGit struct {
	Commit      *string    `json:"commit"`
	Path        string     `json:"path"`
	CommittedAt *time.Time `json:"committed_at"`
	URL         *string    `json:"url"`
}

// PickAttested is the attestation that proves a pick: the first attestation of a chain that is long enough. Until it exists, everything
// except the status is null.
type PickAttested struct {
	Status      string     `json:"status"`
	Network     *string    `json:"network"`
	Method      string     `json:"method"`
	UID         *string    `json:"uid"`
	SchemaUID   *string    `json:"schema_uid"`
	Head        *string    `json:"head"`
	Length      *int64     `json:"length"`
	TxHash      *string    `json:"tx_hash"`
	BlockNumber *int64     `json:"block_number"`
	BlockTime   *time.Time `json:"block_time"`
	Attester    *string    `json:"attester"`
	ExplorerURL *string    `json:"explorer_url"`
}

// Pick returns the verification of the newest pick of a ticker, and whether it exists. With a date it returns the pick of that day.
func (st *RecordState) Pick(ticker, date string) (VerifiedPick, bool) {
	at, all := -1, []PickDate{}
	for i := range slices.Backward(st.links) {
		l := &st.links[i]
		if l.Ticker != ticker {
			continue
		}
		all = append(all, PickDate{l.Seq, l.Date})
		if at < 0 && (date == "" || date == l.Date) {
			at = i
		}
	}
	if at < 0 {
		return VerifiedPick{}, false
	}
	l := st.links[at]
	v := VerifiedPick{
		Ticker: ticker, Pick: PickLink(l.Link), Preimage: l.preimage, RecomputedHash: chain.Hash(l.Link), ChainPosition: at + 1,
		ChainLength: len(st.links), VerifiedAt: st.verifiedAt, Git: st.gitOf(l.Seq), Attestation: st.attestationOf(l.Seq),
		Corrections: []RecordCorrection{}, All: all, HowToVerify: st.o.PublicURL + "/verify", Environment: st.o.environment(),
		Disclaimer: st.o.disclaimer(),
	}
	if index, ok := st.logged[l.Seq]; ok {
		v.LogIndex, v.ProofURL = &index, proofURL(st.o.PublicURL, &index)
	}
	v.Seal = st.Seal(l.Date)
	for _, c := range st.corrections {
		if c.Seq == l.Seq {
			v.Corrections = append(v.Corrections, RecordCorrection(c))
		}
	}
	v.Checks = PickChecks{Hash: outcome(v.RecomputedHash == l.Hash), Next: CheckNone, Git: st.checkGitOf(v.Git), Attestation: v.Attestation.check(), Seal: v.Seal.check()}
	before := chain.Genesis
	if at > 0 {
		before = st.links[at-1].Hash
	}
	v.Checks.Previous = outcome(l.PreviousHash == before)
	if at+1 < len(st.links) {
		v.Checks.Next = outcome(st.links[at+1].PreviousHash == l.Hash)
	}
	first := st.proof.invalid
	v.Valid = (first == 0 || first > l.Seq) && v.Checks.Hash == CheckOK && v.Checks.Previous == CheckOK && v.Checks.Next != CheckFailed
	v.Verdict, v.JudgedBy = st.verdictOn(&v), st.judged
	return v, true
}

// proofURL returns the URL of the proof of a leaf of the record, or nil if index is nil.
func proofURL(publicURL string, index *int64) *string {
	if index == nil {
		return nil
	}
	return new(publicURL + "/log/proof/" + strconv.FormatInt(*index, 10) + ".tlog-proof")
}

func outcome(ok bool) string {
	if ok {
		return CheckOK
	}
	return CheckFailed
}

func (st *RecordState) gitOf(seq int64) PickGit {
	g := PickGit{Path: ledgerPath}
	for _, c := range st.commits {
		if c.Seq == nil || *c.Seq != seq || c.Commit == "" {
			continue
		}
		g.Commit, g.CommittedAt = known(c.Commit), new(c.At.UTC().Truncate(time.Second))
		g.URL = commitURL(st.ledger.Repository, c.Commit)
		break
	}
	return g
}

func (st *RecordState) checkGitOf(g PickGit) string {
	if g.Commit == nil && st.checks.Git != CheckFailed {
		return CheckPending
	}
	return st.checks.Git
}

func (st *RecordState) attestationOf(seq int64) PickAttested {
	p := PickAttested{Status: postgres.AttestationPending, Method: "eas"}
	if s := st.attester; s.Attester.Attester != "" {
		p.Network, p.SchemaUID, p.Attester = new(networkOf(s.ChainID)), &s.SchemaUID, &s.Attester.Attester
	}
	a, ok := postgres.Covering(st.attestations, seq)
	if !ok {
		return p
	}
	p = PickAttested{
		Status: a.Status(), Network: new(networkOf(a.ChainID)), Method: "eas", UID: known(a.UID), SchemaUID: &a.SchemaUID,
		Head: &a.Subject, Length: &a.Length, Attester: &a.Attester.Attester,
	}
	p.TxHash, p.BlockNumber, p.BlockTime = place(a)
	if p.TxHash != nil && st.attester.ExplorerURL != "" {
		p.ExplorerURL = new(strings.TrimSuffix(st.attester.ExplorerURL, "/") + "/tx/" + *p.TxHash)
	}
	return p
}

func (p PickAttested) check() string {
	switch p.Status {
	case postgres.AttestationConfirmed:
		return CheckOK
	case postgres.AttestationFailed:
		return CheckFailed
	}
	return CheckPending
}
