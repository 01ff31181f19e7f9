package base

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tidemark/chain"
)

// Schema is the form of the attested data. It has the newest hash of the chain, the number of picks, the previously attested head, and the
// date of the newest pick as the number yyyymmdd. The previous head of the first attestation is zero. Any change of the text, even of a blank,
// makes another schema.
const Schema = "bytes32 head,uint64 length,bytes32 previousHead,uint64 day"

// The addresses of EAS on Base and Base Sepolia.
const (
	EASAddress      = "0x4200000000000000000000000000000000000021"
	RegistryAddress = "0x4200000000000000000000000000000000000020"
)

// SchemaUID computes the uid of a schema without resolver that cannot be revoked: keccak256 of the text, the zero address and false.
func SchemaUID(schema string) common.Hash {
	return crypto.Keccak256Hash([]byte(schema), make([]byte, common.AddressLength), []byte{0})
}

// EAS says where the attestations are made.
type EAS struct {
	// Contract and Registry are the addresses of EAS and its SchemaRegistry.
	Contract, Registry common.Address
	// StartBlock is a block before the attester's first attestation. It bounds how far logs are read back when the store knows of none.
	StartBlock uint64
}

// Statement is the content of one attestation.
type Statement struct {
	Head         common.Hash
	Length       uint64
	PreviousHead common.Hash
	// Day is the date of the newest pick as yyyymmdd.
	Day uint64
}

// NewStatement makes the statement of a checkpoint.
func NewStatement(c chain.Checkpoint, previousHead common.Hash) (Statement, error) {
	v, err := chain.Resume(c)
	if err != nil || v.Checkpoint().Length == 0 {
		return Statement{}, fmt.Errorf("attest the checkpoint %+v: no chain with picks has it", c)
	}
	day, err := time.Parse(time.DateOnly, c.Date)
	if err != nil {
		return Statement{}, fmt.Errorf("attest the checkpoint of length %d: %w", c.Length, err)
	}
	return Statement{
		Head: common.HexToHash(c.Head), Length: uint64(c.Length), PreviousHead: previousHead,
		Day: uint64(day.Year()*10000 + int(day.Month())*100 + day.Day()),
	}, nil
}

// Encode writes the statement as the schema's ABI types: four words of 32 bytes.
func (s Statement) Encode() []byte {
	b := make([]byte, 128)
	copy(b, s.Head[:])
	binary.BigEndian.PutUint64(b[56:], s.Length)
	copy(b[64:], s.PreviousHead[:])
	binary.BigEndian.PutUint64(b[120:], s.Day)
	return b
}

// DecodeStatement reads what Encode writes, and nothing else.
func DecodeStatement(b []byte) (Statement, error) {
	if len(b) != 128 {
		return Statement{}, fmt.Errorf("a statement has 128 bytes, not %d", len(b))
	}
	s := Statement{
		Head: common.Hash(b[:32]), Length: binary.BigEndian.Uint64(b[56:]),
		PreviousHead: common.Hash(b[64:96]), Day: binary.BigEndian.Uint64(b[120:]),
	}
	if string(s.Encode()) != string(b) {
		return Statement{}, errors.New("the statement's length or day is not a uint64")
	}
	return s, nil
}

// Checkpoint returns the statement as a checkpoint of the chain.
func (s Statement) Checkpoint() chain.Checkpoint {
	return chain.Checkpoint{
		Length: int64(min(s.Length, 1<<62)), Head: strings.TrimPrefix(s.Head.Hex(), "0x"),
		Date: fmt.Sprintf("%04d-%02d-%02d", s.Day/10000, s.Day/100%100, s.Day%100),
	}
}

// Attestation is one attestation as the contract has it, with the place of its log.
type Attestation struct {
	UID, Schema, RefUID common.Hash
	Attester, Recipient common.Address
	// Time is when the block says that it was made. ExpiresAt and RevokedAt are zero for never.
	Time, ExpiresAt, RevokedAt time.Time
	Revocable                  bool
	Data                       []byte
	// Statement is the decoded Data. Malformed reports whether Data does not follow the schema.
	Statement Statement
	Malformed bool

	TxHash      common.Hash
	BlockNumber uint64
	BlockHash   common.Hash
}

// differs describes how the attestation differs from the requested one; empty if it does not.
func (a *Attestation) differs(schema, ref common.Hash, attester common.Address, s Statement) string {
	switch {
	case a.Schema != schema:
		return "it is of the schema " + a.Schema.Hex()
	case a.Attester != attester:
		return "its attester is " + a.Attester.Hex()
	case a.RefUID != ref:
		return "it refers to " + a.RefUID.Hex() + " instead of " + ref.Hex()
	case a.Recipient != common.Address{}:
		return "it has the recipient " + a.Recipient.Hex()
	case !a.ExpiresAt.IsZero():
		return "it expires"
	case a.Revocable:
		return "it can be revoked"
	case !a.RevokedAt.IsZero():
		return "it was revoked"
	case a.Malformed || a.Statement != s:
		return fmt.Sprintf("it says %x", a.Data)
	}
	return ""
}

// easABI holds the functions and events of EAS and its registry that this package uses, from their published interfaces.
var easABI = mustABI(`[
{"type":"function","name":"register","inputs":[{"name":"schema","type":"string"},{"name":"resolver","type":"address"},{"name":"revocable","type":"bool"}],"outputs":[{"name":"","type":"bytes32"}]},
{"type":"function","name":"getSchema","stateMutability":"view","inputs":[{"name":"uid","type":"bytes32"}],"outputs":[{"name":"","type":"tuple","components":[{"name":"uid","type":"bytes32"},{"name":"resolver","type":"address"},{"name":"revocable","type":"bool"},{"name":"schema","type":"string"}]}]},
{"type":"function","name":"attest","stateMutability":"payable","inputs":[{"name":"request","type":"tuple","components":[{"name":"schema","type":"bytes32"},{"name":"data","type":"tuple","components":[{"name":"recipient","type":"address"},{"name":"expirationTime","type":"uint64"},{"name":"revocable","type":"bool"},{"name":"refUID","type":"bytes32"},{"name":"data","type":"bytes"},{"name":"value","type":"uint256"}]}]}],"outputs":[{"name":"","type":"bytes32"}]},
{"type":"function","name":"getAttestation","stateMutability":"view","inputs":[{"name":"uid","type":"bytes32"}],"outputs":[{"name":"","type":"tuple","components":[{"name":"uid","type":"bytes32"},{"name":"schema","type":"bytes32"},{"name":"time","type":"uint64"},{"name":"expirationTime","type":"uint64"},{"name":"revocationTime","type":"uint64"},{"name":"refUID","type":"bytes32"},{"name":"recipient","type":"address"},{"name":"attester","type":"address"},{"name":"revocable","type":"bool"},{"name":"data","type":"bytes"}]}]},
{"type":"function","name":"getL1Fee","stateMutability":"view","inputs":[{"name":"tx","type":"bytes"}],"outputs":[{"name":"","type":"uint256"}]},
{"type":"function","name":"isValidSignature","stateMutability":"view","inputs":[{"name":"hash","type":"bytes32"},{"name":"signature","type":"bytes"}],"outputs":[{"name":"","type":"bytes4"}]},
{"type":"event","name":"Attested","inputs":[{"name":"recipient","type":"address","indexed":true},{"name":"attester","type":"address","indexed":true},{"name":"uid","type":"bytes32","indexed":false},{"name":"schemaUID","type":"bytes32","indexed":true}]}
]`)

func mustABI(text string) abi.ABI {
	a, err := abi.JSON(strings.NewReader(text))
	if err != nil {
		panic(err)
	}
	return a
}

// topicAttested is the first topic of EAS's Attested log. The uid is in the log's data.
var topicAttested = easABI.Events["Attested"].ID

// registerCall is the call that registers the schema.
func registerCall(schema string) ([]byte, error) {
	return easABI.Pack("register", schema, common.Address{}, false)
}

type attestRequestData struct {
	Recipient      common.Address
	ExpirationTime uint64
	Revocable      bool
	RefUID         [32]byte
	Data           []byte
	Value          *big.Int
}

type attestRequest struct {
	Schema [32]byte
	Data   attestRequestData
}

// attestCall is the call that attests a statement.
func attestCall(schema, ref common.Hash, s Statement) ([]byte, error) {
	return easABI.Pack("attest", attestRequest{Schema: schema, Data: attestRequestData{RefUID: ref, Data: s.Encode(), Value: new(big.Int)}})
}

// schemaRecord and attestationRecord are the return values of the contracts, member by member in their order.
type schemaRecord struct {
	UID       [32]byte
	Resolver  common.Address
	Revocable bool
	Schema    string
}

type attestationRecord struct {
	UID            [32]byte
	Schema         [32]byte
	Time           uint64
	ExpirationTime uint64
	RevocationTime uint64
	RefUID         [32]byte
	Recipient      common.Address
	Attester       common.Address
	Revocable      bool
	Data           []byte
}

// registered reports whether the registry has the schema.
func (n *node) registered(ctx context.Context, registry common.Address, uid common.Hash) (bool, error) {
	out, err := n.view(ctx, registry, "getSchema", uid)
	if err != nil {
		return false, err
	}
	r := *abi.ConvertType(out[0], new(schemaRecord)).(*schemaRecord)
	return r.UID == uid, nil
}

// view calls a function of a contract and decodes its result. An account without code returns nothing: that is an error of the request.
func (n *node) view(ctx context.Context, at common.Address, method string, args ...any) ([]any, error) {
	return n.viewOf(ctx, &easABI, at, "latest", method, args...)
}

// viewOf is view for the functions of another interface, in the state after the block that tag names.
func (n *node) viewOf(ctx context.Context, of *abi.ABI, at common.Address, tag, method string, args ...any) ([]any, error) {
	data, err := of.Pack(method, args...)
	if err != nil {
		return nil, err
	}
	out, err := n.callAt(ctx, at, data, tag)
	if err != nil {
		return nil, err
	}
	values, err := of.Unpack(method, out)
	if err != nil {
		return nil, fmt.Errorf("%s at %s: the contract is not the expected one: %w", method, at, err)
	}
	return values, nil
}

// attestation reads an attestation from the contract; nil if it does not exist.
func (n *node) attestation(ctx context.Context, eas common.Address, uid common.Hash) (*Attestation, error) {
	out, err := n.view(ctx, eas, "getAttestation", uid)
	if err != nil {
		return nil, err
	}
	r := *abi.ConvertType(out[0], new(attestationRecord)).(*attestationRecord)
	if r.UID == (common.Hash{}) {
		return nil, nil
	}
	a := &Attestation{
		UID: r.UID, Schema: r.Schema, RefUID: r.RefUID, Attester: r.Attester, Recipient: r.Recipient,
		Time: instant(r.Time), ExpiresAt: instant(r.ExpirationTime), RevokedAt: instant(r.RevocationTime), Revocable: r.Revocable, Data: r.Data,
	}
	a.Statement, err = DecodeStatement(r.Data)
	a.Malformed = err != nil
	return a, nil
}

// instant reads a block's time; zero stays the zero time.
func instant(seconds uint64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(int64(min(seconds, 1<<40)), 0).UTC()
}

// attestedUID takes the uid out of an Attested log of the contract, schema and attester.
func attestedUID(l types.Log, eas common.Address, schema common.Hash, attester common.Address) (common.Hash, bool) {
	if l.Address != eas || l.Removed || len(l.Topics) != 4 || l.Topics[0] != topicAttested || l.Topics[3] != schema ||
		l.Topics[2] != common.BytesToHash(attester[:]) || len(l.Data) != common.HashLength {
		return common.Hash{}, false
	}
	return common.Hash(l.Data), true
}

// attestations reads every attestation of an attester under a schema from a block on, oldest first.
func (n *node) attestations(ctx context.Context, eas common.Address, schema common.Hash, attester common.Address, from uint64) ([]Attestation, error) {
	latest, err := n.latest(ctx)
	if err != nil {
		return nil, err
	}
	var all []Attestation
	topics := []any{topicAttested, nil, common.BytesToHash(attester[:]), schema}
	err = n.logs(ctx, eas, topics, from, latest.Number, func(l types.Log) error {
		uid, ok := attestedUID(l, eas, schema, attester)
		if !ok {
			return &nodeError{cause: errors.New("it gave logs that were not asked for")}
		}
		a, err := n.attestation(ctx, eas, uid)
		if err != nil {
			return err
		}
		if a == nil {
			return &nodeError{cause: fmt.Errorf("it has the log of the attestation %s and not the attestation", uid)}
		}
		a.TxHash, a.BlockNumber, a.BlockHash = l.TxHash, l.BlockNumber, l.BlockHash
		all = append(all, *a)
		return nil
	})
	return all, err
}

// Attestations lists all attestations by an attester under Schema since e.StartBlock, oldest first, as the contract has them. Verifiers
// search this list for a second chain: its references must form one line.
func (c *Client) Attestations(ctx context.Context, e EAS, attester common.Address) ([]Attestation, error) {
	var all []Attestation
	err := c.on(ctx, func(ctx context.Context, n *node) (err error) {
		all, err = n.attestations(ctx, e.Contract, SchemaUID(Schema), attester, e.StartBlock)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the attestations of %s: %w", attester, err)
	}
	return all, nil
}

// Attestation reads one attestation from the contract; nil if the uid is unknown. The place of its log is not set.
func (c *Client) Attestation(ctx context.Context, e EAS, uid common.Hash) (*Attestation, error) {
	var a *Attestation
	err := c.on(ctx, func(ctx context.Context, n *node) (err error) {
		a, err = n.attestation(ctx, e.Contract, uid)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the attestation %s: %w", uid, err)
	}
	return a, nil
}
