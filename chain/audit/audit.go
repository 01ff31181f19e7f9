// Package audit is the client behind `tidemark verify`. It downloads the public chain of a server, recomputes every link, and checks the
// picks against the exchange's calendar. It also checks them against both outside records: the git ledger and the attestations on the L2. It
// shares only the rules of package chain with the writer, and does not trust the server: it compares the server's claims with its own
// results. Start at Run.
package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"tidemark/chain"
	"tidemark/chain/gitledger"
	"tidemark/chain/tlog"
)

// Options says what is audited, and whom to ask.
type Options struct {
	// URL is the server's address, without /api. It is http or https.
	URL string
	// Ledger is a repository to read instead of the server's own: a folder, or an address that git can clone.
	Ledger string
	// Signers is a file of keys in the form of ssh-keygen's allowed signers. One of the keys must have signed every commit. If Signers is
	// empty, signatures are not checked.
	Signers string
	// RPC are nodes of the chain with the attestations, tried in order. If RPC is empty, a server on this machine may name a node on it. That
	// node is asked, and what it says counts only against the chain: a node chosen by the server proves nothing.
	RPC []string
	// Attester is the account that must have attested, known from another source. If it is empty, the server's account is used.
	Attester string
	// Checkpoint is a head known from an earlier day: the number of picks and the hash of the last one. The zero Checkpoint means that
	// none is known.
	Checkpoint chain.Checkpoint
	// Policy is the reader's own for the log: its key, the witnesses that they know, and how many count. Nil: what the server names of its log
	// must be there, cosigned by more than half of the witnesses that it names, and none of them counts as a witness.
	Policy *tlog.Policy
	// Memory holds the facts that the reader kept of earlier audits; Run adds to it. Nil: nothing is kept.
	Memory *Memory
	// Note is a signed checkpoint of the log that the reader has from elsewhere; empty for none.
	Note []byte
	// Witnessed reports whether the reader requires the verdict Witnessed. Run then uses the reader's clock.
	Witnessed bool
	// Environment is the record's environment as known from another source: live or demo. If it is empty, the server's own is used.
	Environment string
	// Now is the time of the reader's clock. It determines which days are over, and which witness is fresh. A demonstration's own clock
	// replaces it only if usesServerClock allows that.
	Now time.Time
	// Transport does the HTTP. Nil: http.DefaultTransport.
	Transport http.RoundTripper
	// ReadTimeout is how long the server may say nothing before it is given up. Zero: 30 seconds.
	ReadTimeout time.Duration
	// Environ is the process's environment, for git.
	Environ []string
}

// Status is the outcome of a check.
type Status string

// The outcomes of a check. Only Mismatch is against the record.
const (
	OK         Status = "ok"
	Pending    Status = "pending"     // what is there holds, and something has yet to come
	NotChecked Status = "not checked" // the detail says why
	Mismatch   Status = "mismatch"
	Unproven   Status = "not proven" // nothing contradicts it, and the server alone says so
)

// Check is one thing that was looked at.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	// Detail is one line for a reader.
	Detail string `json:"detail"`
}

// Report is the outcome of an audit.
type Report struct {
	URL string `json:"url"`
	// Environment is "live" or "demo", as the server says.
	Environment string `json:"environment"`
	// Clock names the clock that counted: "reader", or "server" for a demonstration's own.
	Clock string `json:"clock"`
	// Length and Head are the recomputed values, up to the first wrong link.
	Length int64  `json:"chain_length"`
	Head   string `json:"head_hash"`
	// Verified reports whether no check found a mismatch with the chain.
	Verified bool    `json:"verified"`
	Checks   []Check `json:"checks"`
	// Verdict is the outcome in one word. It rests on the checks and on the witnesses whom the reader's options count.
	Verdict chain.Verdict `json:"verdict"`
	// Parties is the number of independent parties among the witnesses: the account that attests is one. Agreeing is how many of them hold
	// the same and are fresh.
	Agreeing int `json:"agreeing"`
	Parties  int `json:"parties"`
	// Covered is the number of picks that fresh agreeing witnesses hold, Held the number that any agreeing witness holds. Newest is the
	// time of the newest agreeing witness, null without one.
	Covered   int64      `json:"covered"`
	Held      int64      `json:"held"`
	Newest    *time.Time `json:"newest"`
	Witnesses []Witness  `json:"witnesses"`
	// Unproven says in a sentence why nothing is witnessed although witnesses agree: a log is hidden, or its quorum is missing. It is empty
	// otherwise.
	Unproven string `json:"unproven"`
	// Log is the transparency log as it was read.
	Log *LogReport `json:"log"`
	// Forked are two checkpoints that the log signed and that are not of one history: the witnessed one and the newest. Empty for none.
	Forked []*SeenLog `json:"forked,omitempty"`
}

// maxTime bounds an audit: a server and a node that answer slowly, and without an end, are given up.
const maxTime = time.Hour

// Run audits a server. It returns an error without a report if the server is unavailable or its responses are not a record's. Faults of the
// record itself are in the report.
//
// It reads the witnesses before the chain. A pick that is announced meanwhile is then missing from the witnesses, and never from the chain.
func Run(ctx context.Context, o Options) (*Report, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, fmt.Errorf("the audit is not done after %s", maxTime))
	defer cancel()
	s, err := newServer(o.URL, o.Transport, o.ReadTimeout)
	if err != nil {
		return nil, err
	}
	said, err := s.statement(ctx)
	if err != nil {
		return nil, err
	}
	ledger, unread := o.readLedger(ctx, s, said)
	attested, unasked := o.readAttestations(ctx, s, said)
	sealed, rules, unreadSeals := s.readLog(ctx, o)
	holdings := o.holdings(ledger, attested)
	w := newWalk(ledger, holdings)
	if sealed != nil {
		for i := range sealed.all.Hashes {
			w.heads[int64(i+1)] = chain.Checkpoint{}
		}
		w.heads[int64(len(sealed.picks.Hashes)+1)] = chain.Checkpoint{}
	}
	final, err := s.chain(ctx, w.add)
	if errors.Is(err, errBroken) {
		final, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	head := w.verifier.Checkpoint()
	r := &Report{URL: s.base.Redacted(), Environment: said.Environment, Clock: "reader", Length: head.Length, Head: head.Head, Verified: true}
	now, clockFault := o.Now, ""
	if o.usesServerClock(said, ledger) {
		r.Clock = "server"
		now, clockFault = cmp.Or(final, said).clock(o.Now) // a demonstration's clock continues while it is read
	}
	r.add(w.links()...)
	if final == nil {
		// The claims of an incomplete response cannot be checked against its picks; the claims of the witnesses can.
		r.add(Check{"answer", NotChecked, "the chain is broken"})
		r.add(Check{"business_days", NotChecked, "the chain is broken"})
	} else {
		r.add(w.answer(final, cmp.Or(o.Environment, said.Environment)), businessDays(w, final, now, r.Clock, clockFault))
	}
	if o.Checkpoint.Length > 0 {
		r.add(w.checkpoint(o.Checkpoint))
	}
	if unread == nil {
		unread = new(compareLedger(w, ledger, said, final))
	}
	if unasked == nil {
		unasked = new(compareAttestations(w, attested, ledger, said))
		if len(o.RPC) == 0 && unasked.Status != Mismatch {
			unasked.Detail += "; by the node that the server names, so they do not count: name yours with --rpc"
		}
	}
	r.add(*unread, *unasked, compareLog(sealed, unreadSeals, rules, o.Now), compareSeals(w, sealed, unreadSeals, final, now, o.Now))
	isForked := sealed != nil && sealed.forked != ""
	if sealed != nil && !isForked {
		r.add(compareLogged(w, sealed), compareNotes(sealed, final), compareSealOrder(ctx, s, rules, sealed, now, said.Environment != "demo"), compareDataset(ctx, s, sealed, now))
		if c, any := stamps(sealed, now); any {
			r.add(c)
		}
	}
	log := rules.log(sealed, final)
	if isForked { // neither history vouches for anything, and neither is kept
		log = rules.log(nil, final)
		r.Log = &LogReport{Named: rules.named, Served: newSeenLog(sealed.newest.Checkpoint, sealed.newest.Note)}
		r.Forked = []*SeenLog{newSeenLog(sealed.cosigned.Checkpoint, sealed.cosigned.Note), r.Log.Served}
	} else if memory, missing := r.remember(o, rules, sealed); missing {
		r.add(memory)
		log = &chain.Log{Required: true, Named: true}
	} else if sealed != nil {
		r.add(memory)
	}
	logged := said.Seals.Since != nil || final != nil && final.Seals.Since != nil
	r.judge(w, holdings, logged, chain.Reader{Attester: o.Attester, Now: now, Clock: o.Now, Log: log})
	return r, nil
}

func (r *Report) add(checks ...Check) {
	for _, c := range checks {
		r.Checks = append(r.Checks, c)
		r.Verified = r.Verified && c.Status != Mismatch
	}
}

// errBroken ends the reading of a chain that is broken already.
var errBroken = errors.New("the chain is broken")

// verification follows the chain link by link. It keeps what the later checks need, which is bounded by the witnesses and by the calendar and
// not by the chain's length.
type verification struct {
	verifier chain.Verifier
	// broken is the first fault of a link; nil if none was found.
	broken *chain.Error
	ledger []gitledger.Pick
	// strays describes how the first pick that is not the ledger's differs from it; empty if none differs.
	strays string
	// heads are the checkpoints at the lengths that the witnesses attest.
	heads map[int64]chain.Checkpoint
	// confirmed is the newest pick that the server calls attested for good.
	confirmed int64
	status    string // the first attestation_status that there is not
	days      chain.Days
}

func newWalk(ledger *gitledger.Record, holdings []chain.Holding) *verification {
	w := &verification{heads: map[int64]chain.Checkpoint{}}
	if ledger != nil {
		w.ledger = ledger.Picks
	}
	for _, h := range holdings {
		// The date of the pick after a witness's newest one shows how long the chain has been without a witness.
		w.heads[h.Length], w.heads[h.Length+1] = chain.Checkpoint{}, chain.Checkpoint{}
	}
	return w
}

func (w *verification) add(p pick) error {
	i := w.verifier.Checkpoint().Length
	if i < int64(len(w.ledger)) && w.ledger[i].Link != p.Link && w.strays == "" {
		w.strays = fmt.Sprintf("pick %d is %s here and %s in the ledger", i+1, show(p.Link), show(w.ledger[i].Link))
	}
	if err := w.verifier.Add(p.Link); err != nil {
		errors.As(err, &w.broken)
		return errBroken
	}
	if want := chain.Preimage(p.Link); p.preimage != want {
		w.broken = &chain.Error{Seq: p.Seq, Field: "preimage", Reason: fmt.Sprintf("is %.200q, made of the pick's own values it is %q", p.preimage, want)}
		return errBroken
	}
	if _, ok := w.heads[p.Seq]; ok {
		w.heads[p.Seq] = w.verifier.Checkpoint()
	}
	switch p.attestation {
	case "confirmed":
		w.confirmed = p.Seq
	case "pending", "submitted", "failed":
	default:
		if w.status == "" {
			w.status = fmt.Sprintf("the attestation of pick %d is %.40q", p.Seq, p.attestation)
		}
	}
	w.days.Add(p.Seq, p.Date)
	return nil
}

func show(l chain.Link) string {
	return fmt.Sprintf("%.20q at %.20q on %.12q with the hash %.70q", l.Ticker, l.Price, l.Date, l.Hash)
}

// links are the checks of the chain itself.
func (w *verification) links() []Check {
	hashes, links := Check{Name: "hashes", Status: OK}, Check{Name: "links", Status: OK}
	head := w.verifier.Checkpoint()
	switch {
	case w.broken == nil && head.Length == 0:
		hashes.Detail, links.Detail = "nothing was announced yet", "nothing was announced yet"
	case w.broken == nil:
		hashes.Detail = fmt.Sprintf("all %d picks recomputed, the head is %s", head.Length, head.Head)
		links.Detail = "each pick names the hash of the one before, numbers and dates ascend"
	case w.broken.Field == "hash" || w.broken.Field == "preimage":
		hashes.Status, hashes.Detail = Mismatch, w.broken.Error()
		links.Status, links.Detail = NotChecked, fmt.Sprintf("not beyond pick %d, whose hash is wrong", w.broken.Seq)
	default:
		hashes.Status, hashes.Detail = NotChecked, fmt.Sprintf("not beyond the %d picks that belong together", head.Length)
		links.Status, links.Detail = Mismatch, w.broken.Error()
	}
	return []Check{hashes, links}
}

// answer compares the server's claims about its own chain with the recomputed chain.
func (w *verification) answer(a *answer, environment string) Check {
	c := Check{Name: "answer", Status: Mismatch}
	head := w.verifier.Checkpoint()
	named := func(s *string) string {
		if s == nil {
			return "null"
		}
		return *s
	}
	headDate, headHash := head.Date, named(a.Head)
	if head.Length == 0 {
		headDate = "null"
		if a.Head == nil {
			headHash = chain.Genesis
		}
	}
	for _, claim := range []struct{ name, says, is string }{
		{"valid", strconv.FormatBool(a.Valid), "true"},
		{"chain_length", strconv.FormatInt(a.Length, 10), strconv.FormatInt(head.Length, 10)},
		{"head_hash", headHash, head.Head},
		{"head_date", named(a.HeadDate), headDate},
		{"algorithm", a.Algorithm, "SHA-256"},
		{"hash_rule", a.Rule, chain.Rule},
		{"encoding", a.Encoding, "UTF-8, lowercase hex"},
		{"genesis_hash", a.Genesis, chain.Genesis},
		{"environment", a.Environment, environment},
		{"the check hashes", a.Checks["hashes"], "ok"},
		{"the check links", a.Checks["links"], "ok"},
	} {
		if claim.says != claim.is {
			c.Detail = fmt.Sprintf("the server says that %s is %.80s, and it is %s", claim.name, claim.says, claim.is)
			return c
		}
	}
	switch {
	case a.FirstInvalid != nil:
		c.Detail = fmt.Sprintf("the server calls pick %d invalid, and it is not", *a.FirstInvalid)
	case a.Environment != "live" && a.Environment != "demo":
		c.Detail = fmt.Sprintf("the server says that environment is %.40q, and it can be live or demo", a.Environment)
	case w.status != "":
		c.Detail = w.status + ", which is no state"
	default:
		c.Status, c.Detail = OK, "what the server says of its chain is so"
	}
	return c
}

// checkpoint holds the chain against what was known of it before.
func (w *verification) checkpoint(known chain.Checkpoint) Check {
	c := Check{"checkpoint", OK, fmt.Sprintf("after %d picks the head is the one that you know: nothing up to there was changed since you noted it", known.Length)}
	switch head := w.heads[known.Length]; {
	case head.Head == known.Head && head.Length == w.verifier.Checkpoint().Length && w.broken == nil:
		c.Detail = "you have the head that is shown now, which can be a copy of it, so it does not count: compare it again when the chain has grown"
	case head.Length == 0:
		c.Status, c.Detail = Mismatch, fmt.Sprintf("you know of %d picks, and the chain has %d", known.Length, w.verifier.Checkpoint().Length)
	case head.Head != known.Head:
		c.Status, c.Detail = Mismatch, fmt.Sprintf("after %d picks you know the head %s, and it is %s", known.Length, known.Head, head.Head)
	}
	return c
}
