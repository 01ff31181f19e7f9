package view

import (
	"fmt"
	"time"

	"tidemark/accounts"
	"tidemark/chain"
	"tidemark/picks"
)

// InfoOptions is the part of the service's description that does not follow from its data.
type InfoOptions struct {
	// Version and Commit identify the program. Commit may be empty.
	Version, Commit string
	Tariff          accounts.Tariff
	// PayTo is the account that receives transfers to a key. Token is the stablecoin's symbol, TokenAddress its contract, and Network the
	// CAIP-2 id of the chain. All are empty if transfers are not accepted.
	PayTo, Token, TokenAddress, Network string
}

// Info is the service's description of itself.
type Info struct {
	Service     string  `json:"service"`
	Environment string  `json:"environment"`
	Version     string  `json:"version"`
	APIVersion  string  `json:"api_version"`
	Commit      *string `json:"commit"`
	// Billing is how the service is paid for. Prices are US dollars per answer, by path below /api/v1; all are 0 under plans.
	Billing   Billing           `json:"billing"`
	Prices    map[string]string `json:"prices"`
	Languages []picks.Lang      `json:"languages"`
	Chain     InfoChain         `json:"chain"`
	// Log is the transparency log; null if the service has none.
	Log        *InfoLog  `json:"log"`
	Links      InfoLinks `json:"links"`
	Disclaimer string    `json:"disclaimer"`
}

// Billing is the model in force. What belongs to the other model is null.
type Billing struct {
	Model        accounts.Model `json:"model"`
	Currency     string         `json:"currency"`
	TrialBalance *string        `json:"trial_balance"`
	MinTopUp     *string        `json:"min_top_up"`
	Plans        *Plans         `json:"plans"`
	// PayTo is the account that receives transfers; null if transfers are not accepted. Network is a CAIP-2 id.
	PayTo        *string `json:"pay_to"`
	Token        *string `json:"token"`
	TokenAddress *string `json:"token_address"`
	Network      *string `json:"network"`
}

// Plans are the plans of the plan model.
type Plans struct {
	Free FreePlan `json:"free"`
	Pro  ProPlan  `json:"pro"`
}

// FreePlan is the plan without payment.
type FreePlan struct {
	RequestsPerDay int `json:"requests_per_day"`
	Picks          int `json:"picks"`
}

// ProPlan is the plan that a transfer buys.
type ProPlan struct {
	RequestsPerDay int     `json:"requests_per_day"`
	Price          string  `json:"price"`
	Days           int     `json:"days"`
	Token          *string `json:"token"`
}

// InfoChain is the state of the chain of picks and the rule of its hashes.
type InfoChain struct {
	Length int `json:"length"`
	// HeadHash is null before the first announced pick.
	HeadHash    *string `json:"head_hash"`
	Algorithm   string  `json:"algorithm"`
	Rule        string  `json:"rule"`
	GenesisHash string  `json:"genesis_hash"`
	// Attestation and Git are the two outside records of the chain; null where their jobs have not run yet.
	Attestation *InfoAttestation `json:"attestation"`
	Git         *InfoGit         `json:"git"`
}

// InfoAttestation says where the chain is attested and who attests it.
type InfoAttestation struct {
	// Network is a CAIP-2 id.
	Network string `json:"network"`
	// Contract, SchemaUID and Attester are null if they are not configured.
	Contract  *string `json:"contract"`
	SchemaUID *string `json:"schema_uid"`
	Attester  *string `json:"attester"`
	// Status is "off" if no key or no node is configured: then attestations stay pending.
	Status string `json:"status"`
}

// InfoGit says where the git ledger is.
type InfoGit struct {
	// Repository is null while the ledger is nowhere but here; Status is "local" then.
	Repository *string `json:"repository"`
	Branch     string  `json:"branch"`
	Status     string  `json:"status"`
}

// InfoLog is the service's transparency log and its state, as the server last read it.
type InfoLog struct {
	// URL is the base of the log's files, which are those of C2SP tlog-tiles: checkpoint, checkpoint.witnessed, tile/LEVEL/N,
	// tile/entries/N, leaf/INDEX, proof/INDEX.tlog-proof. The log of archived bodies has the same files below sources/.
	URL    string `json:"url"`
	Origin string `json:"origin"`
	// VKey is the key that signs, in the form of signed notes.
	VKey string `json:"vkey"`
	Size int64  `json:"size"`
	// Root is in base64.
	Root string `json:"root"`
	// Witnesses are the operator's choice of witnesses that cosign. Readers decide whom to trust.
	Witnesses []InfoWitness `json:"witnesses"`
	// PicksEarly reports that readers who pay see a sealed pick before its announcement.
	PicksEarly bool `json:"picks_early"`
}

// InfoWitness is a witness of the log.
type InfoWitness struct {
	Name string `json:"name"`
	VKey string `json:"vkey"`
}

// InfoLinks lead on.
type InfoLinks struct {
	OpenAPI string `json:"openapi"`
	MCP     string `json:"mcp"`
	X402    string `json:"x402"`
	Signals string `json:"signals"`
	LLMs    string `json:"llms"`
	Status  string `json:"status"`
	Terms   string `json:"terms"`
	Verify  string `json:"verify"`
}

// Info returns the service's description of itself. log may be nil. Its URL is set here.
func (st *PublicationsState) Info(log *InfoLog) (*Document, error) {
	key := "info"
	if log != nil {
		key = fmt.Sprintf("info %d %d %t", log.Size, len(log.Witnesses), log.PicksEarly)
	}
	doc, _, err := st.answers.getOrBuild(key, func() (*Document, string, error) {
		base, o := st.o.PublicURL, st.o.Info
		if log != nil {
			log.URL = base + "/log"
		}
		info := Info{
			Service: "Tidemark", Environment: st.environment, Version: o.Version, APIVersion: "v1", Commit: stated(o.Commit),
			Log: log, Billing: o.billing(), Prices: map[string]string{}, Languages: picks.Langs(), Disclaimer: st.disclaimer,
			Chain: InfoChain{Length: len(st.picks), Algorithm: "SHA-256", Rule: chain.Rule, GenesisHash: chain.Genesis},
			Links: InfoLinks{
				OpenAPI: base + "/openapi.json", MCP: base + "/api/mcp", X402: base + "/api/v1/x402/info", Signals: base + "/api/signals",
				LLMs: base + "/llms.txt", Status: base + "/status", Terms: base + "/terms", Verify: base + "/api/v1/verify/picks",
			},
		}
		if a := st.attester; a != nil {
			info.Chain.Attestation = &InfoAttestation{
				fmt.Sprintf("eip155:%d", a.ChainID), stated(a.Contract), stated(a.SchemaUID), stated(a.Attester.Attester), a.Status,
			}
		}
		if l := st.ledger; l != nil {
			info.Chain.Git = &InfoGit{stated(l.Repository), l.Branch, l.Status}
		}
		for _, e := range o.Tariff.Endpoints() {
			info.Prices[e.Path] = e.Price.Shortest()
			if o.Tariff.Model != accounts.ModelBalance {
				info.Prices[e.Path] = "0"
			}
		}
		var known time.Time
		if n := len(st.picks); n > 0 {
			info.Chain.HeadHash, known = &st.picks[n-1].Hash, *st.picks[n-1].AnnouncedAt
		}
		meta, modified := st.meta(known)
		doc, err := one(info, meta, modified)
		return doc, "", err
	})
	return doc, err
}

func (o InfoOptions) billing() Billing {
	b := Billing{
		Model: o.Tariff.Model, Currency: "USD", PayTo: stated(o.PayTo), Token: stated(o.Token), TokenAddress: stated(o.TokenAddress),
		Network: stated(o.Network),
	}
	if o.Tariff.Model == accounts.ModelPlan {
		b.Plans = &Plans{
			FreePlan{accounts.PlanFree.Quota(), accounts.FreePicks},
			ProPlan{accounts.PlanPro.Quota(), accounts.ProPrice.Shortest(), accounts.ProDays, stated(o.Token)},
		}
		return b
	}
	trial, least := accounts.Trial.String(), accounts.MinTopUp.Shortest()
	b.TrialBalance, b.MinTopUp = &trial, &least
	return b
}
