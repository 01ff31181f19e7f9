package endpoint

import (
	"context"

	"tidemark/accounts"
	"tidemark/api/view"
	"tidemark/internal/locale/languages"
)

// page is a list as JSON. feed is a list that clients follow.
type (
	page[T any] = view.List[T, view.Pagination]
	feed[T any] = view.List[T, view.FeedPagination]
)

// price returns an endpoint with a price that the interface fixes, in micro-dollars. free means that the Free plan has a view of it.
func price(path string, micros accounts.Micros, free bool) accounts.Endpoint {
	return accounts.Endpoint{Path: path, Price: micros, OnFreePlan: free, Fixed: true}
}

// open returns an endpoint whose price the operator sets.
func open(path string) accounts.Endpoint { return accounts.Endpoint{Path: path} }

const free = true

// list returns the declarations, in the order of the interface's price table.
func list() []Endpoint {
	basic := body[page[view.BasicStock]]("BasicStockList")
	return []Endpoint{
		{
			Endpoint: price("/picks", 5_000, free), ID: "listPicks", Summary: "List the stock picks",
			Description: "All announced picks with their returns, newest first. On the Free plan the latest three.",
			Result:      "A page of the picks.", Params: Dates | Company | Status | Lang | Paged, Body: body[page[view.Pick]]("PickList"),
			List: (*view.PublicationsState).Picks, File: "picks", Sold: "All stock picks with their returns",
		},
		{
			Endpoint: price("/picks/latest", 1_000, free), ID: "getLatestPick", Summary: "Get the latest pick",
			Description: "The newest announced pick.",
			Result:      "The newest pick.", Params: Lang, Body: body[view.One[view.Pick]]("PickLatest"),
			One:    func(st *view.PublicationsState, i Item) (*view.Document, error) { return st.LatestPick(i.Lang) },
			Absent: "No pick has been announced yet.", AbsentCode: view.CodeNotFound, Sold: "The latest stock pick",
		},
		{
			Endpoint: price("/picks/early", 250_000, !free), ID: "getEarlyPick", Summary: "Get the pick that waits for its announcement",
			Description: "Today's sealed pick before its announcement, with the opening of its seal: check that it is the commitment that the witnesses of the log have cosigned. It is available only if the operator allows it (`PICKS_EARLY`; `log.picks_early` of /api/v1/info says so), from the cosignatures until the announcement. A trial balance does not pay for it.",
			Result:      "The pick and the opening of its seal.", Body: body[view.One[view.EarlyPick]]("EarlyPickReport"), Early: true,
			Live: func(ctx context.Context, st *view.PublicationsState, _ Item) (*view.Document, error) {
				return st.EarlyPick(ctx)
			},
			Absent: "No sealed pick that the witnesses have cosigned waits for its announcement.", AbsentCode: view.CodeNotFound,
			Sold: "The sealed stock pick before its announcement",
		},
		{
			Endpoint: price("/research/{ticker}", 10_000, !free), ID: "getResearch", Summary: "Get the research about a company",
			Description: "What was written about the company, in " + languages.Named("or") + ", with every number that the texts name and the filing that it is from.",
			Result:      "The research about a company.", Params: Ticker | Lang, Body: body[view.One[view.Research]]("ResearchReport"),
			One:    func(st *view.PublicationsState, i Item) (*view.Document, error) { return st.Research(i.Ticker, i.Lang) },
			Absent: "No research about a company with this ticker. /api/v1/stocks lists the companies with research.", AbsentCode: view.CodeUnknownTicker,
			Sold: "Full research report on one stock",
		},
		{
			Endpoint: price("/portfolio", 2_000, free), ID: "getPortfolio", Summary: "Get the summary of the model portfolio",
			Description: "Returns against the benchmark, risk, best and worst positions, at the close of the last session. Percentages only.",
			Result:      "The summary of the portfolio.", Params: Lang, Body: body[view.One[view.Portfolio]]("PortfolioSummary"),
			One:    func(st *view.PublicationsState, _ Item) (*view.Document, error) { return st.Portfolio() },
			Absent: "There is no portfolio yet: the first pick is bought at the close after its announcement.", AbsentCode: view.CodeNotFound,
			Sold: "Summary of the model portfolio",
		},
		{
			Endpoint: price("/portfolio/positions", 3_000, !free), ID: "listPositions", Summary: "List the positions of the model portfolio",
			Description: "The open positions, the heaviest first, then the closed ones, the last bought first.",
			Result:      "A page of the positions.", Params: Dates | Company | Status | Paged, Body: body[page[view.Position]]("PositionList"),
			List: (*view.PublicationsState).Positions, File: "positions", Sold: "All positions of the model portfolio",
		},
		{
			Endpoint: price("/portfolio/history", 5_000, !free), ID: "listPortfolioHistory", Summary: "Get the daily history of the model portfolio",
			Description: "One snapshot a session since the inception, oldest first; all of them in one answer unless `limit` asks for pages.",
			Result:      "The history.", Params: Dates | Whole, Body: body[page[view.HistorySnapshot]]("PortfolioHistory"),
			List: (*view.PublicationsState).History, File: "portfolio-history", Sold: "Daily performance of the model portfolio",
		},
		{
			Endpoint: price("/sectors", 1_000, !free), ID: "listSectors", Summary: "Get the model portfolio by sector",
			Description: "The weight and return of each sector, and the cash. The weights add up to 100.",
			Result:      "The sectors.", Params: Company | Paged, Body: body[page[view.Sector]]("SectorList"),
			List: (*view.PublicationsState).Sectors, File: "sectors", Sold: "The model portfolio by sector",
		},
		{
			Endpoint: price("/regions", 1_000, !free), ID: "listRegions", Summary: "Get the model portfolio by region",
			Description: "The weight and return of each region and of its countries, and the cash. The weights add up to 100.",
			Result:      "The regions.", Params: Company | Paged, Body: body[page[view.Region]]("RegionList"),
			List: (*view.PublicationsState).Regions, File: "regions", Sold: "The model portfolio by region",
		},
		{
			Endpoint: price("/stocks", 5_000, free), ID: "listStocks", Summary: "List the researched stocks",
			Description: "Every company with research, by ticker. On the Free plan without the dates and languages of the research.",
			Result:      "A page of the stocks.", Params: Company | Picked | Paged, Body: body[page[view.Stock]]("StockList"), FreeBody: &basic,
			List: (*view.PublicationsState).Stocks, File: "stocks", Sold: "All researched stocks",
		},
		{
			Endpoint: open("/events"), ID: "listEvents", Summary: "Follow the events of the portfolio",
			Description: "What happened around the companies of the portfolio, newest first, with a severity from 1 to 5. To follow the feed and miss nothing, ask again with `after` set to the `newest_cursor` of the last answer.",
			Result:      "A page of the feed.", Params: Dates | Company | Severity | Feed | Lang | Paged, Body: body[feed[view.Event]]("EventList"),
			List: (*view.PublicationsState).Events, File: "events",
		},
		{
			Endpoint: open("/economic-events"), ID: "listEconomicEvents", Summary: "List the macro events",
			Description: "The first prints of macro figures, newest day first; of each day the most relevant comes first, with its analysis.",
			Result:      "A page of the events.", Params: Dates | Severity | Lang | Paged, Body: body[page[view.EconomicEvent]]("EconomicEventList"),
			List: (*view.PublicationsState).EconomicEvents, File: "economic-events",
		},
		{
			Endpoint: open("/digest/latest"), ID: "getLatestDigest", Summary: "Get the latest weekly digest",
			Description: "The events of the week, the return of the portfolio, the picks, macro events and the signals that stood far from their baselines.",
			Result:      "The digest of the newest week.", Params: Lang, Body: body[view.One[view.Digest]]("WeeklyDigest"),
			One:    func(st *view.PublicationsState, i Item) (*view.Document, error) { return st.LatestDigest(i.Lang) },
			Absent: "No week has a digest yet.", AbsentCode: view.CodeNotFound,
		},
	}
}
