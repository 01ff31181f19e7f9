package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tidemark/accounts"
	"tidemark/api"
	"tidemark/api/mcp"
	"tidemark/api/view"
	"tidemark/internal/calendar"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// agents is a fixture with four announced picks, a fifth that is not announced yet, and the handler for agents.
type agents struct {
	*published
	// base is the public address.
	base string
	// secret is the hash of the pick that is not announced.
	secret string
	door   api.Agents
}

func openToAgents(t *testing.T, o api.AgentOptions) *agents {
	t.Helper()
	a := &agents{published: publish(t, accounts.ModelBalance)}
	a.save(full())
	monday := calendar.At(date(t, "2026-03-09"), 17*time.Hour+30*time.Minute)
	if err := a.worker.SetClock(t.Context(), &monday); err != nil {
		t.Fatal(err)
	}
	hidden, added, err := a.worker.RecordPick(t.Context(), task.Fence{}, postgres.NewPick{
		Ticker: "CORO", Price: "12.34", Date: "2026-03-09", CIK: coro, Name: "CORO Inc.", Exchange: "XNAS", Sector: "Technology", Region: "North America",
		Country: "US", Currency: "USD", Origin: "method", Reason: "the best score of the day",
	}, card(t, coro, "2026-03-09", 5), 0)
	if err != nil || !added {
		t.Fatalf("record the pick of Monday: %v, %v", added, err)
	}
	a.secret = hidden.Hash
	a.base = a.view.PublicURL()
	now := func() time.Time { return monday }
	record, err := view.NewRecord(view.RecordOptions{Store: a.db, PublicURL: a.base, World: view.WorldSandbox, Now: now, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	a.run(record.Run)
	limiter, err := api.NewLimiter("", time.Now, quiet)
	if err != nil {
		t.Fatal(err)
	}
	o.Handler, err = mcp.New(mcp.Options{
		View: a.view, Record: record, Publications: a.publications, Definitions: definitions(), PublicURL: a.base, Version: "1.2.3", Log: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	a.door = o.Handler
	a.serve(api.Options{
		View: a.view, Record: record, Publications: a.publications, Agents: &o, Accounts: &api.Accounts{DB: a.db, Now: time.Now, Limiter: limiter},
	})
	a.eventually("the first load", func() bool { return record.State() != nil && record.State().Length() == 4 })
	a.eventually("the signal", func() bool { return a.view.State().Signal("crack-spread-321").Snapshot.Value != nil })
	return a
}

// say sends a JSON-RPC request as a client of 2025-03-26, which needs no header for the revision.
func (a *agents) say(method string, params any, header ...string) answer {
	a.t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
	if err != nil {
		a.t.Fatal(err)
	}
	return a.askWith(http.MethodPost, "/api/mcp", string(body), append([]string{"Content-Type", "application/json"}, header...)...)
}

// result returns the result of a request, or nil for an error.
func (a *agents) result(method string, params any) map[string]any {
	a.t.Helper()
	r, _ := a.object(a.say(method, params))["result"].(map[string]any)
	return r
}

// call returns a tool's structured result and its text.
func (a *agents) call(tool string, arguments any) (structured map[string]any, text string) {
	a.t.Helper()
	r := a.result("tools/call", map[string]any{"name": tool, "arguments": arguments})
	if r == nil || r["isError"] == true {
		a.t.Fatalf("%s %v: %v", tool, arguments, r)
	}
	content := r["content"].([]any)
	structured, _ = r["structuredContent"].(map[string]any)
	var same map[string]any
	if err := json.Unmarshal([]byte(content[1].(map[string]any)["text"].(string)), &same); err != nil {
		a.t.Fatal(err)
	}
	if diff := cmp.Diff(structured, same); diff != "" {
		a.t.Errorf("%s: the text for clients without structured content is another (-structured +text):\n%s", tool, diff)
	}
	return structured, content[0].(map[string]any)["text"].(string)
}

func TestAgents(t *testing.T) {
	t.Parallel()
	a := openToAgents(t, api.AgentOptions{})
	t.Run("see the same in both eras of the protocol", func(t *testing.T) { bothEras(t, a) })
	t.Run("get what is announced, and percentages", func(t *testing.T) { announced(t, a) })
	t.Run("can recompute the chain", func(t *testing.T) { recomputed(t, a) })
	t.Run("get the signals with their proofs", func(t *testing.T) { signalTools(t, a) })
	t.Run("are told why a signal moved, and its forecasts", func(t *testing.T) { changesAndForecasts(t, a) })
	t.Run("go on with cursors", func(t *testing.T) { cursors(t, a) })
	t.Run("read the documents of the other doors", func(t *testing.T) { resources(t, a) })
	t.Run("find prompts and completions", func(t *testing.T) { prompts(t, a) })
	t.Run("are told what to do", func(t *testing.T) { mistakes(t, a) })
	t.Run("find nothing that is not announced", func(t *testing.T) { secrecy(t, a) })
	t.Run("do no harm", func(t *testing.T) { hostile(t, a) })
	t.Run("find the door", func(t *testing.T) { doorTold(t, a) })
}

var toolNames = []string{
	"explain_change", "get_calendar", "get_economic_event", "get_forecast", "get_latest_picks", "get_portfolio_summary", "get_signal", "get_signal_history", "get_stock_research", "get_verification_chain",
	"list_economic_events", "list_signals", "verify_pick",
}

// bothEras uses the SDK's client with and without a handshake.
func bothEras(t *testing.T, a *agents) {
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
			s, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: a.url + "/api/mcp", DisableStandaloneSSE: true, MaxRetries: -1},
				&sdk.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			met := s.InitializeResult()
			if met.ProtocolVersion != version && version < "2026" || met.Instructions == "" {
				t.Errorf("met with version %q and instructions %q", met.ProtocolVersion, met.Instructions)
			}
			caps, err := json.Marshal(met.Capabilities)
			if err != nil {
				t.Fatal(err)
			}
			resources := "{}"
			if version == "2026-07-28" { // the others cannot be told of changes without a session
				resources = `{"subscribe":true}`
			}
			if want := `{"completions":{},"prompts":{},"resources":` + resources + `,"tools":{}}`; string(caps) != want {
				t.Errorf("capabilities %s, want %s", caps, want)
			}
			list, err := s.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
				if an := tool.Annotations; !an.ReadOnlyHint || *an.DestructiveHint || !an.IdempotentHint || *an.OpenWorldHint || tool.Title == "" || tool.Description == "" {
					t.Errorf("%s: annotations %+v, title %q, description %q", tool.Name, an, tool.Title, tool.Description)
				}
			}
			if !slices.Equal(names, toolNames) {
				t.Errorf("tools %v, want %v", names, toolNames)
			}
			if list.TTLMs != 3_600_000 || list.CacheScope != "public" {
				t.Errorf("the list may be kept %d ms, %s", list.TTLMs, list.CacheScope)
			}
			// Every result matches its schema.
			for _, call := range []sdk.CallToolParams{
				{Name: "get_latest_picks"},
				{Name: "get_stock_research", Arguments: map[string]any{"ticker": "acme", "language": "hi"}},
				{Name: "get_portfolio_summary"},
				{Name: "verify_pick", Arguments: map[string]any{"ticker": "BORL"}},
				{Name: "get_verification_chain"},
				{Name: "list_signals"},
				{Name: "get_calendar"},
				{Name: "get_signal", Arguments: map[string]any{"id": "crack-spread-321"}},
				{Name: "get_signal_history", Arguments: map[string]any{"id": "crack-spread-321", "limit": 2}},
				{Name: "list_economic_events", Arguments: map[string]any{"limit": 1}},
				{Name: "get_economic_event", Arguments: map[string]any{"id": "us-payrolls-2026-02"}},
			} {
				got, err := s.CallTool(t.Context(), &call)
				if err != nil || got.IsError {
					t.Errorf("%s: %v %+v", call.Name, err, got)
					continue
				}
				conforms(t, list.Tools[slices.Index(names, call.Name)].OutputSchema, got.StructuredContent)
			}
			refused, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "get_stock_research", Arguments: map[string]any{"ticker": "NONE"}})
			if err != nil || !refused.IsError {
				t.Errorf("an unknown ticker: %v, %+v; want a result that is an error", err, refused)
			}
			if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "drop_tables"}); err == nil {
				t.Error("a tool that does not exist answers")
			}
		})
	}
}

// conforms validates a value against a JSON Schema.
func conforms(t *testing.T, schema, value any) {
	t.Helper()
	b, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(value); err != nil {
		t.Errorf("%v in %v", err, value)
	}
}

// announced compares the responses with the record of the week: closes of 110 after 103 and 100, and 26 after a two-for-one split and 50.
func announced(t *testing.T, a *agents) {
	latest, text := a.call("get_latest_picks", map[string]any{})
	var got []any
	for _, p := range latest["picks"].([]any) {
		m := p.(map[string]any)
		got = append(got, []any{m["seq"], m["ticker"], m["date"], m["price"], m["return_pct"], m["summary_why"]})
	}
	want := []any{
		[]any{4.0, "BORL", "2026-03-06", "26.00", 0.0, "summary 4, en"},
		[]any{3.0, "ACME", "2026-03-05", "103.00", 6.8, "summary 3, en"},
		[]any{2.0, "BORL", "2026-03-03", "50.00", 4.0, "summary 2, en"},
		[]any{1.0, "ACME", "2026-03-02", "100.00", 10.0, "summary 1, en"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("picks (-want +got):\n%s", diff)
	}
	if !strings.Contains(text, "2026-03-05: ACME (ACME Inc.), picked at 103.00 USD, 0.00% from the close of 2026-03-06, the first after the announcement, SPY 0.00%; from the price of the record +6.80%") || !strings.Contains(text, "not personalized investment advice") {
		t.Errorf("the text reads %q", text)
	}
	for _, lang := range []string{"es", "en", "pt", "hi"} {
		card, _ := a.call("get_stock_research", map[string]any{"ticker": "ACME", "language": lang})
		for member, what := range map[string]string{"summary": "summary", "what_it_does": "business", "why_chosen": "reasons", "main_risk": "risk", "full_research": "research"} {
			if card[member] != what+" 3, "+lang {
				t.Errorf("%s in %s: %v", member, lang, card[member])
			}
		}
		if p := card["pick"].(map[string]any); p["date"] != "2026-03-05" || p["return_pct"] != 6.8 || p["return_from_entry_pct"] != 0.0 || p["entry_date"] != "2026-03-06" {
			t.Errorf("the pick of the card: %v", p)
		}
	}
	sum, text := a.call("get_portfolio_summary", nil)
	if sum["return_pct"] != 0.39 || sum["benchmark"].(map[string]any)["return_pct"] != 0.99 || sum["excess_return_pct"] != -0.6 {
		t.Errorf("the portfolio: %v", sum)
	}
	if diff := cmp.Diff([]any{map[string]any{"ticker": "ACME", "return_pct": 7.84}}, sum["best"]); diff != "" {
		t.Errorf("best positions (-want +got):\n%s", diff)
	}
	for _, say := range []string{"In doubt: ACME closed at 110.00; alphavantage says 111.25.", "in 1 sessions. Without any loss, the return is +0.99%; with a total loss, −1.02%."} {
		if !strings.Contains(text, say) {
			t.Errorf("the portfolio does not say %q: %s", say, text)
		}
	}
	for _, money := range []string{"USD", "$", "shares", "amount"} {
		if strings.Contains(text, money) {
			t.Errorf("the portfolio speaks of %s: %s", money, text)
		}
	}
	event, _ := a.call("get_economic_event", map[string]any{"id": "us-unemployment-2026-02", "language": "es"})
	if event["actual"] != "4.3" || event["previous"] != "4.4" || event["lang"] != "es" || event["analysis"] == "" {
		t.Errorf("the event: %v", event)
	}
}

// recomputed recomputes the chain from the tool's response alone, as anyone can.
func recomputed(t *testing.T, a *agents) {
	c, text := a.call("get_verification_chain", map[string]any{})
	if c["valid"] != true || c["chain_length"] != 4.0 || c["next_from_seq"] != nil || !strings.Contains(text, "4 announced picks") {
		t.Errorf("the chain: %v\n%s", c, text)
	}
	for _, member := range []string{"git", "gaps", "corrections", "attestation", "checks", "how_to_verify", "hash_rule", "algorithm"} {
		if _, told := c[member]; !told {
			t.Errorf("the chain says nothing of %s", member)
		}
	}
	previous := strings.Repeat("0", 64)
	if c["genesis_hash"] != previous {
		t.Errorf("genesis %v", c["genesis_hash"])
	}
	for i, p := range c["picks"].([]any) {
		m := p.(map[string]any)
		preimage := strings.Join([]string{m["ticker"].(string), m["price"].(string), m["date"].(string), previous}, "|")
		sum := sha256.Sum256([]byte(preimage))
		previous = hex.EncodeToString(sum[:])
		if m["seq"] != float64(i+1) || m["hash"] != previous || m["preimage"] != preimage {
			t.Errorf("link %d: %v, want the hash %s of %s", i+1, m, previous, preimage)
		}
	}
	if c["head_hash"] != previous {
		t.Errorf("head %v, want %s", c["head_hash"], previous)
	}
	for date, seq := range map[string]float64{"": 3, "2026-03-02": 1} {
		arguments := map[string]any{"ticker": "acme"}
		if date != "" {
			arguments["date"] = date
		}
		v, text := a.call("verify_pick", arguments)
		pick := v["pick"].(map[string]any)
		sum := sha256.Sum256([]byte(v["preimage"].(string)))
		if v["valid"] != true || pick["seq"] != seq || v["recomputed_hash"] != hex.EncodeToString(sum[:]) || !strings.Contains(text, "is valid") {
			t.Errorf("pick of %q: %v", date, v)
		}
	}
}

func cursors(t *testing.T, a *agents) {
	var seqs []any
	for from := any(1); from != nil; {
		c, text := a.call("get_verification_chain", map[string]any{"from_seq": from, "limit": 3})
		for _, p := range c["picks"].([]any) {
			seqs = append(seqs, p.(map[string]any)["seq"])
		}
		from = c["next_from_seq"]
		if (from != nil) != strings.Contains(text, "Go on with from_seq=4") {
			t.Errorf("next is %v, and the text says %q", from, text)
		}
	}
	if diff := cmp.Diff([]any{1.0, 2.0, 3.0, 4.0}, seqs); diff != "" {
		t.Errorf("links of all pages (-want +got):\n%s", diff)
	}
	var ids []any
	arguments := map[string]any{"limit": 1, "language": "pt"}
	for range 5 {
		page, _ := a.call("list_economic_events", arguments)
		for _, e := range page["events"].([]any) {
			ids = append(ids, e.(map[string]any)["id"])
		}
		if arguments["cursor"] = page["next_cursor"]; arguments["cursor"] == nil {
			break
		}
	}
	if diff := cmp.Diff([]any{"us-payrolls-2026-02", "us-unemployment-2026-02"}, ids); diff != "" {
		t.Errorf("events of all pages (-want +got):\n%s", diff)
	}
}

// resources compares each resource with a GET of its URL.
func resources(t *testing.T, a *agents) {
	var uris []string
	for _, r := range a.result("resources/list", map[string]any{})["resources"].([]any) {
		if uri := r.(map[string]any)["uri"].(string); !strings.HasPrefix(uri, "ui://") { // the pages for hosts have no address
			uris = append(uris, uri)
		}
	}
	for _, id := range []string{"crack-spread-321", "hormuz-transit", "lng-arbitrage"} {
		if !slices.Contains(uris, a.base+"/api/signals/"+id) {
			t.Errorf("the signal %s is no resource of %v", id, uris)
		}
	}
	uris = append(uris, a.base+"/api/signals/crack-spread-321/brief", a.base+"/api/v1/verify/pick/ACME")
	for _, uri := range uris {
		read := a.result("resources/read", map[string]any{"uri": uri})
		if read == nil {
			t.Errorf("%s cannot be read", uri)
			continue
		}
		content := read["contents"].([]any)[0].(map[string]any)
		got := a.ask(http.MethodGet, strings.TrimPrefix(uri, a.base))
		mediaType, _, _ := strings.Cut(got.Header.Get("Content-Type"), ";")
		if content["text"] != string(got.body) || content["mimeType"] != mediaType || content["uri"] != uri {
			t.Errorf("%s: %v, want %s %s", uri, content, mediaType, got.body)
		}
	}
	templates := a.result("resources/templates/list", map[string]any{})["resourceTemplates"].([]any)
	if len(templates) != 3 {
		t.Errorf("templates %v", templates)
	}
}

func prompts(t *testing.T, a *agents) {
	get := func(name string, arguments map[string]any) string {
		b, err := json.Marshal(a.result("prompts/get", map[string]any{"name": name, "arguments": arguments}))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, tt := range []struct {
		name      string
		arguments map[string]any
		want      []string
	}{
		{"verify_track_record", nil, []string{"get_verification_chain", a.base, "SHA-256", "Answer in English."}},
		{"verify_track_record", map[string]any{"ticker": "acme", "language": "pt"}, []string{"ACME", "Answer in Portuguese."}},
		{"explain_signal", map[string]any{"signal": "crack-spread-321"}, []string{"3:2:1 crack spread", a.base + "/api/signals/crack-spread-321/brief", "How it is made", "22.5"}},
	} {
		said := get(tt.name, tt.arguments)
		for _, w := range tt.want {
			if !strings.Contains(said, w) {
				t.Errorf("%s %v says nothing of %q: %s", tt.name, tt.arguments, w, said)
			}
		}
	}
	for _, tt := range []struct {
		ref, argument map[string]any
		want          []any
	}{
		{map[string]any{"type": "ref/prompt", "name": "explain_signal"}, map[string]any{"name": "signal", "value": "H"}, []any{"hormuz-transit"}},
		{map[string]any{"type": "ref/prompt", "name": "verify_track_record"}, map[string]any{"name": "ticker", "value": ""}, []any{"ACME", "BORL"}},
		{map[string]any{"type": "ref/prompt", "name": "verify_track_record"}, map[string]any{"name": "language", "value": "e"}, []any{"es", "en"}},
		{map[string]any{"type": "ref/resource", "uri": a.base + "/api/signals/{id}"}, map[string]any{"name": "id", "value": "lng"}, []any{"lng-arbitrage"}},
		{map[string]any{"type": "ref/prompt", "name": "explain_signal"}, map[string]any{"name": "nothing", "value": "x"}, []any{}},
	} {
		got := a.result("completion/complete", map[string]any{"ref": tt.ref, "argument": tt.argument})["completion"].(map[string]any)["values"]
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.argument, diff)
		}
	}
}

// doorTold compares the descriptions of the handler with its actual address.
func doorTold(t *testing.T, a *agents) {
	for _, path := range []string{"/server.json", "/.well-known/mcp.json"} {
		got := a.ask(http.MethodGet, path, "Origin", "https://example.org")
		d := a.object(got)
		want := []any{map[string]any{"type": "streamable-http", "url": a.base + "/api/mcp"}}
		if diff := cmp.Diff(want, d["remotes"]); diff != "" {
			t.Errorf("%s: remotes (-want +got):\n%s", path, diff)
		}
		if d["name"] != "localhost/tidemark" || d["version"] != "1.2.3" || len(d["description"].(string)) > 100 || got.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %v %v", path, got.Header, d)
		}
	}
	var names []string
	for _, tool := range a.get("/.well-known/mcp.json")["tools"].([]any) {
		names = append(names, tool.(map[string]any)["name"].(string))
	}
	slices.Sort(names)
	if !slices.Equal(names, toolNames) {
		t.Errorf("tools %v, want %v", names, toolNames)
	}
}
