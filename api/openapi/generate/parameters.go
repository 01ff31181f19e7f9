package generate

import (
	"github.com/google/jsonschema-go/jsonschema"

	"tidemark/api/view"
	"tidemark/picks"
	"tidemark/signals"
)

// parameters returns all parameters by the names that operations use. Generators of clients name the constants of "order" OrderAsc and
// OrderDesc, so no parameter is called order_desc.
func parameters() map[string]parameter {
	text := func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string"} }
	one := func(of ...any) *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Enum: of} }
	date := func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Format: "date"} }
	number := func(from, to float64) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "integer", Minimum: &from, Maximum: &to}
	}
	query := func(name, description string, schema *jsonschema.Schema, example any) parameter {
		return parameter{Name: name, In: "query", Description: description, Schema: schema, Example: example}
	}
	required := func(p parameter) parameter {
		p.Required = true
		return p
	}
	ids := []any{}
	for _, d := range signals.All() {
		ids = append(ids, d.ID)
	}
	limit := number(1, 500)
	limit.Default = []byte("50")
	format := one(list(view.Formats())...)
	format.Default = []byte(`"json"`)
	ascending, descending := one("asc", "desc"), one("asc", "desc")
	ascending.Default, descending.Default = []byte(`"asc"`), []byte(`"desc"`)
	ticker := &jsonschema.Schema{Type: "string", Pattern: "^[A-Za-z0-9.-]{1,12}$"}
	first := 1.0
	return map[string]parameter{
		"id":          {Name: "id", In: "path", Required: true, Description: "The id of a signal. Ids are lower case and never change.", Schema: one(ids...), Example: "crack-spread-321"},
		"period":      {Name: "period", In: "path", Required: true, Description: "What the figure is about: a day or a week's last day, a month, or a crop year's final.", Schema: text(), Example: "2026-11-20"},
		"ticker_path": {Name: "ticker", In: "path", Required: true, Description: "A stock symbol, in upper or lower case.", Schema: ticker, Example: "NVDA"},
		"tx_hash_path": {
			Name: "tx_hash", In: "path", Required: true, Description: "The transaction's hash.", Schema: &jsonschema.Schema{Type: "string", Pattern: "^0x[0-9a-fA-F]{64}$"},
			Example: "0x7f1c3d5b9a8e6f402143658709badcfe1032547698badcfe1032547698badcfe",
		},
		"alert_id": {Name: "id", In: "path", Required: true, Description: "The id of an alert.", Schema: text(), Example: "alert_7mzq0gk5v9w2x4t1c8n6b3h0jd"},
		"idempotency_key": {
			Name: "Idempotency-Key", In: "header", Schema: &jsonschema.Schema{Type: "string", MinLength: new(1), MaxLength: new(255)},
			Description: "A text of your own for this request. The request that is repeated with it is the same one: a priced answer is not paid again for ten minutes (on a plan, not counted again), a change is not made again for a day.",
			Example:     "3f0c6b1e-8f0e-4c57-9d6a-0c8c6a0d8f11",
		},
		"as_of":         query("as_of", "Answer as it was known at this instant: a time with its zone (RFC 3339), or a day, which counts to its end in UTC.", text(), "2026-03-04T10:30:00Z"),
		"first":         required(query("first", "The id of the first signal.", one(ids...), "crack-spread-321")),
		"second":        required(query("second", "The id of the second signal.", one(ids...), "eia-weekly-petroleum")),
		"lag":           query("lag", "How many weeks or months later the second signal is read. A negative number reads it earlier.", number(-signals.MaxLag, signals.MaxLag), 0),
		"from_instant":  query("from", "The first instant or day (UTC) that is wanted.", text(), "2026-01-01"),
		"to_instant":    query("to", "The last instant or day (UTC) that is wanted, itself included.", text(), "2026-03-31"),
		"from_snapshot": query("from", "The first snapshot: that of an instant (RFC 3339), or the newest that is about this day or the one observed before it. Without it, the newest before the second that says something else.", text(), nil),
		"to_snapshot":   query("to", "The second snapshot, in the same way. Without it, the newest.", text(), nil),
		"from_date":     query("from", "The first day that is wanted.", date(), "2026-01-01"),
		"to_date":       query("to", "The last day that is wanted, itself included.", date(), "2026-03-31"),
		"source":        required(query("source", "The name of a source, as the provenance of a signal has it.", text(), "eia-petroleum-spot")),
		"day":           required(query("date", "The day that the bytes speak of, in UTC.", date(), "2026-03-03")),
		"date":          query("date", "The day of the pick, where the ticker was picked more than once. Without it the newest is meant.", date(), "2026-11-20"),
		"about":         query("date", "The day that the number is about, in UTC. Without it the newest is meant.", date(), nil),
		"since":         query("since", "Only what was recorded after this instant or day.", text(), "2026-03-04T10:30:00Z"),
		"after":         query("after", "A cursor of this feed: only what is newer is listed.", text(), nil),
		"topics":        query("topics", "What to follow, separated by commas: `signal`, `signal:ID` with the id of a signal, `pick`, `event`, `forecast`. Without it, everything.", text(), "signal:crack-spread-321,pick"),
		"after_event":   query("after", "The cursor of the last event that you have. The header `Last-Event-ID` wins over it.", text(), "812"),
		"seconds":       query("seconds", "After how many seconds the stream ends.", number(1, 3600), 60),
		"vintages":      query("vintages", "`all`: every version of every point, each with the time for which it was in force.", one("all"), nil),
		"order":         query("order", "The order of the points by time.", ascending, nil),
		"newest_first":  query("order", "The order of the instants.", descending, nil),
		"limit":         query("limit", "The size of a page.", limit, 50),
		"limit_whole":   query("limit", "The size of a page. Without it, everything comes in one answer.", number(1, 500), 500),
		"cursor":        query("cursor", "Where the page before ended: its `next_cursor`. Good for the same listing in the same order.", text(), nil),
		"format":        query("format", "The form of the answer. It wins over the Accept header.", format, nil),
		"lang":          query("lang", "The language of the texts. Without it the Accept-Language header counts, and else English.", one(list(picks.Langs())...), "es"),
		"ticker":        query("ticker", "Only rows of this stock symbol.", text(), "NVDA"),
		"sector":        query("sector", "Only rows of this sector.", text(), "Technology"),
		"region":        query("region", "Only rows of this region.", text(), "North America"),
		"status":        query("status", "Only rows with this status.", one("open", "closed"), nil),
		"picked":        query("picked", "`true`: only companies that were picked.", one("true", "false"), nil),
		"min_severity":  query("min_severity", "Only events of at least this severity.", number(1, 5), 3),
		"from_seq":      query("from_seq", "The number of the first pick that is wanted.", &jsonschema.Schema{Type: "integer", Minimum: &first}, 1),
	}
}

// headers returns all header fields of responses.
func headers() map[string]header {
	text := &jsonschema.Schema{Type: "string"}
	return map[string]header{
		"ETag":                {"The strong tag of this form of the answer. Send it in If-None-Match: a 304 is free.", text, `"0f428571a8241e124a49fd0f38233143"`},
		"Cache-Control":       {"How long the answer may be used again.", text, "public, max-age=60, stale-while-revalidate=300"},
		"Last-Modified":       {"When the newest of the data became known.", text, "Tue, 13 Oct 2026 20:00:00 GMT"},
		"Location":            {"Where the outcome will be.", text, "/api/v1/payments/claims/0x7f1c3d5b9a8e6f402143658709badcfe1032547698badcfe1032547698badcfe"},
		"Link":                {"The next page, where there is one.", text, `</api/v1/picks?cursor=cGlja3M>; rel="next"`},
		"X-Request-Id":        {"The id of the request: the client's own, or one that was made for it.", text, "req_7mzq0gk5v9w2x4t1c8n6b3h0jd"},
		"X-Request-Cost":      {"What the answer cost, in US dollars. Only in the balance model.", text, "0.002"},
		"X-Balance-Remaining": {"The balance of the key after it, in US dollars. Only in the balance model.", text, "0.19"},
		"RateLimit-Policy":    {"How many requests are allowed: `q` of them in `w` seconds. In the plan model the day's quota, too.", text, `"default";q=300;w=60`},
		"RateLimit":           {"How many are left: `r` of them, all again in `t` seconds.", text, `"default";r=295;t=1`},
		"Retry-After":         {"After how many seconds to try again.", &jsonschema.Schema{Type: "integer"}, 5},
		"Allow":               {"The methods that can be used here.", text, "GET, HEAD, OPTIONS"},
		"WWW-Authenticate":    {"How to show a key.", text, `Bearer realm="api"`},
		"PAYMENT-REQUIRED":    {"The terms of version 2 of x402: JSON in base64.", text, nil},
		"PAYMENT-RESPONSE":    {"What became of the payment, as version 2 of x402 says it: JSON in base64. Its extensions may have a signed receipt with the SHA-256 of the content.", text, nil},
		"X-PAYMENT-RESPONSE":  {"What became of the payment, as version 1 of x402 says it: JSON in base64. Its extensions may have a signed receipt with the SHA-256 of the content.", text, nil},
	}
}

// The security requirements.
const (
	schemeKey    = "apiKey"
	schemeX402   = "x402"
	schemeX402V2 = "x402v2"
)

var securitySchemes = ordered[securityScheme]{
	{schemeKey, securityScheme{Type: "http", Scheme: "bearer", Description: "A free API key: POST /api/v1/auth/register."}},
	{schemeX402, securityScheme{Type: "apiKey", In: "header", Name: "X-PAYMENT", Description: "A payment in version 1 of x402: JSON in base64."}},
	{schemeX402V2, securityScheme{Type: "apiKey", In: "header", Name: "PAYMENT-SIGNATURE", Description: "A payment in version 2 of x402: JSON in base64."}},
}
