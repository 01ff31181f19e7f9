package generate

import (
	"net/http"
	"reflect"
	"slices"

	"tidemark/accounts/x402"
	"tidemark/api/endpoint"
	"tidemark/api/view"
)

// route is one operation of the service: its purpose, parameters and all possible responses.
type route struct {
	id, method string
	// path is the address in the document of the whole service. alone is the address in the document of the Signals API, empty if that
	// document does not contain it.
	path, alone          string
	tag                  string
	summary, description string
	access               access
	// price is the path in the price table, empty if the operation is always free.
	price string
	// takes are the names of the parameters.
	takes   []string
	request *content
	answers []answer
	// codes are the codes of the possible problems.
	codes []string
	// example is the name of the recorded response. Empty means the id.
	example string
}

type access int

const (
	public access = iota
	keyed
	paid
)

// content is a body.
type content struct {
	body        shape
	description string
	example     any
	optional    bool
}

// answer is a possible response of an endpoint, except for problems.
type answer struct {
	status      int
	description string
	// body are the Go types of the JSON body. Several types mean one of them. No type means no JSON body.
	body []shape
	// table reports that the rows are also available as CSV and as newline-delimited JSON. markdown reports that the body is text.
	table, markdown bool
	// events reports that the same content is also available as an event stream.
	events bool
	// mediaType is the type of a text that no other field covers, and sample is an example of it. Both are empty without such a text.
	mediaType, sample string
	// headers are the names of header fields.
	headers []string
	// example is the name of the recorded response. If it is empty, it is the name of the endpoint, plus the status if that is not the
	// usual one.
	example string
}

// shape is a type with the name of its schema. An empty name means the type's own.
type shape struct {
	name string
	of   reflect.Type
}

func body[T any](name string) shape { return shape{name, reflect.TypeFor[T]()} }

// Header fields of cacheable responses and of priced responses.
var (
	cached  = []string{"ETag", "Cache-Control", "Last-Modified", "X-Request-Id"}
	paging  = append([]string{"Link"}, cached...)
	limited = append([]string{"RateLimit-Policy", "RateLimit"}, cached...)
	charged = append([]string{"X-Request-Cost", "X-Balance-Remaining"}, limited...)
)

func ok(description string, headers []string, of ...shape) answer {
	return answer{status: http.StatusOK, description: description, body: of, headers: headers}
}

// unchanged is the response to a client that already has the newest version.
var unchanged = answer{status: http.StatusNotModified, description: "The client has this already: its If-None-Match names the ETag. Nothing is charged.", headers: []string{"ETag", "Cache-Control", "X-Request-Id"}}

// always are the problems that every address can return.
var always = []string{view.CodeMethodNotAllowed, view.CodeInternalError}

// The problems of operations that read, that require a key, that change something, and that serve priced data.
var (
	reads    = with(view.CodeNotAcceptable, view.CodeUnavailable)
	withKey  = []string{view.CodeMissingKey, view.CodeInvalidKey, view.CodeRevokedKey, view.CodeRateLimited, view.CodeUnavailable}
	changes  = with(view.CodeInvalidRequest, view.CodeInvalidParameter, view.CodeBodyTooLarge, view.CodeUnsupportedType, view.CodeIdempotencyReused, view.CodeRateLimited, view.CodeUnavailable)
	withData = append([]string{view.CodeInvalidRequest, view.CodeInsufficientBalance, view.CodePlanRequired, view.CodeQuotaExhausted}, withKey...)
)

func with(codes ...string) []string { return append(codes, always...) }

// tags are the parts of the service.
var tags = []tag{
	{"Signals", "Alternative-data signals from free public sources: the latest snapshot, the whole history, and each as it was known at any instant. No key."},
	{"Picks", "One stock pick a trading day, research, the model portfolio in percentages, events, the weekly digest. With a key; see Pay per request for the same without one."},
	{"Pay per request", "The same answers as the Picks API, each paid for separately with a stablecoin (x402). No key and no registration."},
	{"Verification", "The hash chain of all announced picks, and where its two outside records are. No key."},
	{"Changes", "Changes as they become known: a stream of events and a feed. No key."},
	{"Alerts", "Rules of a key that post changes to a webhook, signed. With a key, free of charge."},
	{"Account", "Keys: register one for free, see its usage, rotate it, revoke it."},
	{"Service", "What the service is, and whether it is up."},
	{"Agents", "The MCP server: picks, research, portfolio, the hash chain and the signals as tools, the signals also as resources. No key."},
}

// routes returns all operations in the order of the document.
func routes() []route {
	all := signalEndpoints()
	all = append(all, serviceEndpoints()...)
	all = append(all, accountEndpoints()...)
	all = append(all, paymentEndpoints()...)
	data := dataEndpoints()
	all = append(all, data...)
	all = append(all, verifyEndpoints()...)
	all = append(all, streamEndpoints()...)
	all = append(all, alertEndpoints()...)
	all = append(all, paidEndpoints(data)...)
	return append(all, agentEndpoints()...)
}

func signalEndpoints() []route {
	return []route{
		{
			id: "listSignals", method: http.MethodGet, path: "/api/signals", alone: "/", tag: "Signals",
			summary:     "List the live signals",
			description: "The catalog: every signal that is live, with its latest value, its license, and where its snapshot, page and brief are. A signal that is decayed or deprecated is not listed, but is still served at its id.",
			answers:     []answer{ok("The catalog.", cached, body[view.SignalCatalog]("")), unchanged},
			codes:       append([]string{view.CodeInvalidParameter}, reads...),
		},
		{
			id: "getSignal", method: http.MethodGet, path: "/api/signals/{id}", alone: "/{id}", tag: "Signals",
			summary:     "Get the latest snapshot of a signal",
			description: "The latest observation with its interval (what the interval bounds, whether it was measured or is assumed, and how often it held), baseline and z-score, how well the signal predicted its target, the bytes it was made from, and a JSON-LD description. With `as_of`, the snapshot as it was known at that instant.",
			takes:       []string{"id", "as_of"},
			answers:     []answer{ok("The snapshot.", cached, body[view.SignalSnapshot]("")), unchanged},
			codes:       append([]string{view.CodeInvalidParameter, view.CodeUnknownSignal, view.CodeNotFound, view.CodeRateLimited}, reads...),
		},
		{
			id: "getSignalBrief", method: http.MethodGet, path: "/api/signals/{id}/brief", alone: "/{id}/brief", tag: "Signals",
			summary:     "Read how a signal is made",
			description: "What the signal says, how it is computed, and where it fails, as Markdown.",
			takes:       []string{"id"},
			answers:     []answer{{status: http.StatusOK, description: "The brief.", markdown: true, headers: cached}, unchanged},
			codes:       append([]string{view.CodeInvalidParameter, view.CodeUnknownSignal}, reads...),
		},
		{
			id: "getSignalHistory", method: http.MethodGet, path: "/api/signals/{id}/history", alone: "/{id}/history", tag: "Signals",
			summary:     "Get the history of a signal",
			description: "All points, or those of a range, oldest first. With `as_of`, the history as it was known at that instant; with `vintages=all`, every version of every point. All of it comes in one answer unless `limit` asks for pages.",
			takes:       []string{"id", "from_instant", "to_instant", "as_of", "vintages", "order", "limit_whole", "cursor", "format"},
			answers:     []answer{{status: http.StatusOK, description: "The history.", body: []shape{body[view.SignalHistory]("")}, table: true, headers: paging}, unchanged},
			codes:       append([]string{view.CodeInvalidParameter, view.CodeInvalidCursor, view.CodeUnknownSignal, view.CodeRateLimited}, reads...),
		},
		{
			id: "listSignalVintages", method: http.MethodGet, path: "/api/signals/{id}/vintages", alone: "/{id}/vintages", tag: "Signals",
			summary:     "List when the history of a signal changed",
			description: "The instants at which points were added, revised or withdrawn, newest first. Each instant can be used as `as_of`.",
			takes:       []string{"id", "from_instant", "to_instant", "newest_first", "limit", "cursor"},
			answers:     []answer{ok("A page of the list.", paging, body[view.Vintages]("")), unchanged},
			codes:       append([]string{view.CodeInvalidParameter, view.CodeInvalidCursor, view.CodeUnknownSignal, view.CodeRateLimited}, reads...),
		},
		{
			id: "getSignalChanges", method: http.MethodGet, path: "/api/signals/{id}/changes", alone: "/{id}/changes", tag: "Signals",
			summary:     "Explain why a signal moved",
			description: "The difference of two snapshots in value, baseline and z-score, divided into parts that add up to it, except for rounding: what releases added, which old observations were revised, the windows that rolled on, and the code. The signal's own computation is run over inputs that grow from the first snapshot's to the second's, in the order in which they became known.",
			takes:       []string{"id", "from_snapshot", "to_snapshot", "lang"},
			answers:     []answer{ok("The parts.", cached, body[view.Changes]("")), unchanged},
			codes:       append([]string{view.CodeInvalidParameter, view.CodeInvalidLang, view.CodeUnknownSignal, view.CodeNotFound, view.CodeRateLimited}, reads...),
		},
		{
			id: "getSignalEvidence", method: http.MethodGet, path: "/api/signals/{id}/evidence", alone: "/{id}/evidence", tag: "Signals",
			summary:     "Trace a number to the bytes it rests on",
			description: "The formulas of a snapshot with the numbers filled in, each observation that its value, its baseline, its interval and its components rest on, and the archived bodies that contained them. `tidemark explain --url` downloads the bodies, hashes and parses them, and computes the numbers again. With `date`, the numbers of that day as they are known now: those of the snapshot that had them as its newest, or a point of the history if the day was never the newest or its numbers have changed since (`newest` is false). Without a number about the day it is the nearest earlier one: `other_day` says so, with the nearest later day. 404 means that no number is that old. With `as_of`, the snapshot of an instant; with both, the numbers of the day as the history had them at the instant.",
			takes:       []string{"id", "about", "as_of", "lang"},
			answers:     []answer{ok("The evidence.", cached, body[view.Evidence]("")), unchanged},
			codes:       append([]string{view.CodeInvalidParameter, view.CodeInvalidLang, view.CodeUnknownSignal, view.CodeNotFound, view.CodeRateLimited}, reads...),
		},
		{
			id: "listSignalInputs", method: http.MethodGet, path: "/api/signals/{id}/inputs", alone: "/{id}/inputs", tag: "Signals",
			summary:     "List every archived body that a signal rests on",
			description: "All bodies that brought a value of its inputs or of its backtest's target, in force or replaced since, and those by which a publisher withdrew one, oldest first: `uses` says what rests on each. With the root of their Merkle tree (RFC 6962, a leaf is the 32 bytes of a body's SHA-256). The provenance of a snapshot names the newest of them and carries the same root.",
			takes:       []string{"id", "as_of"},
			answers:     []answer{ok("The list.", cached, body[view.Inputs]("")), unchanged},
			codes:       append([]string{view.CodeInvalidParameter, view.CodeUnknownSignal, view.CodeNotFound, view.CodeRateLimited}, reads...),
		},
		{
			id: "listSignalForecasts", method: http.MethodGet, path: "/api/signals/{id}/forecasts", alone: "/{id}/forecasts", tag: "Signals",
			summary:     "List the forecasts of a signal's next figures",
			description: "Distributions of public figures before they are published, the newest first. Each is recorded in a hash chain before its print, never changed, and graded once on the first print.",
			takes:       []string{"id", "limit", "cursor", "format"},
			answers:     []answer{{status: http.StatusOK, description: "A page of the list.", body: []shape{body[view.Forecasts]("")}, table: true, headers: paging}, unchanged},
			codes:       append([]string{view.CodeInvalidParameter, view.CodeInvalidCursor, view.CodeUnknownSignal, view.CodeRateLimited}, reads...),
		},
		{
			id: "getSignalForecasts", method: http.MethodGet, path: "/api/signals/{id}/forecasts/{period}", alone: "/{id}/forecasts/{period}", tag: "Signals",
			summary:     "Get the forecasts of one period",
			description: "The forecast of each figure of the signal that is about a period, with its grade once the figure is published.",
			takes:       []string{"id", "period"},
			answers:     []answer{ok("The forecasts.", cached, body[view.Forecasts]("")), unchanged},
			codes:       append([]string{view.CodeInvalidParameter, view.CodeUnknownSignal, view.CodeNotFound, view.CodeRateLimited}, reads...),
		},
		{
			id: "getSignalScorecard", method: http.MethodGet, path: "/api/signals/{id}/scorecard", alone: "/{id}/scorecard", tag: "Signals",
			summary:     "Judge a signal's forecasts",
			description: "How good the forecasts were: their score (CRPS) against two naive forecasts that were recorded with them, how often their intervals held, and how even their probabilities were; over all grades and over the last 52.",
			takes:       []string{"id"},
			answers:     []answer{ok("The scorecards.", cached, body[view.Scorecards]("")), unchanged},
			codes:       append([]string{view.CodeInvalidParameter, view.CodeUnknownSignal, view.CodeNotFound, view.CodeRateLimited}, reads...),
		},
		{
			id: "getCalendar", method: http.MethodGet, path: "/api/calendar", tag: "Signals",
			summary:     "List the next releases",
			description: "The publications that are expected next, the earliest first: figures with a forecast that have no print yet, and for other signals the estimated day of the next value. `/calendar.ics` is the same for calendar programs.",
			answers:     []answer{ok("The list.", cached, body[view.Calendar]("")), unchanged},
			codes:       append([]string{view.CodeInvalidParameter, view.CodeRateLimited}, reads...),
		},
		{
			id: "compareSignals", method: http.MethodGet, path: "/api/compare", tag: "Signals",
			summary:     "Compare two signals",
			description: "The z-scores of two signals by weeks, or by months if one of them is monthly, with their correlation at a lag. The interval allows for the persistence of both: neighbouring values repeat each other, so many pairs count as few independent ones.",
			takes:       []string{"first", "second", "lag", "from_instant", "to_instant", "as_of", "lang"},
			answers:     []answer{ok("The comparison.", cached, body[view.Comparison]("")), unchanged},
			codes:       append([]string{view.CodeInvalidParameter, view.CodeInvalidLang, view.CodeRateLimited}, reads...),
		},
	}
}

func serviceEndpoints() []route {
	return []route{
		{
			id: "getInfo", method: http.MethodGet, path: "/api/v1/info", tag: "Service",
			summary:     "Discover the service",
			description: "What this is, the billing model in force and all prices, the languages, and where the hash chain stands.",
			answers:     []answer{ok("The description.", cached, body[view.One[view.Info]]("InfoAnswer")), unchanged},
			codes:       append([]string{view.CodeInvalidParameter}, reads...),
		},
		{
			id: "getHealth", method: http.MethodGet, path: "/healthz", tag: "Service",
			summary:     "Ask whether the process serves",
			description: "Returns 200 while the process serves requests.",
			answers:     []answer{ok("It serves.", []string{"X-Request-Id"}, body[view.Health](""))},
			codes:       always,
		},
		{
			id: "getReadiness", method: http.MethodGet, path: "/readyz", tag: "Service",
			summary:     "Ask whether there is something to serve",
			description: "Returns 200 once everything is loaded. It continues to do so while the database is unavailable and responses come from memory.",
			answers: []answer{
				ok("It is ready.", []string{"X-Request-Id"}, body[view.Health]("")),
				{status: http.StatusServiceUnavailable, description: "It is not ready: `missing` names what it waits for.", body: []shape{body[view.Health]("")}, headers: []string{"X-Request-Id"}},
			},
			codes: always,
		},
	}
}

func verifyEndpoints() []route {
	return []route{
		{
			id: "verifyPicks", method: http.MethodGet, path: "/api/v1/verify/picks", tag: "Verification",
			summary:     "Get the hash chain of all picks",
			description: "Every announced pick with the bytes that were hashed, recomputed, and where the git ledger and the attestations are. The whole chain comes in one answer unless `limit` asks for a part. Nobody needs to believe it: each hash is SHA-256 of `ticker|price|date|previous_hash`.",
			takes:       []string{"from_seq", "limit_whole", "format"},
			answers:     []answer{{status: http.StatusOK, description: "The chain.", body: []shape{body[view.VerificationChain]("")}, table: true, headers: cached}, unchanged},
			codes:       append([]string{view.CodeInvalidParameter, view.CodeRateLimited}, reads...),
		},
		{
			id: "verifyPick", method: http.MethodGet, path: "/api/v1/verify/pick/{ticker}", tag: "Verification",
			summary:     "Verify one pick",
			description: "The newest pick of a ticker, or that of `date`: what was hashed, its place in the chain, its commit, its attestation, and its proof in the transparency log.",
			takes:       []string{"ticker_path", "date"},
			answers:     []answer{ok("The verification.", cached, body[view.VerifiedPick]("")), unchanged},
			codes:       append([]string{view.CodeInvalidParameter, view.CodeUnknownTicker}, reads...),
		},
		{
			id: "proveVintage", method: http.MethodGet, path: "/api/vintages/prove", tag: "Verification",
			summary:     "Prove which bytes were known at an instant",
			description: "The bodies of a source that held the newest word about a day at `as_of`, each with its leaf in the transparency log of sources and the address of a proof that can be checked offline.",
			takes:       []string{"source", "day", "as_of"},
			answers:     []answer{ok("The bodies.", cached, body[view.ProvenVintages]("")), unchanged},
			codes:       append([]string{view.CodeInvalidParameter, view.CodeNotFound, view.CodeRateLimited}, reads...),
		},
		{
			id: "listMethods", method: http.MethodGet, path: "/api/methods", tag: "Verification",
			summary:     "List every version of every method",
			description: "The registry of methods: every version of the signals, the forecasts and the stock picks that ran on history, each a leaf of the transparency log before its results were shown. The number of trials is a fact, and the deflated Sharpe ratio of the stock record uses it.",
			answers:     []answer{ok("The registry.", cached, body[view.MethodRegistry]("")), unchanged},
			codes:       append([]string{view.CodeInvalidParameter, view.CodeRateLimited}, reads...),
		},
	}
}

// paidEndpoints returns the twins of the data endpoints that are paid by request.
func paidEndpoints(data []route) []route {
	all := []route{{
		id: "getX402Info", method: http.MethodGet, path: "/api/v1/x402/info", tag: "Pay per request",
		summary:     "List what is sold by request",
		description: "Every address with its price, and the network, token and account that are paid. Nothing is served here if the operator sells nothing by request.",
		answers:     []answer{ok("The list.", cached, body[view.X402InfoBody]("")), unchanged},
		codes:       append([]string{view.CodeInvalidParameter, view.CodeNotFound}, reads...),
	}}
	for _, e := range data {
		declared, _ := endpoint.Of(e.price)
		if declared.Sold == "" {
			continue
		}
		twin := e
		twin.id, twin.path, twin.tag, twin.access = "pay"+e.id[len("get"):], "/api/v1/x402"+e.price, "Pay per request", paid
		if e.id[:len("list")] == "list" {
			twin.id = "pay" + e.id[len("list"):]
		}
		twin.summary = declared.Sold + ", paid by request"
		twin.description = "The answer of `" + e.path + "` at the level of the paid tier, without a key. Without a payment it is 402 with the terms: in the body for version 1 of x402, in the header PAYMENT-REQUIRED for version 2. Repeat the request with the payment in X-PAYMENT or PAYMENT-SIGNATURE. Nobody pays for an error, and one payment buys one answer."
		twin.example = e.id
		first := e.answers[0]
		first.body = []shape{first.body[0]}
		first.headers = []string{"PAYMENT-RESPONSE", "X-PAYMENT-RESPONSE", "Link", "X-Request-Id"}
		twin.answers = []answer{first, {
			status: http.StatusPaymentRequired, description: "A payment is required, or the one received was not accepted; the body states why. Nothing was charged.",
			body: []shape{body[x402.PaymentRequired]("")}, headers: []string{"PAYMENT-REQUIRED", "PAYMENT-RESPONSE", "X-PAYMENT-RESPONSE", "X-Request-Id"},
		}}
		twin.codes = append(without(e.codes, append([]string{view.CodeInvalidRequest, view.CodeQuotaExhausted, view.CodeInsufficientBalance, view.CodePlanRequired}, withKey...)),
			view.CodeInvalidRequest, view.CodePaymentUnderWay, view.CodeUnavailable, view.CodeSettlementPending, view.CodeRateLimited)
		twin.takes = without(e.takes, []string{"idempotency_key"})
		all = append(all, twin)
	}
	return all
}

func without(list, these []string) []string {
	var out []string
	for _, v := range list {
		if !slices.Contains(these, v) {
			out = append(out, v)
		}
	}
	return out
}
