// Package x402 implements the resource server's half of the x402 payment protocol, for the scheme "exact" on EVM networks. It builds 402
// responses, parses and checks the client's payment, and calls the facilitator that verifies and settles it. Versions 1 and 2 of the
// protocol share the same URLs. Everything except Client is pure. Start at Offer, then read Check.
package x402

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The versions of the protocol.
const (
	V1 = 1
	V2 = 2
)

// scheme is the only supported scheme: exactly the price, by a signed authorization of the token (EIP-3009).
const scheme = "exact"

// maxTimeout is how long an authorization can be valid. Clients receive it as maxTimeoutSeconds. A settlement that takes longer can no
// longer succeed.
const maxTimeout = 60 * time.Second

// Network is an EVM network with both of its names.
type Network struct {
	ChainID uint64
	// Name is the network's name in version 1. It is empty if version 1 has no name for it. Then only version 2 can be served.
	Name string
}

// CAIP2 returns the network's name in version 2.
func (n Network) CAIP2() string { return "eip155:" + strconv.FormatUint(n.ChainID, 10) }

// Named returns the network's name in a version of the protocol.
func (n Network) Named(version int) string {
	if version == V1 {
		return n.Name
	}
	return n.CAIP2()
}

// Title returns the network's name for readers, with its id: "Base Sepolia (eip155:84532)". A network without a name has its id alone.
func (n Network) Title() string {
	if n.Name == "" {
		return n.CAIP2()
	}
	words := strings.Split(n.Name, "-")
	for i, w := range words {
		if w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, " ") + " (" + n.CAIP2() + ")"
}

// Asset is the token for payments: an ERC-20 contract with EIP-3009 and 6 decimals. Its atomic unit is therefore a micro-dollar.
type Asset struct {
	Symbol, Address string
	// Name and Version belong to the contract's EIP-712 domain, which payers sign.
	Name, Version string
}

// Key returns the address in its stored form, lower case, for comparisons.
func (a Asset) Key() string { return strings.ToLower(a.Address) }

// Decimals is the number of decimals of every supported asset.
const Decimals = 6

// Seller is the recipient of payments, with the asset and the network.
type Seller struct {
	Network Network
	Asset   Asset
	// PayTo is the account that receives the payments.
	PayTo string
}

// known lists the networks whose stablecoin is known. The domain names differ: with a copied name, a signature would not recover to the
// payer.
var known = []struct {
	network Network
	asset   Asset
}{
	{
		Network{8453, "base"},
		Asset{Symbol: "USDC", Address: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", Name: "USD Coin", Version: "2"},
	},
	{
		Network{84532, "base-sepolia"},
		Asset{Symbol: "USDC", Address: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", Name: "USDC", Version: "2"},
	},
}

// Settings configure a Seller. Empty ones default to the network's stablecoin, if it is known.
type Settings struct {
	// Network is a version 1 name or a CAIP-2 id of the namespace eip155.
	Network                        string
	Asset, AssetName, AssetVersion string
	PayTo                          string
}

var addressForm = regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)

// NewSeller validates the settings. It reports all faults at once, each with the setting's name.
func NewSeller(s Settings) (Seller, error) {
	var errs []error
	var out Seller
	for _, k := range known {
		if s.Network == k.network.Name || s.Network == k.network.CAIP2() {
			out.Network, out.Asset = k.network, k.asset
		}
	}
	if out.Network == (Network{}) {
		id, ok := strings.CutPrefix(s.Network, "eip155:")
		n, err := strconv.ParseUint(id, 10, 63)
		if !ok || err != nil || n == 0 || strconv.FormatUint(n, 10) != id {
			errs = append(errs, fmt.Errorf("X402_NETWORK: %q is neither base, base-sepolia nor eip155 with a chain's id, as eip155:8453", s.Network))
		}
		out.Network, out.Asset.Symbol = Network{ChainID: n}, "USDC"
	}
	if s.Asset != "" && !strings.EqualFold(s.Asset, out.Asset.Address) {
		// With another contract, none of the known stablecoin's settings apply.
		out.Asset = Asset{Symbol: out.Asset.Symbol, Address: s.Asset}
	}
	if s.AssetName != "" {
		out.Asset.Name = s.AssetName
	}
	if s.AssetVersion != "" {
		out.Asset.Version = s.AssetVersion
	}
	for _, m := range []struct{ setting, value, what string }{
		{"X402_ASSET", out.Asset.Address, "the token's contract"},
		{"X402_ASSET_NAME", out.Asset.Name, "the name in the token's EIP-712 domain"},
		{"X402_ASSET_VERSION", out.Asset.Version, "the version in the token's EIP-712 domain"},
	} {
		if m.value == "" && out.Network.ChainID != 0 {
			errs = append(errs, fmt.Errorf("%s: %s is not known for %s, set it", m.setting, m.what, out.Network.CAIP2()))
		}
	}
	if out.Asset.Address != "" && !addressForm.MatchString(out.Asset.Address) {
		errs = append(errs, fmt.Errorf("X402_ASSET: %q is not an address (0x and 40 hex digits)", out.Asset.Address))
	}
	if !addressForm.MatchString(s.PayTo) {
		errs = append(errs, fmt.Errorf("X402_PAY_TO: %q is not an address (0x and 40 hex digits)", s.PayTo))
	}
	out.PayTo = s.PayTo
	if err := errors.Join(errs...); err != nil {
		return Seller{}, err
	}
	return out, nil
}
