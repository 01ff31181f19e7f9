package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tidemark/accounts"
	"tidemark/accounts/x402"
	"tidemark/api/view"
	"tidemark/internal/postgres"
)

// ClaimsOptions configure top-ups by transfers on the chain.
type ClaimsOptions struct {
	// Seller is the recipient of payments, with the asset and the network.
	Seller x402.Seller
	// WaitTimeout is how long a request waits for the outcome of a claim. Zero means 10 seconds.
	WaitTimeout time.Duration
}

// claimService accepts claims of transfers. It only uses the database; a worker queries the chain.
type claimService struct {
	ClaimsOptions

	db      *postgres.DB
	waiters notifier
	log     *slog.Logger
}

func newClaimService(o ClaimsOptions, db *postgres.DB, log *slog.Logger) *claimService {
	if o.WaitTimeout == 0 {
		o.WaitTimeout = 10 * time.Second
	}
	return &claimService{ClaimsOptions: o, db: db, log: log}
}

// run receives notifications of outcomes until ctx ends.
func (d *claimService) run(ctx context.Context) error {
	return d.db.Listen(ctx, postgres.Listener{
		Channels:  []string{postgres.ChannelClaims},
		Connected: func(context.Context) error { d.waiters.wakeAll(); return nil },
		Notified:  func(_ context.Context, _, payload string) error { d.waiters.wake(payload); return nil },
		Log:       d.log,
	})
}

const claimsPath = "/api/v1/payments/claims/"

// claims registers the endpoints for transfers.
func (s *Server) claims(mux *http.ServeMux) {
	s.handle(mux, http.MethodPost, "/api/v1/payments/verify", s.verifyPayment)
	s.handleGet(mux, claimsPath+"{tx_hash}", s.claim)
	s.handleGet(mux, "/api/v1/payments/quote", s.quote)
}

var (
	txHashForm    = regexp.MustCompile(`^0x[0-9a-fA-F]{64}$`)
	signatureForm = regexp.MustCompile(`^0x(?:[0-9a-fA-F]{2})+$`)
)

// maxSignature is the maximum length of a signature in characters. Signatures of contract wallets contain additional data.
const maxSignature = 2 + 2*8<<10

// errNoTransfers is the problem of a service that does not accept transfers.
var errNoTransfers = &problemError{
	code: view.CodeNotConfigured, detail: "This service takes no transfers: its operator has set no account to pay to (X402_PAY_TO).",
}

// verifyPayment claims a transfer for the key of the request. It responds with the outcome, or with 202 if the claim is not decided in
// time.
func (s *Server) verifyPayment(w http.ResponseWriter, r *http.Request) error {
	key, err := s.authenticateOwner(w, r)
	if err != nil {
		return err
	}
	if s.claimService == nil {
		return errNoTransfers
	}
	var asked struct {
		TxHash    *string `json:"tx_hash"`
		Signature *string `json:"signature"`
	}
	if _, err := readObject(w, r, &asked, false); err != nil {
		return err
	}
	switch {
	case asked.TxHash == nil:
		return invalidMember("tx_hash", "The transaction's hash is missing.")
	case !txHashForm.MatchString(*asked.TxHash):
		return invalidMember("tx_hash", "This is not a transaction hash, which is 0x and 64 hex digits.")
	case asked.Signature != nil && (len(*asked.Signature) > maxSignature || !signatureForm.MatchString(*asked.Signature)):
		return invalidMember("signature", "This is not a signature, which is 0x and two hex digits for each of at most 8192 bytes.")
	}
	tx := strings.ToLower(*asked.TxHash)
	claim, granted, err := s.claimService.decide(r.Context(), key.ID, tx, asked.Signature)
	switch {
	case errors.Is(err, postgres.ErrTooManyClaims):
		return &problemError{
			code: view.CodeRateLimited, retryAfter: "60",
			detail: fmt.Sprintf("%d claims of this key wait for their transactions. Each waits for an hour at most.", accounts.MaxClaims),
		}
	case errors.Is(err, postgres.ErrClaimsFull):
		return &problemError{code: view.CodeUnavailable, retryAfter: "60", detail: "Too many claims wait for their transactions. Nothing is decided."}
	case err != nil:
		return s.rejectBody(r, err)
	}
	w.Header().Set("Cache-Control", view.CacheNever)
	waits := claim.AnsweredAt == nil || claim.AnsweredAt.Before(claim.AskedAt)
	if !claim.Granted() && !waits && claim.Reason != nil {
		return refusal(*claim.Reason)
	}
	status := http.StatusOK
	if !claim.Granted() {
		status = http.StatusAccepted
		w.Header().Set("Location", s.view.PublicURL()+claimsPath+tx)
		w.Header().Set("Retry-After", "2")
		claim.Reason = nil // the reason is from an earlier check
	}
	body, err := view.Encode(view.ClaimBody{Data: s.claimService.show(claim, granted)})
	if err != nil {
		return err
	}
	write(w, r, status, view.TypeJSON, body)
	return nil
}

// decide claims a transaction and waits up to WaitTimeout for the outcome.
func (d *claimService) decide(ctx context.Context, key int64, tx string, signature *string) (accounts.Claim, []accounts.Transfer, error) {
	chain := d.Seller.Network.ChainID
	id, asked, err := d.db.ClaimTransfer(ctx, key, chain, tx, signature)
	if err != nil {
		return accounts.Claim{}, nil, err
	}
	changed, done := d.waiters.wait(id)
	defer done()
	timeout := time.NewTimer(d.WaitTimeout)
	defer timeout.Stop()
	// Poll the row, in case a notification is lost.
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for over := false; ; {
		c, granted, err := d.db.ClaimBy(ctx, key, chain, tx)
		if err != nil || over || c.Granted() || c.AnsweredAt != nil && !c.AnsweredAt.Before(asked) {
			return c, granted, err
		}
		select {
		case <-changed:
		case <-look.C:
		case <-timeout.C:
			over = true
		case <-ctx.Done():
			return c, nil, ctx.Err()
		}
	}
}

// refusals explain to a claimant why a claim has no grant.
var refusals = map[accounts.Reason]struct{ detail, retryAfter string }{
	accounts.ReasonUnavailable: {"The chain cannot be queried at the moment. Nothing is decided, and the claim is kept for an hour.", "10"},
	accounts.ReasonUnknown:     {"No block contains this transaction. The claim is kept for an hour: if the transaction arrives, the next request gets the result.", "5"},
	accounts.ReasonNotFinal:    {"There are too few blocks on top of the transfer. The claim is kept: ask again.", "3"},
	accounts.ReasonFailed:      {"The transaction failed on the chain: nothing was paid.", ""},
	accounts.ReasonToken:       {"The transaction does not move the stablecoin that is accepted here.", ""},
	accounts.ReasonRecipient:   {"The transaction pays another account than the one that /api/v1/info names.", ""},
	accounts.ReasonAmount:      {"No single transfer in the transaction is 5 units or more.", ""},
	accounts.ReasonAge:         {"The transfer is older than seven days, or was made before the key was created.", ""},
	accounts.ReasonUsed:        {"The transfer was claimed by another key.", ""},
	accounts.ReasonReserved:    {"The amount is reserved for another key.", ""},
	accounts.ReasonProof:       {"The signature is not that of the transfer's sender, over this transaction and this key.", ""},
	accounts.ReasonNoProof:     {"The sender of the transfer must sign for the key.", ""},
}

func refusal(why accounts.Reason) error {
	said := refusals[why]
	return &problemError{code: string(why), detail: said.detail, retryAfter: said.retryAfter}
}

// claim returns the state of a claim of the key.
func (s *Server) claim(w http.ResponseWriter, r *http.Request) error {
	key, err := s.authenticate(w, r)
	if err != nil {
		return err
	}
	if s.claimService == nil {
		return errNoTransfers
	}
	tx := r.PathValue("tx_hash")
	if !txHashForm.MatchString(tx) {
		return &problemError{
			code: view.CodeInvalidParameter, detail: "This is not a transaction hash, which is 0x and 64 hex digits.",
			errors: []view.ParameterError{{Pointer: "/tx_hash", Detail: "This is not a transaction hash, which is 0x and 64 hex digits."}},
		}
	}
	claim, granted, err := s.claimService.db.ClaimBy(r.Context(), key.ID, s.claimService.Seller.Network.ChainID, strings.ToLower(tx))
	if errors.Is(err, postgres.ErrNotFound) {
		return &problemError{code: view.CodeNotFound, detail: "This key has not claimed this transaction."}
	}
	if err != nil {
		return s.unavailable(r, err)
	}
	return s.sendKeyed(w, r, view.ClaimBody{Data: s.claimService.show(claim, granted)})
}

// show builds the view of a claim for its claimant.
func (d *claimService) show(c accounts.Claim, granted []accounts.Transfer) view.Claim {
	out := view.Claim{
		Status: c.State, TxHash: c.TxHash, Network: d.Seller.Network.CAIP2(), Token: d.Seller.Asset.Symbol, To: d.Seller.PayTo,
		ClaimedAt: c.CreatedAt.UTC(), Reason: c.Reason, Final: c.State == accounts.ClaimConfirmed,
	}
	if c.State == accounts.ClaimPending || c.State == accounts.ClaimRevoked {
		out.ExpiresAt = new(c.ExpiresAt.UTC())
	}
	if !c.Granted() || len(granted) == 0 {
		return out
	}
	out.Status = "verified"
	var sum accounts.Micros
	for _, g := range granted {
		sum += g.Amount
		out.Extended = out.Extended || g.Extended && g.ID == granted[0].ID
		if g.ProUntil != nil {
			out.Plan, out.ProUntil = new(accounts.PlanPro), new(g.ProUntil.UTC())
		}
		if g.Balance != nil {
			out.Balance = new(view.USD(*g.Balance))
		}
	}
	first := granted[0]
	out.Amount = &view.Money{Amount: sum.String(), Currency: d.Seller.Asset.Symbol}
	out.From, out.BlockNumber, out.Confirmations = &first.Sender, &first.BlockNumber, &first.Confirmations
	return out
}

// quote reserves an amount for the key.
func (s *Server) quote(w http.ResponseWriter, r *http.Request) error {
	key, err := s.authenticateOwner(w, r)
	if err != nil {
		return err
	}
	if s.claimService == nil {
		return errNoTransfers
	}
	q, err := s.claimService.db.Quote(r.Context(), key.ID)
	if errors.Is(err, postgres.ErrNoQuote) {
		return &problemError{code: view.CodeUnavailable, detail: "All unique amounts are taken at the moment.", retryAfter: "600"}
	}
	if err != nil {
		return s.unavailable(r, err)
	}
	seller := s.claimService.Seller
	return s.sendKeyed(w, r, view.QuoteBody{Data: view.Quote{
		Amount: view.Money{Amount: q.Amount.String(), Currency: seller.Asset.Symbol}, Network: seller.Network.CAIP2(), Token: seller.Asset.Symbol,
		TokenAddress: seller.Asset.Address, AtomicAmount: strconv.FormatInt(int64(q.Amount), 10), PayTo: seller.PayTo,
		ExpiresAt: q.Until.UTC(), Claim: s.view.PublicURL() + "/api/v1/payments/verify",
	}})
}
