package api_test

import (
	"encoding/csv"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/accounts"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/picks"
)

func TestPublished(t *testing.T) {
	t.Parallel()
	p := publish(t, accounts.ModelPlan)
	for _, tt := range []struct {
		fact  string
		check func(*testing.T, *published)
	}{
		{"every endpoint has its body", publishedBodies},
		{"research is in four languages", researchInFourLanguages},
		{"lists are paged and filtered", pagesAndFilters},
		{"lists have three formats", formats},
		{"what cannot be answered is a problem", problems},
	} {
		t.Run(tt.fact, func(t *testing.T) {
			p.t = t
			tt.check(t, p)
		})
	}
	p.t = t
}

// shortRecord is a row of the skill panel of a record that is too short for a test: a good method needs 10.82 years.
func shortRecord(origin string, picks, sessions float64) map[string]any {
	return map[string]any{
		"origin": origin, "picks": picks, "sessions": sessions, "excess_pct_per_year": nil, "information_ratio": nil, "t_statistic": nil,
		"probability_pct": nil, "min_track_record_years": nil, "years_still_needed": math.Round(100*(10.8222-sessions/252)) / 100,
	}
}

// Every expectation was calculated by hand from the closes of the week. Acme rose from 100.00 to 110.00. Borl went from 50.00 to 26.00
// after a two-for-one split. The benchmark went from 500 and 505 to 510.
func publishedBodies(t *testing.T, p *published) {
	t.Helper()
	const base = "https://tidemark.example"
	head := p.object(p.ask(http.MethodGet, "/api/v1/info"))["data"].(map[string]any)["chain"].(map[string]any)["head_hash"]
	latest := map[string]any{
		"id": "pick_4", "seq": 4.0, "ticker": "BORL", "name": "BORL Inc.", "exchange": "XNAS", "sector": "Technology", "region": "North America",
		"country": "US", "date": "2026-03-06", "announced_at": "2026-03-06T23:00:00Z", "price": "26.00", "currency": "USD",
		"last_price": "26.00", "last_price_at": "2026-03-06T21:00:00Z", "return_pct": 0.0, "benchmark": "SPY", "benchmark_return_pct": 0.0,
		"entry_date": nil, "return_from_entry_pct": nil, "benchmark_return_from_entry_pct": nil, "excess_return_from_entry_pct": nil, "origin": "method",
		"excess_return_pct": 0.0, "status": "open", "closed_at": nil, "summary_why": "summary 4, en", "lang": "en",
		"hash": head, "previous_hash": nil, "attestation_status": "pending",
		"links": map[string]any{"research": base + "/api/v1/research/BORL", "verify": base + "/api/v1/verify/pick/BORL", "page": base + "/research/BORL"},
	}
	for _, tt := range []struct {
		path string
		of   func(body map[string]any) any
		want any
	}{
		{"/picks/latest", func(b map[string]any) any {
			d := b["data"].(map[string]any)
			latest["previous_hash"] = d["previous_hash"] // shown below to be the previous one
			return d
		}, latest},
		{"/picks", members("id", "return_pct", "benchmark_return_pct", "excess_return_pct", "last_price", "status", "closed_at"), []any{
			[]any{"pick_4", 0.0, 0.0, 0.0, "26.00", "open", nil},
			[]any{"pick_3", 6.8, 0.59, 6.21, "110.00", "open", nil}, // 110/103, 510/507
			[]any{"pick_2", 4.0, 0.99, 3.01, "26.00", "closed", "2026-03-05T21:00:00Z"},
			[]any{"pick_1", 10.0, 2.0, 8.0, "110.00", "open", nil},
		}},
		// From the first close after the announcement: 110/110; 26 twice over 51, 510/506; 110/102, 510/505.
		{"/picks", members("id", "entry_date", "return_from_entry_pct", "benchmark_return_from_entry_pct", "excess_return_from_entry_pct", "origin"), []any{
			[]any{"pick_4", nil, nil, nil, nil, "method"},
			[]any{"pick_3", "2026-03-06", 0.0, 0.0, 0.0, "method"},
			[]any{"pick_2", "2026-03-04", 1.96, 0.79, 1.17, "method"},
			[]any{"pick_1", "2026-03-03", 7.84, 0.99, 6.85, "method"},
		}},
		{"/portfolio", data, map[string]any{
			"as_of": "2026-03-06", "inception_date": "2026-03-03", "return_pct": 0.39,
			"benchmark":         map[string]any{"symbol": "SPY", "name": "US large-cap index", "return_pct": 0.99},
			"excess_return_pct": -0.6, "return_1d_pct": 0.52, "return_1w_pct": nil, "return_1m_pct": nil, "return_ytd_pct": 0.39,
			"volatility_pct": nil, "max_drawdown_pct": -0.13, "positions_count": 1.0, "cash_pct": 94.87,
			"best": []any{map[string]any{"ticker": "ACME", "return_pct": 7.84}}, "worst": []any{},
			"method":       "equal weight, entered at the next session's close after the announcement, close to close, no costs",
			"turnover_pct": nil,
			"net_of_costs": []any{ // this portfolio traded nothing
				map[string]any{"basis_points": 5.0, "return_pct": 0.39, "excess_return_pct": 0.31},
				map[string]any{"basis_points": 10.0, "return_pct": 0.39, "excess_return_pct": 0.31},
				map[string]any{"basis_points": 20.0, "return_pct": 0.39, "excess_return_pct": 0.31},
			},
			"return_kind":     "total_return",
			"prices_in_doubt": []any{map[string]any{"ticker": "ACME", "close": "110.00", "other_close": "111.25", "source": "alphavantage"}},
			// One session with 2 percent in shares that stopped trading; 0.6 of them are assumed to be lost: 1.00474 and 0.98474 times 1.005182.
			"delistings": map[string]any{"sessions": 1.0, "return_at_last_close_pct": 0.99, "return_at_total_loss_pct": -1.02},
			"like_with_like": map[string]any{ // 5 and 10 % of the index's 0.4 and 0.5917
				"portfolio":              map[string]any{"return_pct": 0.39, "volatility_pct": nil, "max_drawdown_pct": -0.13},
				"benchmark":              map[string]any{"return_pct": 0.08, "volatility_pct": nil, "max_drawdown_pct": 0.0},
				"benchmark_without_cash": map[string]any{"return_pct": 0.99, "volatility_pct": nil, "max_drawdown_pct": 0.0},
				"excess_return_pct":      0.31, "mean_cash_pct": 92.5,
				"others": []any{
					map[string]any{ // 5 and 10 % of 183.60/182.70 and 185.436/183.60
						"symbol": "RSP", "name": "US large-cap index, equal weight", "from": "2026-03-03",
						"portfolio":              map[string]any{"return_pct": 0.39, "volatility_pct": nil, "max_drawdown_pct": -0.13},
						"benchmark":              map[string]any{"return_pct": 0.12, "volatility_pct": nil, "max_drawdown_pct": 0.0},
						"benchmark_without_cash": map[string]any{"return_pct": 1.5, "volatility_pct": nil, "max_drawdown_pct": 0.0},
						"excess_return_pct":      0.27,
					},
					map[string]any{ // 5 and 10 % of 1 and -0.4
						"symbol": "universe", "name": "all companies scored, equal weight", "from": "2026-03-03",
						"portfolio":              map[string]any{"return_pct": 0.39, "volatility_pct": nil, "max_drawdown_pct": -0.13},
						"benchmark":              map[string]any{"return_pct": 0.01, "volatility_pct": nil, "max_drawdown_pct": -0.04},
						"benchmark_without_cash": map[string]any{"return_pct": 0.6, "volatility_pct": nil, "max_drawdown_pct": -0.4},
						"excess_return_pct":      0.38,
					},
				},
			},
			"skill": []any{shortRecord("all", 3, 3), shortRecord("method", 3, 3), shortRecord("editor", 0, 0)},
		}},
		{"/portfolio/positions", data, []any{
			map[string]any{
				"seq": 1.0, "ticker": "ACME", "name": "ACME Inc.", "weight_pct": 5.13, "return_pct": 7.84, "contribution_pct": 0.39,
				"entry_date": "2026-03-03", "exit_date": nil, "exit_reason": nil, "sector": "Technology", "region": "North America", "country": "US",
				"status": "open",
			},
			map[string]any{
				"seq": 2.0, "ticker": "BORL", "name": "BORL Inc.", "weight_pct": 0.0, "return_pct": 0.98, "contribution_pct": 0.0,
				"entry_date": "2026-03-04", "exit_date": "2026-03-05", "exit_reason": "replaced by a newer pick", "sector": "Technology",
				"region": "Europe", "country": "FR", "status": "closed",
			},
		}},
		{"/portfolio/history", members("date", "return_pct", "benchmark_return_pct", "daily_return_pct", "benchmark_daily_return_pct", "drawdown_pct", "positions_count", "cash_pct"), []any{
			[]any{"2026-03-03", 0.0, 0.0, 0.0, nil, 0.0, 1.0, 95.0},
			[]any{"2026-03-05", -0.13, 0.4, -0.13, 0.4, -0.13, 2.0, 90.0},
			[]any{"2026-03-06", 0.39, 0.99, 0.52, 0.59, 0.0, 1.0, 94.87},
		}},
		{"/portfolio/history", func(b map[string]any) any { return b["pagination"] }, map[string]any{"limit": nil, "next_cursor": nil, "has_more": false}},
		{"/sectors", members("sector", "weight_pct", "positions_count"), []any{[]any{"Technology", 5.13, 1.0}, []any{"Cash", 94.87, 0.0}}},
		{"/regions", data, []any{
			map[string]any{
				"region": "North America", "weight_pct": 5.13, "positions_count": 1.0, "return_pct": 7.84,
				"countries": []any{map[string]any{"country": "US", "weight_pct": 5.13}},
			},
			map[string]any{"region": "Cash", "weight_pct": 94.87, "positions_count": 0.0, "return_pct": nil, "countries": []any{}},
		}},
		{"/stocks", members("ticker", "picked", "first_picked_on", "links"), []any{
			[]any{"ACME", true, "2026-03-02", map[string]any{"research": base + "/api/v1/research/ACME"}},
			[]any{"BORL", true, "2026-03-03", map[string]any{"research": base + "/api/v1/research/BORL"}},
			[]any{"CORO", false, nil, map[string]any{"research": base + "/api/v1/research/CORO"}},
		}},
		{"/events", members("type", "ticker", "occurred_at", "lang"), []any{ // the third was recorded last
			[]any{"pick_announced", "ACME", "2026-03-05T23:00:00Z", "en"},
			[]any{"pick_announced", "BORL", "2026-03-03T23:00:00Z", "en"},
			[]any{"pick_announced", "ACME", "2026-03-02T23:00:00Z", "en"},
		}},
		{"/economic-events", members("id", "date", "indicator", "actual", "previous", "expected", "consensus", "unit", "published_at"), []any{
			[]any{"us-payrolls-2026-02", "2026-03-06", "payrolls", "178", "100", nil, nil, "thousand", "2026-03-06T13:30:00Z"},
			[]any{"us-unemployment-2026-02", "2026-03-06", "unemployment", "4.3", "4.4", "4.4", nil, "%", "2026-03-06T13:30:00Z"},
		}},
		{"/digest/latest", func(b map[string]any) any {
			d := b["data"].(map[string]any)
			return []any{d["week"], d["period"], len(d["picks"].([]any)), len(d["economic_events"].([]any)), d["signals"]}
		}, []any{
			"2026-W10",
			map[string]any{"from": "2026-03-02", "to": "2026-03-06"},
			2, 2,
			[]any{map[string]any{"id": "crack-spread-321", "z_score": 1.87427429274, "delta_vs_baseline_pct": 12.530977402}},
		}},
	} {
		b := p.body(tt.path)
		if diff := cmp.Diff(tt.want, tt.of(b)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.path, diff)
		}
		meta := b["meta"].(map[string]any)
		if meta["environment"] != "demo" || !strings.HasPrefix(meta["disclaimer"].(string), "Synthetic") || !isTime(meta["as_of"]) {
			t.Errorf("%s: %v", tt.path, meta)
		}
	}
	for i, rows := 0, p.rows("/picks"); i+1 < len(rows); i++ {
		if rows[i]["previous_hash"] != rows[i+1]["hash"] {
			t.Errorf("%v is not linked to %v", rows[i]["id"], rows[i+1]["id"])
		}
	}
	e := p.rows("/economic-events")
	if text, there := e[1]["analysis"]; e[0]["analysis"] == nil || text != nil || !there {
		t.Error("the analysis is not that of the event of the day alone, and null for the others")
	}
}

func data(b map[string]any) any { return b["data"] }

// members selects some members of each row.
func members(names ...string) func(map[string]any) any {
	return func(b map[string]any) any {
		list := []any{}
		for _, r := range b["data"].([]any) {
			var one []any
			for _, n := range names {
				one = append(one, r.(map[string]any)[n])
			}
			list = append(list, one)
		}
		return list
	}
}

func researchInFourLanguages(t *testing.T, p *published) {
	t.Helper()
	for _, lang := range picks.Langs() {
		d := p.body("/research/acme?lang=" + string(lang))["data"].(map[string]any)
		want := map[string]any{"ticker": "ACME", "lang": string(lang), "summary_why": "summary 3, " + string(lang), "full_research": "research 3, " + string(lang)}
		got := map[string]any{}
		for k := range want {
			got[k] = d[k]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]any{
			map[string]any{"id": "price", "value": "12.50", "unit": "USD", "as_of": "2026-03-05", "source": nil},
			map[string]any{"id": "net_margin", "value": "21.3", "unit": "%", "as_of": "2025-12-31", "source": 0.0},
		}, d["facts"]); diff != "" {
			t.Errorf("facts (-want +got):\n%s", diff)
		}
		pick := d["pick"].(map[string]any)
		if pick["seq"] != 3.0 || pick["price"] != "103.00" || pick["return_pct"] != 6.8 {
			t.Errorf("pick %v", pick)
		}
	}
	for header, want := range map[string]string{
		"pt-BR,pt;q=0.9,en;q=0.8": "pt", "hi": "hi", "tlh-AQ, es;q=0.5": "es", "tlh, *;q=0.1": "en", "tlh": "en", "": "en", "es;q=0.4, en;q=0.4": "en",
	} {
		a := p.paid("/research/CORO", "Accept-Language", header)
		if got := p.object(a)["data"].(map[string]any)["lang"]; got != want || !strings.Contains(strings.Join(a.Header["Vary"], ","), "Accept-Language") {
			t.Errorf("%q is answered in %v, Vary %v", header, got, a.Header["Vary"])
		}
	}
	if pick := p.body("/research/CORO")["data"].(map[string]any)["pick"]; pick != nil {
		t.Errorf("a company that was never picked has the pick %v", pick)
	}
	if got := column(p.rows("/events?lang=es"), "lang"); got[0] != "es" {
		t.Errorf("events in %v", got)
	}
}

func pagesAndFilters(t *testing.T, p *published) {
	t.Helper()
	for _, tt := range []struct {
		path, member string
		want         []any
	}{
		{"/picks?ticker=acme", "seq", []any{3.0, 1.0}},
		{"/picks?from=2026-03-03&to=2026-03-05", "seq", []any{3.0, 2.0}},
		{"/picks?sector=finance", "seq", []any{}},
		{"/picks?status=closed", "seq", []any{2.0}},
		{"/portfolio/positions?status=open", "seq", []any{1.0}},
		{"/portfolio/positions?region=Europe", "seq", []any{2.0}},
		{"/portfolio/history?from=2026-03-04&to=2026-03-05", "date", []any{"2026-03-05"}},
		{"/stocks?picked=true", "ticker", []any{"ACME", "BORL"}},
		{"/stocks?ticker=CORO", "ticker", []any{"CORO"}},
		{"/events?ticker=BORL", "ticker", []any{"BORL"}},
		{"/events?min_severity=5", "ticker", []any{}},
		{"/events?to=2026-03-03", "ticker", []any{"BORL", "ACME"}},
		{"/economic-events?from=2026-03-07", "id", []any{}},
		{"/sectors?sector=Cash", "sector", []any{"Cash"}},
		{"/regions?region=cash", "region", []any{"Cash"}},
	} {
		if diff := cmp.Diff(tt.want, column(p.rows(tt.path), tt.member)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.path, diff)
		}
	}
	for _, path := range []string{"/picks", "/portfolio/positions", "/portfolio/history", "/stocks", "/events", "/economic-events", "/sectors", "/regions"} {
		whole, paged := p.rows(path), []map[string]any(nil)
		next := path + "?limit=1"
		for range len(whole) + 1 {
			a := p.paid(next)
			b := p.object(a)
			for _, r := range b["data"].([]any) {
				paged = append(paged, r.(map[string]any))
			}
			pagination := b["pagination"].(map[string]any)
			if pagination["limit"] != 1.0 || (pagination["next_cursor"] != nil) != pagination["has_more"].(bool) {
				t.Fatalf("%s: %v", next, pagination)
			}
			if pagination["next_cursor"] == nil {
				break
			}
			link := a.Header.Get("Link")
			address, _, _ := strings.Cut(strings.TrimPrefix(link, "</api/v1"), ">")
			if !strings.Contains(address, url.QueryEscape(pagination["next_cursor"].(string))) {
				t.Fatalf("%s: Link %s", next, link)
			}
			next = address
		}
		if diff := cmp.Diff(whole, paged); diff != "" {
			t.Errorf("%s page by page (-whole +pages):\n%s", path, diff)
		}
	}
	newest := p.body("/events")["pagination"].(map[string]any)["newest_cursor"].(string)
	if rows := p.rows("/events?after=" + newest); len(rows) != 0 {
		t.Errorf("after the newest event come %v", rows)
	}
	third := p.body("/events?limit=2")["pagination"].(map[string]any)["next_cursor"].(string)
	if got := column(p.rows("/events?after="+third), "ticker"); len(got) != 1 {
		t.Errorf("after the second event come %v", got)
	}
	recorded := p.rows("/events")[1]["recorded_at"].(string)
	if got := p.rows("/events?since=" + url.QueryEscape(recorded)); len(got) != 1 {
		t.Errorf("%d events were recorded after the second", len(got))
	}
}

func formats(t *testing.T, p *published) {
	t.Helper()
	for _, path := range []string{"/picks", "/portfolio/positions", "/portfolio/history", "/stocks", "/events", "/economic-events", "/sectors", "/regions"} {
		rows := p.rows(path)
		table := p.paid(path, "Accept", "text/csv")
		if table.Header.Get("Content-Type") != "text/csv" || !strings.HasPrefix(table.Header.Get("Content-Disposition"), "attachment") {
			t.Errorf("%s: %v", path, table.Header)
		}
		records, err := csv.NewReader(strings.NewReader(string(table.body))).ReadAll()
		if err != nil || len(records) != len(rows)+1 || !strings.HasSuffix(string(table.body), "\r\n") {
			t.Errorf("%s: %d records for %d rows: %v", path, len(records), len(rows), err)
		}
		lines := p.paid(path + "?format=ndjson")
		if got := strings.Count(string(lines.body), "\n"); got != len(rows) || lines.Header.Get("Content-Type") != "application/x-ndjson" {
			t.Errorf("%s: %d lines for %d rows", path, got, len(rows))
		}
	}
	table := string(p.paid("/picks?format=csv&limit=1").body)
	if !strings.HasPrefix(table, "id,seq,ticker,name,exchange,sector,region,country,date,announced_at,price,") || !strings.Contains(table, "\r\npick_4,4,BORL,") ||
		!strings.Contains(table, ",26.00,USD,26.00,2026-03-06T21:00:00Z,,,,,0,SPY,0,0,method,open,,") {
		t.Errorf("picks as a table:\n%s", table)
	}
}

func TestTheFreePlanShowsItsPart(t *testing.T) {
	t.Parallel()
	p := publish(t, accounts.ModelPlan)
	p.key = p.newKey(p.db, 0)
	if got := column(p.rows("/picks"), "seq"); !cmp.Equal(got, []any{4.0, 3.0, 2.0}) {
		t.Errorf("picks %v", got)
	}
	if got := column(p.rows("/picks?to=2026-03-02"), "seq"); len(got) != 0 {
		t.Errorf("a filter shows the older picks %v", got)
	}
	if d := p.body("/picks/latest")["data"].(map[string]any); d["seq"] != 4.0 {
		t.Errorf("latest %v", d["seq"])
	}
	if d := p.body("/portfolio")["data"].(map[string]any); d["return_pct"] != 0.39 {
		t.Errorf("portfolio %v", d)
	}
	want := map[string]any{
		"ticker": "CORO", "name": "CORO Inc.", "exchange": "XNAS", "sector": "Technology", "region": "North America", "country": "US", "picked": false,
	}
	if diff := cmp.Diff(want, p.rows("/stocks")[2]); diff != "" {
		t.Errorf("the basic list (-want +got):\n%s", diff)
	}
	for _, path := range []string{"/research/ACME", "/portfolio/positions", "/portfolio/history", "/sectors", "/regions", "/events", "/economic-events", "/digest/latest"} {
		if a := p.paid(path); a.StatusCode != http.StatusForbidden || p.object(a)["code"] != "plan_required" {
			t.Errorf("%s: %s: %s", path, a.Status, a.body)
		}
	}
}

func problems(t *testing.T, p *published) {
	t.Helper()
	for _, tt := range []struct {
		method, path, accept string
		status               int
		code                 string
	}{
		{"GET", "/research/NONE", "", 404, "unknown_ticker"},
		{"GET", "/research/ACME?lang=tlh", "", 400, "invalid_lang"},
		{"GET", "/picks?lang=EN", "", 400, "invalid_lang"},
		{"GET", "/picks/latest?lang=es&lang=en", "", 400, "invalid_parameter"},
		{"GET", "/picks?limit=0", "", 400, "invalid_parameter"},
		{"GET", "/picks?limit=501", "", 400, "invalid_parameter"},
		{"GET", "/picks?from=2026-13-01", "", 400, "invalid_parameter"},
		{"GET", "/picks?from=2026-03-05&to=2026-03-01", "", 400, "invalid_parameter"},
		{"GET", "/picks?status=sold", "", 400, "invalid_parameter"},
		{"GET", "/events?min_severity=6", "", 400, "invalid_parameter"},
		{"GET", "/events?since=yesterday", "", 400, "invalid_parameter"},
		{"GET", "/picks?cursor=x", "", 400, "invalid_cursor"},
		{"GET", "/events?after=x", "", 400, "invalid_cursor"},
		{"GET", "/stocks?cursor=" + p.body("/picks?limit=1")["pagination"].(map[string]any)["next_cursor"].(string), "", 400, "invalid_cursor"},
		{"GET", "/picks?format=xml", "", 400, "invalid_parameter"},
		{"GET", "/picks?%zz", "", 400, "invalid_parameter"},
		{"GET", "/picks", "application/xml", 406, "not_acceptable"},
		{"GET", "/portfolio", "text/csv", 406, "not_acceptable"},
		{"POST", "/picks", "", 405, "method_not_allowed"},
		{"DELETE", "/info", "", 405, "method_not_allowed"},
		{"GET", "/nothing", "", 404, "not_found"},
	} {
		header := []string{"Authorization", "Bearer " + p.key}
		if tt.accept != "" {
			header = append(header, "Accept", tt.accept)
		}
		a := p.ask(tt.method, "/api/v1"+tt.path, header...)
		if b := p.object(a); a.StatusCode != tt.status || b["code"] != tt.code || a.Header.Get("Content-Type") != "application/problem+json" ||
			b["request_id"] != a.Header.Get("X-Request-Id") {
			t.Errorf("%s %s: %s: %s; want %d %s", tt.method, tt.path, a.Status, a.body, tt.status, tt.code)
		}
	}
	for _, path := range []string{"/picks", "/research/CORO", "/info"} {
		header := []string{"Authorization", "Bearer " + p.key}
		get, head := p.ask("GET", "/api/v1"+path, header...), p.ask("HEAD", "/api/v1"+path, header...)
		etag, length := get.Header.Get("ETag"), get.Header.Get("Content-Length")
		if path != "/info" { // HEAD is free and reveals nothing about priced responses
			etag, length = "", ""
		}
		if len(head.body) != 0 || head.Header.Get("ETag") != etag || head.Header.Get("Content-Length") != length {
			t.Errorf("HEAD %s: %v", path, head.Header)
		}
		again := p.ask("GET", "/api/v1"+path, append(header, "If-None-Match", get.Header.Get("ETag"))...)
		if again.StatusCode != http.StatusNotModified || len(again.body) != 0 {
			t.Errorf("%s again: %s", path, again.Status)
		}
		zipped := p.ask("GET", "/api/v1"+path, append(header, "Accept-Encoding", "gzip")...)
		if zipped.Header.Get("Content-Encoding") != "gzip" || unzip(t, zipped.body) != string(get.body) {
			t.Errorf("%s compressed: %v", path, zipped.Header)
		}
		if get.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: no CORS", path)
		}
	}
}

func TestWhatIsPublishedIsShownAtOnceAndStaysWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	p := publish(t, accounts.ModelPlan)
	if _, err := p.worker.AddResearch(t.Context(), task.Fence{}, []postgres.Research{card(t, 1004, "2026-03-06", 9)}); err == nil {
		t.Fatal("a card without a ticker is taken")
	}
	late := card(t, 1004, "2026-03-06", 9)
	late.Ticker = "DELT"
	if _, err := p.worker.AddResearch(t.Context(), task.Fence{}, []postgres.Research{late}); err != nil {
		t.Fatal(err)
	}
	p.eventually("the new card", func() bool { return p.paid("/research/DELT").StatusCode == http.StatusOK })

	db := p.database()
	p.admin(`alter database ` + pgx.Identifier{db}.Sanitize() + ` allow_connections false`)
	p.admin(`select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and application_name = 'tidemark-api'`, db)
	p.eventually("the loss of the database", func() bool { return p.publications.Degraded() })
	a := p.ask(http.MethodGet, "/api/v1/info")
	if a.StatusCode != http.StatusOK || a.Header.Get("X-Tidemark-Degraded") != "postgres" {
		t.Errorf("info without a database: %s, %v", a.Status, a.Header)
	}
	if a := p.paid("/picks"); a.StatusCode != http.StatusServiceUnavailable || p.object(a)["code"] != "dependency_unavailable" {
		t.Errorf("what cannot be charged is answered %s", a.Status)
	}
	p.admin(`alter database ` + pgx.Identifier{db}.Sanitize() + ` allow_connections true`)
	p.eventually("the database", func() bool { return !p.publications.Degraded() && p.paid("/picks").StatusCode == http.StatusOK })
}
