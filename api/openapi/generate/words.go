package generate

import (
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"tidemark/accounts"
	"tidemark/api/view"
	"tidemark/internal/postgres"
	"tidemark/internal/pushes"
	"tidemark/picks"
	"tidemark/signals"
	signalchanges "tidemark/signals/changes"
	"tidemark/signals/forecast"
)

// renamed are the types whose Go name is not clear outside their package.
var renamed = map[string]string{
	"pushes.Notice":         "WebhookMessage",
	"pushes.Change":         "PushedChange",
	"pushes.SignalChange":   "PushedSignal",
	"pushes.PickChange":     "PushedPick",
	"pushes.EventChange":    "PushedEvent",
	"pushes.EventNotice":    "PushedEventNotice",
	"pushes.IssuedForecast": "PushedForecast",
	"pushes.GradedForecast": "PushedGrade",
	"postgres.Period":       "BacktestPeriod",
	"x402.Demand":           "PaymentRequired",
	"x402.requirementV1":    "PaymentRequirement",
	"x402.domain":           "TokenDomain",
	"view.Country":          "CountryWeight",
	"view.Sector":           "SectorWeight",
	"view.Region":           "RegionWeight",
	"view.Place":            "DatasetPlace",
	"view.Property":         "DatasetProperty",
	"view.Organization":     "DatasetOrganization",
	"view.DataCatalog":      "DatasetCatalog",
	"view.DataDownload":     "DatasetDownload",
	"view.CreativeWork":     "DatasetProof",
	"view.Meta":             "HistoryMeta",
	"view.FreePlan":         "FreePlanTerms",
	"view.ProPlan":          "ProPlanTerms",
	"view.Fact":             "ResearchFact",
	"view.Component":        "SignalComponent",
	"view.Period":           "DigestPeriod",
	"view.Contribution":     "PortfolioContribution",
	"view.Info":             "ServiceInfo",
	"view.Vintages":         "SignalVintages",
	"view.Changes":          "SignalChanges",
	"view.Forecasts":        "SignalForecasts",
	"view.Scorecards":       "SignalScorecards",
	"view.Scorecard":        "ForecastScorecard",
	"view.Scores":           "ForecastScores",
	"view.Coverage":         "ForecastCoverage",
	"view.Vintage":          "SignalVintage",
	"view.Evidence":         "SignalEvidence",
	"view.Inputs":           "SignalInputs",
	"view.X402InfoBody":     "X402InfoAnswer",
	"view.Claim":            "PaymentClaim",
	"view.ClaimBody":        "PaymentClaimAnswer",
	"view.Quote":            "PaymentQuote",
	"view.QuoteBody":        "PaymentQuoteAnswer",
	"view.HistorySnapshot":  "PortfolioSnapshot",
	"view.AccountUsageRows": "UsageList",
	"pushes.Rule":           "AlertRule",
}

// What a type does not show about a member: its format, or its few possible values. The keys are member names, or Schema.member if a member
// with the same name in another schema is different.
var (
	dates = []string{"date", "entry_date", "exit_date", "inception_date", "head_date", "first_picked_on", "Portfolio.as_of", "DigestPeriod.from", "DigestPeriod.to", "UsageMeta.from", "UsageMeta.to", "RecordSeals.since", "RiskReport.filed", "RiskReport.period"}
	links = []string{
		"page_url", "proof_url", "reveal_proof_url", "timestamp_url", "ics_url", "brief_url", "machine_url", "source_url", "history_url", "docs_url", "top_up_url", "x402_url", "explorer_url", "how_to_verify",
		"Problem.type", "output_schema_ref", "facilitator", "PickLinks.research", "PickLinks.verify", "PickLinks.page", "StockLinks.research",
		"contentUrl", "InfoLinks.openapi", "InfoLinks.mcp", "InfoLinks.x402", "InfoLinks.signals", "InfoLinks.llms", "InfoLinks.status",
		"InfoLinks.terms", "InfoLinks.verify", "claim_url", "ProvenanceInput.url", "Provenance.url", "EvidenceBody.url", "InputBody.url", "raw_url", "SourceDocument.url", "RiskReport.url", "PickGit.url", "Dataset.url", "Dataset.@id", "Dataset.license",
	}
	hashes    = []string{"hash", "previous_hash", "inputs_hash", "merkle_root", "head_hash", "genesis_hash", "recomputed_hash", "commitment", "sha256", "content_sha256"}
	addresses = []string{"attester", "contract", "pay_to", "token_address", "PaymentClaim.from", "PaymentClaim.to", "X402Asset.address", "PaymentRequirement.asset", "PaymentRequirement.payTo"}
	words32   = []string{"uid", "schema_uid", "tx_hash"}
	checks    = []any{view.CheckOK, view.CheckPending, view.CheckFailed, view.CheckLocalOnly, view.CheckNone}
	attested  = []any{postgres.AttestationPending, postgres.AttestationSubmitted, postgres.AttestationConfirmed, postgres.AttestationFailed}
	values    = map[string][]any{
		"SignalCatalogEntry.status":  {signals.StatusLive, signals.StatusDecayed, signals.StatusDeprecated},
		"SignalSnapshot.status":      {signals.StatusLive, signals.StatusDecayed, signals.StatusDeprecated},
		"ChangePart.kind":            {string(signalchanges.NewObservation), string(signalchanges.Revision), string(signalchanges.Window), string(signalchanges.BaselineWindow), string(signalchanges.Code)},
		"EvidenceStep.name":          {"value", "baseline", "scale", "z_score", "delta_vs_baseline_pct"},
		"Backtest.wins":              {signals.WinsSignal, signals.WinsRule, signals.WinsSource, signals.WinsNeither},
		"Backtest.look_ahead_reason": {signals.LookAheadRecorded, signals.LookAheadUnrevised, signals.LookAheadUnwatched, signals.LookAheadRevised, signals.LookAheadFound},
		"ForecastSkill.wins":         {"signal", "source"},
		"Freshness.state":            {view.Fresh, view.Stale, view.Unknown},
		"environment":                {"live", "demo"},
		"bounds":                     list(signals.IntervalBounds()),
		"basis":                      list(signals.IntervalBases()),
		"uncertainty_bounds":         list(signals.IntervalBounds()),
		"uncertainty_basis":          list(signals.IntervalBases()),
		"Forecast.label":             {forecast.LabelSkill, forecast.LabelProvisional, forecast.LabelNoSkill},
		"ForecastScorecard.label":    {forecast.LabelSkill, forecast.LabelProvisional, forecast.LabelNoSkill},
		"Pick.status":                {view.StatusOpen, view.StatusClosed},
		"Position.status":            {view.StatusOpen, view.StatusClosed},
		"attestation_status":         attested,
		"PickAttested.status":        attested,
		"NewestAttestation.status":   attested,
		"RecordChecks.hashes":        checks,
		"RecordChecks.links":         checks,
		"RecordChecks.git":           checks,
		"RecordChecks.attestations":  checks,
		"RecordChecks.business_days": checks,
		"RecordChecks.seals":         checks,
		"PickChecks.hash":            checks,
		"PickChecks.previous":        checks,
		"PickChecks.next":            checks,
		"PickChecks.git":             checks,
		"PickChecks.attestation":     checks,
		"PickChecks.seal":            checks,
		"MethodVersion.status":       {postgres.MethodTried, postgres.MethodAdopted, postgres.MethodDropped},
		"PickSeal.fault":             {view.SealMissing, view.SealLate, view.SealWrong, view.SealDoubled, view.SealAbsent},
		"Event.type": {
			picks.PickAnnounced, picks.PickClosed, picks.PriceMove, picks.Earnings, picks.DividendPaid, picks.SharesSplit, picks.Rating,
			picks.FilingMade, picks.News, picks.SignalChange,
		},
		"PaymentClaim.status":   {"verified", accounts.ClaimPending, accounts.ClaimRejected, accounts.ClaimExpired, accounts.ClaimRevoked},
		"AlertRule.on":          list(pushes.Kinds),
		"AlertRule.kind":        {"issued", "graded"},
		"AlertRule.to":          {signals.StatusLive, signals.StatusDecayed, signals.StatusDeprecated},
		"RiskFactors.state":     {string(picks.RisksCompared), string(picks.RisksUnlike), string(picks.RisksNotRead)},
		"RiskReport.section":    list(view.RiskSections()),
		"Alert.status":          {"active", "failing", "disabled"},
		"Alert.disabled_reason": {"gone", "unreachable"},
		"AlertDelivery.state":   {"pending", "delivered", "failed", "given_up"},
		"hash_rule":             {"ticker|price|date|previous_hash"},
		"algorithm":             {"SHA-256"},
	}
)

// constrain adds to a member's schema what its type does not show.
func constrain(p *jsonschema.Schema, schema, member string) {
	is := func(of []string) bool { return slices.Contains(of, member) || slices.Contains(of, schema+"."+member) }
	of := values[schema+"."+member]
	if of == nil {
		of = values[member]
	}
	switch {
	case of != nil:
		p.Enum = slices.Clone(of)
		if slices.Contains(p.Types, "null") {
			p.Enum = append(p.Enum, nil)
		}
	case p.Type == "" && !slices.Contains(p.Types, "string") && p.Items == nil:
	case is(dates):
		p.Format = "date"
	case is(links):
		p.Format = "uri"
	case is(hashes):
		p.Pattern = "^[0-9a-f]{64}$"
	case is(addresses):
		p.Pattern = "^0x[0-9a-fA-F]{40}$"
	case is(words32):
		p.Pattern = "^0x[0-9a-fA-F]{64}$"
	case member == "severity":
		p.Minimum, p.Maximum = new(1.0), new(5.0)
	case schema == "Problem" && member == "code":
		for _, k := range view.ProblemKinds() {
			p.Enum = append(p.Enum, k.Code)
		}
	}
	if strings.HasPrefix(p.Pattern, "^0x") && p.Description == "" {
		p.Description = "In hexadecimal, with 0x before it."
	}
}
