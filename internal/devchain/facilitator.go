package devchain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
)

// Facilitator verifies and settles x402 payments of the chain's token, in both versions of the protocol. It asks the contract whether it
// would accept an authorization, and settles it with its own transaction. It trusts no statement of a client, not even the payer's: the
// contract checks the signature. It is an http.Handler with the paths /verify, /settle and /supported. The zero value is not usable.
type Facilitator struct {
	chain   *Chain
	account int
	token   abi.ABI
	mux     *http.ServeMux
}

// networkNames are the network names in version 1 of the protocol, by chain id.
var networkNames = map[uint64]string{8453: "base", 84532: "base-sepolia"}

// confirmTimeout is the maximum time that a settlement waits for its block.
const confirmTimeout = 30 * time.Second

// NewFacilitator makes a facilitator that pays for its transactions from a funded account. No other code may send transactions from this
// account.
func NewFacilitator(c *Chain, account int) (*Facilitator, error) {
	contracts, err := Contracts()
	if err != nil {
		return nil, err
	}
	f := &Facilitator{chain: c, account: account, token: contracts["Token"].ABI, mux: http.NewServeMux()}
	f.mux.HandleFunc("POST /verify", f.question(f.verify))
	f.mux.HandleFunc("POST /settle", f.question(f.settle))
	f.mux.HandleFunc("GET /supported", f.supported)
	return f, nil
}

// ServeHTTP serves the facilitator's paths.
func (f *Facilitator) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.mux.ServeHTTP(w, r) }

// Serve serves requests on a listener until ctx ends, and closes it.
func (f *Facilitator) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{Handler: f, ReadHeaderTimeout: 5 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = srv.Close() })()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the development chain's facilitator: %w", err)
	}
	return nil
}

// authorization is an EIP-3009 authorization with its signature.
type authorization struct {
	from, to                       common.Address
	value, validAfter, validBefore *big.Int
	nonce                          common.Hash
	signature                      []byte
}

// paymentRequest is a payment and its requirements.
type paymentRequest struct {
	version int
	network string
	pay     authorization
}

// maxQuestion limits the body of a request.
const maxQuestion = 64 << 10

// question reads a request and writes the response to it. An unreadable request gets a reason, like an invalid payment.
func (f *Facilitator) question(answer func(context.Context, paymentRequest, string) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		o, fault := f.read(http.MaxBytesReader(w, r.Body, maxQuestion))
		reply(w, answer(r.Context(), o, fault))
	}
}

func reply(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // a disconnected client is not a fault
}

// read reads a request and compares the payment with the requirements. It leaves out the checks that the contract makes. reason says why
// the payment is not valid, empty if it is valid.
func (f *Facilitator) read(body interface{ Read([]byte) (int, error) }) (o paymentRequest, reason string) {
	type entry struct {
		Scheme, Network, Asset, PayTo, Amount string
		MaxAmountRequired                     string
		Extra                                 struct{ Name, Version string }
	}
	var q struct {
		X402Version    int
		PaymentPayload struct {
			X402Version     int
			Scheme, Network string
			Accepted        *entry
			Payload         struct {
				Signature     hexutil.Bytes
				Authorization struct {
					From, To                       common.Address
					Value, ValidAfter, ValidBefore string
					Nonce                          common.Hash
				}
			}
		}
		PaymentRequirements entry
	}
	if err := json.NewDecoder(body).Decode(&q); err != nil {
		return o, "invalid_payload"
	}
	want, p := q.PaymentRequirements, q.PaymentPayload
	a := p.Payload.Authorization
	o = paymentRequest{version: q.X402Version, network: want.Network, pay: authorization{
		from: a.From, to: a.To, nonce: a.Nonce, signature: p.Payload.Signature,
	}}
	id := f.chain.config.ChainID.Uint64()
	network, price, scheme, on := networkNames[id], want.MaxAmountRequired, p.Scheme, p.Network
	switch {
	case q.X402Version == 2 && p.Accepted != nil:
		network, price, scheme, on = fmt.Sprintf("eip155:%d", id), want.Amount, p.Accepted.Scheme, p.Accepted.Network
	case q.X402Version != 1:
		return o, "invalid_x402_version"
	}
	switch {
	case p.X402Version != q.X402Version:
		return o, "invalid_x402_version"
	case want.Scheme != "exact" || scheme != "exact":
		return o, "unsupported_scheme"
	case network == "" || want.Network != network || on != network:
		return o, "invalid_network"
	case common.HexToAddress(want.Asset) != TokenAddress:
		return o, "invalid_payment_requirements"
	case a.To != common.HexToAddress(want.PayTo):
		return o, "invalid_exact_evm_payload_recipient_mismatch"
	case a.Value != price:
		return o, "invalid_exact_evm_payload_authorization_value"
	}
	for _, n := range []struct {
		text string
		to   **big.Int
	}{{a.Value, &o.pay.value}, {a.ValidAfter, &o.pay.validAfter}, {a.ValidBefore, &o.pay.validBefore}} {
		v, ok := new(big.Int).SetString(n.text, 10)
		if !ok || v.Sign() < 0 || v.BitLen() > 256 {
			return o, "invalid_payload"
		}
		*n.to = v
	}
	return o, ""
}

// call encodes a call of the contract's function that takes an authorization, with a signature of any length.
func (f *Facilitator) call(a authorization) ([]byte, error) {
	for name, m := range f.token.Methods {
		if m.RawName == "transferWithAuthorization" && len(m.Inputs) == 7 {
			return f.token.Pack(name, a.from, a.to, a.value, a.validAfter, a.validBefore, a.nonce, a.signature)
		}
	}
	return nil, errors.New("the token takes no authorizations")
}

// reasons maps the contract's revert messages to the protocol's reasons.
var reasons = []struct{ says, reason string }{
	{"not yet valid", "invalid_exact_evm_payload_authorization_valid_after"},
	{"expired", "invalid_exact_evm_payload_authorization_valid_before"},
	{"used or canceled", "invalid_exact_evm_nonce_already_used"},
	{"signature", "invalid_exact_evm_payload_signature"},
	{"balance", "insufficient_funds"},
}

// simulate asks the contract whether it would accept an authorization now. err is an error of the chain.
func (f *Facilitator) simulate(a authorization) (data []byte, fault string, err error) {
	if data, err = f.call(a); err != nil {
		return nil, "", err
	}
	token := TokenAddress
	// The call runs in the next block. The newest block is as old as the last transaction, and a call in it would have its time.
	_, err = f.chain.ask(message{from: Address(f.account), to: &token, data: data, value: new(uint256.Int)})
	if err == nil {
		return data, "", nil
	}
	if _, failed := errors.AsType[*refusal](err); !failed {
		return nil, "", err
	}
	for _, r := range reasons {
		if strings.Contains(err.Error(), r.says) {
			return nil, r.reason, nil
		}
	}
	return nil, "invalid_transaction_state", nil
}

type verdict struct {
	IsValid bool           `json:"isValid"`
	Reason  string         `json:"invalidReason,omitempty"`
	Payer   common.Address `json:"payer"`
}

func (f *Facilitator) verify(_ context.Context, o paymentRequest, fault string) any {
	if fault == "" {
		var err error
		if _, fault, err = f.simulate(o.pay); err != nil {
			fault = "unexpected_verify_error"
		}
	}
	return verdict{IsValid: fault == "", Reason: fault, Payer: o.pay.from}
}

type receipt struct {
	Success     bool           `json:"success"`
	Reason      string         `json:"errorReason,omitempty"`
	Transaction string         `json:"transaction"`
	Network     string         `json:"network"`
	Payer       common.Address `json:"payer"`
}

func (f *Facilitator) settle(ctx context.Context, o paymentRequest, fault string) any {
	out := receipt{Reason: fault, Network: o.network, Payer: o.pay.from}
	if fault != "" {
		return out
	}
	// A client that disconnects does not stop a settlement.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), confirmTimeout)
	defer cancel()
	data, fault, err := f.simulate(o.pay)
	if err != nil {
		fault = "unexpected_settle_error"
	}
	if out.Reason = fault; fault != "" {
		return out
	}
	token := TokenAddress
	hash, err := f.chain.send(f.account, &token, transferGas, data)
	if err != nil {
		out.Reason = "unexpected_settle_error"
		return out
	}
	out.Transaction = hash.Hex()
	r, err := f.chain.receipt(ctx, hash)
	switch {
	case err != nil:
		out.Reason = "settlement_pending"
	case r.Status != types.ReceiptStatusSuccessful:
		out.Transaction, out.Reason = "", "invalid_transaction_state"
	default:
		out.Success = true
	}
	return out
}

// transferGas is more than a transfer by authorization needs, including the check of a contract wallet's signature.
const transferGas = 400_000

// supported lists the payments that can be settled.
func (f *Facilitator) supported(w http.ResponseWriter, _ *http.Request) {
	type kind struct {
		Version int    `json:"x402Version"`
		Scheme  string `json:"scheme"`
		Network string `json:"network"`
	}
	id := f.chain.config.ChainID.Uint64()
	kinds := []kind{{2, "exact", fmt.Sprintf("eip155:%d", id)}}
	if name := networkNames[id]; name != "" {
		kinds = append(kinds, kind{1, "exact", name})
	}
	reply(w, map[string]any{
		"kinds": kinds, "extensions": []string{}, "signers": map[string][]common.Address{"eip155:*": {Address(f.account)}},
	})
}
