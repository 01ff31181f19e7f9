// Package x402 is the resource server's half of the x402 payment protocol, for the scheme "exact" on EVM networks: what a 402 answer
// asks for, reading what a client sends with its next request, judging it before anyone else is asked, and the client of the
// facilitator that verifies and settles. Versions 1 and 2 of the protocol are served from one set of addresses. Everything but Client
// is pure. Start at Offer, then read Check.
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

// scheme is the only one that is served: exactly the price, by a signed authorization of the token (EIP-3009).
const scheme = "exact"

// maxTimeout is how long an authorization may be good for: what a client is told as maxTimeoutSeconds. A settlement that takes longer
// than this can no longer succeed.
const maxTimeout = 60 * time.Second

// Network is an EVM network under both of its names.
type Network struct {
	ChainID uint64
	// Name is what version 1 calls it; empty where version 1 has no name, so that only version 2 can be served.
	Name string
}

// CAIP2 is what version 2 calls the network.
func (n Network) CAIP2() string { return "eip155:" + strconv.FormatUint(n.ChainID, 10) }

// Named returns the network's name in a version of the protocol.
func (n Network) Named(version int) string {
	if version == V1 {
		return n.Name
	}
	return n.CAIP2()
}

// Asset is the token that is paid in: an ERC-20 contract with EIP-3009 and 6 decimals, so that its atomic unit is a micro-dollar.
type Asset struct {
	Symbol, Address string
	// Name and Version are those of the contract's EIP-712 domain, which payers sign.
	Name, Version string
}

// Key is the address as it is stored and compared.
func (a Asset) Key() string { return strings.ToLower(a.Address) }

// Decimals is the number of decimals of every asset here.
const Decimals = 6

// Seller is who is paid, in what, and where.
type Seller struct {
	Network Network
	Asset   Asset
	// PayTo is the account that is paid.
	PayTo string
}

// known are the networks whose stablecoin is known. The names in the domains differ from each other: a copied one makes signatures
// that recover to nobody.
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

// Settings are the settings that make a Seller. Empty ones take the network's stablecoin where it is known.
type Settings struct {
	// Network is a name of version 1 or a CAIP-2 id of the namespace eip155.
	Network                        string
	Asset, AssetName, AssetVersion string
	PayTo                          string
}

var addressForm = regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)

// NewSeller checks the settings. It reports every fault at once, each with the setting's name.
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
		// Another contract than the known one: nothing of the known one holds for it.
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
		errs = append(errs, fmt.Errorf("X402_ASSET: %q is no address (0x and 40 hex digits)", out.Asset.Address))
	}
	if !addressForm.MatchString(s.PayTo) {
		errs = append(errs, fmt.Errorf("X402_PAY_TO: %q is no address (0x and 40 hex digits)", s.PayTo))
	}
	out.PayTo = s.PayTo
	if err := errors.Join(errs...); err != nil {
		return Seller{}, err
	}
	return out, nil
}
