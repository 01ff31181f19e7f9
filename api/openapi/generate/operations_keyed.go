package generate

import (
	"net/http"
	"slices"

	"tidemark/api/view"
)

// page is a list as JSON.
type page[T any] = view.List[T, view.Pagination]

// feed is a list that is followed.
type feed[T any] = view.List[T, view.FeedPagination]

// dataEndpoints are those of the table of prices.
func dataEndpoints() []endpoint {
	company := []string{"ticker", "sector", "region"}
	days := []string{"from_date", "to_date"}
	rows := []string{"limit", "cursor", "format"}
	takes := func(groups ...[]string) []string {
		var all []string
		for _, g := range groups {
			all = append(all, g...)
		}
		return all
	}
	all := []endpoint{
		{
			id: "listPicks", price: "/picks", summary: "List the stock picks",
			description: "All announced picks with what became of them, newest first. On the Free plan the latest three.",
			takes:       takes(days, company, []string{"status", "lang"}, rows), answers: table("A page of the picks.", body[page[view.Pick]]("PickList")),
		},
		{
			id: "getLatestPick", price: "/picks/latest", summary: "Get the latest pick",
			description: "The newest announced pick.",
			takes:       []string{"lang"}, answers: single("The newest pick.", body[view.One[view.Pick]]("PickLatest")), codes: []string{view.CodeNotFound},
		},
		{
			id: "getResearch", price: "/research/{ticker}", summary: "Get the research about a company",
			description: "What was written about the company, in Spanish, English, Portuguese or Hindi, with every number that the texts name and the filing that it is from.",
			takes:       []string{"ticker_path", "lang"}, answers: single("The research about a company.", body[view.One[view.Research]]("ResearchReport")),
			codes: []string{view.CodeUnknownTicker},
		},
		{
			id: "getPortfolio", price: "/portfolio", summary: "Get the summary of the model portfolio",
			description: "Returns against the benchmark, risk, best and worst positions, at the close of the last session. Percentages only.",
			takes:       []string{"lang"}, answers: single("The summary of the portfolio.", body[view.One[view.Portfolio]]("PortfolioSummary")), codes: []string{view.CodeNotFound},
		},
		{
			id: "listPositions", price: "/portfolio/positions", summary: "List the positions of the model portfolio",
			description: "The open positions, the heaviest first, then the closed ones, the last bought first.",
			takes:       takes(days, company, []string{"status"}, rows), answers: table("A page of the positions.", body[page[view.Position]]("PositionList")),
		},
		{
			id: "listPortfolioHistory", price: "/portfolio/history", summary: "Get the daily history of the model portfolio",
			description: "One snapshot a session since the inception, oldest first; all of them in one answer unless `limit` asks for pages.",
			takes:       takes(days, []string{"limit_whole", "cursor", "format"}), answers: table("The history.", body[page[view.HistorySnapshot]]("PortfolioHistory")),
		},
		{
			id: "listSectors", price: "/sectors", summary: "Get the model portfolio by sector",
			description: "The weight and return of each sector, and the cash. The weights add up to 100.",
			takes:       takes(company, rows), answers: table("The sectors.", body[page[view.Sector]]("SectorList")),
		},
		{
			id: "listRegions", price: "/regions", summary: "Get the model portfolio by region",
			description: "The weight and return of each region and of its countries, and the cash. The weights add up to 100.",
			takes:       takes(company, rows), answers: table("The regions.", body[page[view.Region]]("RegionList")),
		},
		{
			id: "listStocks", price: "/stocks", summary: "List the researched stocks",
			description: "Every company that research was written about, by ticker. On the Free plan without the dates and languages of the research.",
			takes:       takes(company, []string{"picked"}, rows),
			answers:     table("A page of the stocks.", body[page[view.Stock]]("StockList"), body[page[view.BasicStock]]("BasicStockList")),
		},
		{
			id: "listEvents", price: "/events", summary: "Follow the events of the portfolio",
			description: "What happened around the companies of the portfolio, newest first, with a severity from 1 to 5. To follow the feed and miss nothing, ask again with `after` set to the `newest_cursor` of the last answer.",
			takes:       takes(days, company, []string{"min_severity", "since", "after", "lang"}, rows), answers: table("A page of the feed.", body[feed[view.Event]]("EventList")),
		},
		{
			id: "listEconomicEvents", price: "/economic-events", summary: "List the macro events",
			description: "The first prints of macro figures, newest day first; of each day the most relevant comes first, with its analysis.",
			takes:       takes(days, []string{"min_severity", "lang"}, rows), answers: table("A page of the events.", body[page[view.EconomicEvent]]("EconomicEventList")),
		},
		{
			id: "getLatestDigest", price: "/digest/latest", summary: "Get the latest weekly digest",
			description: "The events of the week, what it did to the portfolio, its picks, macro events and the signals that stood far from their baselines.",
			takes:       []string{"lang"}, answers: single("The digest of the newest week.", body[view.One[view.Digest]]("WeeklyDigest")), codes: []string{view.CodeNotFound},
		},
	}
	for i := range all {
		e := &all[i]
		e.method, e.path, e.tag, e.access = http.MethodGet, "/api/v1"+e.price, "Picks", keyed
		if slices.Contains(e.takes, "format") {
			e.codes = append(e.codes, view.CodeInvalidParameter, view.CodeInvalidCursor)
		}
		if slices.Contains(e.takes, "lang") {
			e.codes = append(e.codes, view.CodeInvalidLang)
		}
		e.codes = append(append(e.codes, withData...), reads...)
		e.takes = append(e.takes, "idempotency_key")
	}
	return all
}

func table(description string, of ...shape) []answer {
	return []answer{{status: http.StatusOK, description: description, body: of, table: true, headers: append([]string{"Link"}, charged...)}, unchanged}
}

func single(description string, of ...shape) []answer {
	return []answer{ok(description, charged, of...), unchanged}
}

// RegistrationRequest is the body of a registration.
type RegistrationRequest struct {
	// Name is what the holder calls the key: 1 to 100 characters, none of them a control character.
	Name string `json:"name"`
}

// RotationRequest is the body of a rotation.
type RotationRequest struct {
	// GraceSeconds is how long the old text goes on to open; 0 where it is left out.
	GraceSeconds int64 `json:"grace_seconds,omitempty"`
}

func accountEndpoints() []endpoint {
	return []endpoint{
		{
			id: "registerKey", method: http.MethodPost, path: "/api/v1/auth/register", tag: "Account",
			summary:     "Register a free API key",
			description: "Makes a key and shows it once. In the balance model it starts with a trial balance of 0.20 USD. A repetition with the same Idempotency-Key makes no second key for a day: it is answered with 409, and never with the text of the key.",
			takes:       []string{"idempotency_key"},
			request:     &content{body: body[RegistrationRequest](""), description: "The name of the key.", example: RegistrationRequest{Name: "my-agent"}},
			answers:     []answer{{status: http.StatusCreated, description: "The key.", body: []shape{body[view.Registered]("")}, headers: []string{"Cache-Control", "RateLimit-Policy", "RateLimit", "X-Request-Id"}}},
			codes:       append([]string{view.CodeAlreadyRegistered}, changes...),
		},
		{
			id: "getAccount", method: http.MethodGet, path: "/api/v1/account", tag: "Account", access: keyed,
			summary:     "See how the key stands",
			description: "Its balance or plan, and what it used today and this month (UTC). Free of charge.",
			answers:     []answer{ok("The account.", limited, body[view.Account]("")), unchanged},
			codes:       append(withKey, reads...),
		},
		{
			id: "getUsage", method: http.MethodGet, path: "/api/v1/account/usage", tag: "Account", access: keyed,
			summary:     "See what the key used",
			description: "Requests and costs by UTC day and endpoint, of the last 30 days unless a range is asked for. Free of charge.",
			takes:       []string{"from_instant", "to_instant"},
			answers:     []answer{ok("The usage.", limited, body[view.AccountUsageRows]("")), unchanged},
			codes:       append(append([]string{view.CodeInvalidParameter}, withKey...), reads...),
		},
		{
			id: "rotateKey", method: http.MethodPost, path: "/api/v1/keys/rotate", tag: "Account", access: keyed,
			summary:     "Give the key another text",
			description: "The key stays the same with its balance and history; its text is replaced and shown once. The old text ends at once, or after `grace_seconds`; until then it only reads. A lost answer can be fetched again with the same Idempotency-Key until the old text ends.",
			takes:       []string{"idempotency_key"},
			request:     &content{body: body[RotationRequest](""), description: "How long the old text goes on. May be left out.", example: RotationRequest{GraceSeconds: 60}, optional: true},
			answers:     []answer{ok("The new text.", []string{"Cache-Control", "X-Request-Id"}, body[view.Rotated](""))},
			codes:       append(append([]string{}, withKey...), changes...),
		},
		{
			id: "revokeKey", method: http.MethodDelete, path: "/api/v1/keys/current", tag: "Account", access: keyed,
			summary:     "End the key",
			description: "The key ends, at once and for ever. Its balance can be moved to another key by the operator.",
			answers:     []answer{{status: http.StatusNoContent, description: "It has ended.", headers: []string{"X-Request-Id"}}},
			codes:       append(append([]string{}, withKey...), always...),
		},
	}
}
