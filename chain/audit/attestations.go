package audit

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"tidemark/chain"
	"tidemark/chain/base"
	"tidemark/chain/gitledger"
)

// attestations are the attestations that a node of the L2 returned.
type attestations struct {
	// attester is who attested, as the server publishes it.
	attester string
	// list is everything that the attester attested, oldest first.
	list []base.Attestation
	// settled reports whether the newest one is in or before the node's safe block.
	settled bool
	// where describes what was read, for the report.
	where string
}

// zero has the zero values of the hashes and addresses in it.
var zero base.Attestation

// readAttestations lists the attestations. It returns a check if there is nothing to compare with, or if the published data are invalid.
func (o Options) readAttestations(ctx context.Context, s *server, said *answer) (*attestations, *Check) {
	without := func(status Status, format string, args ...any) (*attestations, *Check) {
		return nil, &Check{"attestations", status, fmt.Sprintf(format, args...)}
	}
	p := said.Attestation
	nodes := o.RPC
	switch {
	case p.Network == nil || p.Contract == nil || p.Attester == nil || p.SchemaUID == nil:
		return without(NotChecked, "the server names no attester")
	case len(nodes) > 0:
	case p.RPC != nil && isLoopback(s.base.Hostname()) && isLoopbackURL(*p.RPC):
		nodes = []string{*p.RPC}
	default:
		return without(NotChecked, "name a node of the network %.40s that you trust with --rpc", *p.Network)
	}
	id, err := base.ParseNetwork(*p.Network)
	if err != nil {
		return without(Mismatch, "network: %v", err)
	}
	contract, err := base.ParseAddress(*p.Contract)
	if err != nil {
		return without(Mismatch, "contract: %v", err)
	}
	attester, err := base.ParseAddress(*p.Attester)
	if err != nil {
		return without(Mismatch, "attester: %v", err)
	}
	if o.Attester != "" {
		want, err := base.ParseAddress(o.Attester)
		if err != nil {
			return without(NotChecked, "%v", err)
		}
		if want != attester {
			return without(Mismatch, "the server names the attester %s, and you know %s", attester, want)
		}
	}
	if isBase(id) && !strings.EqualFold(contract.Hex(), base.EASAddress) {
		return without(Mismatch, "the server names the contract %s, and EAS on this network is %s", contract, base.EASAddress)
	}
	if uid := base.SchemaUID(base.Schema).Hex(); !strings.EqualFold(*p.SchemaUID, uid) {
		return without(Mismatch, "the server names the schema %.80s, and it is %s", *p.SchemaUID, uid)
	}
	client, err := base.Dial(id, nodes...)
	if err != nil {
		return without(NotChecked, "%v", err)
	}
	defer client.Close()
	eas := base.EAS{Contract: contract}
	if p.StartBlock != nil {
		eas.StartBlock = *p.StartBlock
	}
	a := &attestations{attester: attester.Hex(), where: fmt.Sprintf("by %s on %s", attester, *p.Network)}
	if a.list, err = client.Attestations(ctx, eas, attester); err != nil {
		if errors.Is(err, base.ErrWrongChain) || errors.Is(err, base.ErrUnavailable) {
			return without(NotChecked, "%v", err)
		}
		return without(Mismatch, "%v", err)
	}
	if len(a.list) > 0 {
		e, err := client.Evidence(ctx, a.list[len(a.list)-1].TxHash.Hex())
		if err != nil {
			return without(NotChecked, "%v", err)
		}
		a.settled = e.Receipt != nil && e.Receipt.BlockNumber <= e.Heads.Safe
	}
	return a, nil
}

// isBase reports whether a chain is Base or its test network, where EAS is part of the chain.
func isBase(id uint64) bool { return id == 8453 || id == 84532 }

// compareAttestations checks every attestation against the recomputed chain, and searches the list for a second line: each attestation
// must name the one before it. If the chain is broken, it still compares the picks up to the first broken one.
func compareAttestations(w *verification, a *attestations, ledger *gitledger.Record, said *answer) Check {
	c := Check{Name: "attestations", Status: Mismatch}
	length := w.verifier.Checkpoint().Length
	before := zero
	for i := range a.list {
		at := a.list[i]
		if fault := w.faultOf(at, before); fault != "" {
			c.Detail = fmt.Sprintf("attestation %s: %s", at.UID.Hex(), fault)
			return c
		}
		before = at
	}
	if named := attesterIn(ledger); named != "" && !strings.EqualFold(named, a.attester) {
		c.Detail = fmt.Sprintf("the ledger's readme names the attester %s, the server names %s", named, a.attester)
		return c
	}
	newest := before.Statement.Checkpoint()
	if n := said.Attestation.Latest; n != nil && n.UID != nil && n.Status == "confirmed" {
		if fault := n.faultIn(a.list); fault != "" {
			c.Detail = "the server names the attestation " + short(*n.UID) + ": " + fault
			return c
		}
	}
	switch {
	case w.confirmed > newest.Length:
		c.Detail = fmt.Sprintf("the server calls pick %d attested, and the newest attestation is of %d picks", w.confirmed, newest.Length)
	case w.broken != nil:
		c.Status, c.Detail = NotChecked, fmt.Sprintf("not beyond the %d picks that belong together; those are as attested", length)
	case length == 0:
		c.Status, c.Detail = OK, "nothing to attest yet"
	case len(a.list) == 0:
		c.Status, c.Detail = Pending, "there is none yet "+a.where
	case newest.Length < length:
		c.Status, c.Detail = Pending, fmt.Sprintf("%d agree, the newest is of %d picks; %d more wait for theirs", len(a.list), newest.Length, length-newest.Length)
	case !a.settled:
		c.Status, c.Detail = Pending, fmt.Sprintf("%d agree; the newest is in block %d, which is not safe yet", len(a.list), before.BlockNumber)
	default:
		c.Status, c.Detail = OK, fmt.Sprintf("all %d agree %s, the newest is of %d picks, in block %d of %s",
			len(a.list), a.where, newest.Length, before.BlockNumber, before.Time.Format(time.RFC3339))
	}
	return c
}

// faultOf says what is wrong with an attestation that follows another one, empty for nothing.
func (w *verification) faultOf(a, before base.Attestation) string {
	says := a.Statement.Checkpoint()
	is := w.heads[says.Length]
	switch {
	case a.Malformed || a.Schema != base.SchemaUID(base.Schema):
		return "it says nothing in the schema"
	case a.Recipient != zero.Recipient || a.Revocable || !a.ExpiresAt.IsZero():
		return "it is not made as ours are: it has a recipient, expires, or can be revoked"
	case !a.RevokedAt.IsZero():
		return "it was revoked at " + a.RevokedAt.Format(time.RFC3339)
	case a.RefUID != before.UID && before.UID == zero.UID:
		return "it is the first and refers to " + a.RefUID.Hex() + ", which is not in the list"
	case a.RefUID != before.UID:
		return "it refers to " + a.RefUID.Hex() + " and not to the one before it, " + before.UID.Hex() + ": there are two lines"
	case a.Statement.PreviousHead != before.Statement.Head:
		return "it names another head as the one before it"
	case says.Length <= before.Statement.Checkpoint().Length:
		return fmt.Sprintf("it is of %d picks, and so many were attested before", says.Length)
	case is.Length == 0 && w.broken != nil:
		return "" // the chain could not be followed so far
	case is.Length == 0:
		return fmt.Sprintf("it is of %d picks, and the server shows %d", says.Length, w.verifier.Checkpoint().Length)
	case says != is:
		return fmt.Sprintf("after %d picks it says %s, and the chain has %s", says.Length, at(says), at(is))
	}
	return ""
}

// address is an account as it is written in a text.
var address = regexp.MustCompile(`0x[0-9a-fA-F]{40}\b`)

// attesterIn returns the account that a ledger's readme names as the attester; empty if it names none.
func attesterIn(ledger *gitledger.Record) string {
	if ledger == nil {
		return ""
	}
	for line := range strings.Lines(ledger.Readme) {
		if strings.Contains(strings.ToLower(line), "attester") {
			if found := address.FindString(line); found != "" {
				return found
			}
		}
	}
	return ""
}

func at(c chain.Checkpoint) string { return c.Head + " on " + c.Date }

// faultIn describes how the newest attestation that the server names is missing from the list; empty if it is there.
func (n *latest) faultIn(list []base.Attestation) string {
	for _, a := range list {
		if !strings.EqualFold(a.UID.Hex(), *n.UID) {
			continue
		}
		switch {
		case a.Statement.Checkpoint().Length != n.Length:
			return fmt.Sprintf("it is of %d picks, not of %d", a.Statement.Checkpoint().Length, n.Length)
		case n.TxHash != nil && !strings.EqualFold(a.TxHash.Hex(), *n.TxHash):
			return "it was made by the transaction " + a.TxHash.Hex()
		case n.Block != nil && a.BlockNumber != *n.Block:
			return fmt.Sprintf("it is in block %d", a.BlockNumber)
		}
		return ""
	}
	return "the contract does not have it"
}

func short(s string) string { return fmt.Sprintf("%.80s", s) }
