package api_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/accounts"
	"tidemark/api"
	"tidemark/api/endpoint"
	"tidemark/api/pages"
	"tidemark/api/view"
	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/picks"
)

// The pick that is recorded but not announced. Its day is the Monday after the week of the fixture. The other ticker does not exist.
const (
	canary, canaryTicker, nobodysTicker = equity.CIK(7331), "ZQXCAN", "ZQXCAM"
	canaryDay, canaryPrice              = "2026-03-09", "1337.77"
	canaryWord                          = "Zyxquoll"
)

// hatch records the pick and its card, as a worker does before the announcement.
func (p *published) hatch() (secrets []string) {
	t, ctx := p.t, p.t.Context()
	t.Helper()
	at := calendar.At(date(t, canaryDay), 17*time.Hour+30*time.Minute)
	if err := p.worker.SetClock(ctx, &at); err != nil {
		t.Fatal(err)
	}
	c := card(t, canary, canaryDay, 1)
	c.Ticker, c.Name = canaryTicker, canaryWord+" Works"
	for _, lang := range picks.Langs() {
		say := canaryWord + " is secret, " + string(lang)
		c.Texts[lang] = postgres.ResearchTextOf(picks.Texts{
			Lang: lang, SummaryWhy: say, WhatItDoes: say, WhyChosen: say, MainRisk: say, FullResearch: say,
		}, "rules")
	}
	pick, added, err := p.worker.RecordPick(ctx, task.Fence{}, postgres.NewPick{
		Ticker: canaryTicker, Price: canaryPrice, Date: canaryDay, CIK: canary, Name: c.Name, Exchange: "XNAS", Sector: "Technology",
		Region: "North America", Country: "US", Currency: "USD", Origin: "method", Reason: canaryWord,
	}, c, 0)
	if err != nil || !added {
		t.Fatal(added, err)
	}
	return []string{canaryWord, canaryPrice, pick.Hash, canaryTicker, canaryWord[1:]}
}

// blanks are the values for the placeholders of patterns. A missing placeholder fails the test: decide what could be requested there.
var blanks = map[string][]string{
	"{id}": {"crack-spread-321"}, "{ticker}": {"ACME", "CORO"}, "{tx_hash}": {"0x" + strings.Repeat("ab", 32)}, "{$}": {""}, "{sha256}": {strings.Repeat("ab", 32)}, "{period}": {"2026-03-16", canaryDay},
}

// Responses that differ from one moment to the next for any request: times, counters, and data of a key.
var restless = regexp.MustCompile(`^/(healthz|readyz|status|api/v1/(account|info|verify|x402/info|payments|auth)|verify|dashboard|api/mcp)`)

// addresses returns the addresses of the router and of the pages, with all placeholders filled in.
func addresses(t *testing.T, s *api.Server, site *pages.Pages) (list []string) {
	t.Helper()
	paths := []string{
		"/signals/crack-spread-321", "/signals/crack-spread-321/brief", "/signals/crack-spread-321/card.png", "/signals/crack-spread-321/revisions", "/signals/crack-spread-321/plot.svg", "/embed/crack-spread-321", "/evidence/crack-spread-321/latest", "/problems/not_found",
		"/research/ACME", "/research/ACME/card.png", "/research/CORO", "/picks/2026-03-02", "/picks/2026-03-02/card.png", "/picks/" + canaryDay, "/sitemap.xml", "/robots.txt", "/.well-known/security.txt",
	}
	covered := map[string]bool{"/signals/": true, "/problems/": true, "/research/": true, "/picks/": true, "/embed/": true, "/evidence/": true}
	for _, path := range site.Paths() {
		if strings.HasSuffix(path, "/") && path != "/" {
			if !covered[path] {
				t.Errorf("nothing below %s is looked at", path)
			}
			continue
		}
		paths = append(paths, path)
	}
	for _, r := range s.Routes() {
		if r[0] == http.MethodGet {
			paths = append(paths, filled(t, r[1])...)
		}
	}
	slices.Sort(paths)
	queries := []string{
		"", "?format=csv", "?format=ndjson", "?format=json", "?format=parquet", "?format=arrow", "?lang=zh", "?lang=es", "?limit=1", "?limit=500", "?date=" + canaryDay, "?from=" + canaryDay + "&to=" + canaryDay,
		"?from=2026-03-01", "?as_of=2026-03-09T23:00:00Z", "?status=open", "?sector=Technology", "?country=US", "?as_of=2026-03-9", "?limit=x",
	}
	for _, path := range slices.Compact(paths) {
		if path == "/api/stream" { // it would not end
			list = append(list, path+"?after=0&seconds=1", path+"?topics=pick&after=0&seconds=1")
			continue
		}
		for _, q := range queries {
			list = append(list, path+q)
		}
	}
	return list
}

func filled(t testing.TB, pattern string) []string {
	t.Helper()
	list := []string{pattern}
	for _, place := range regexp.MustCompile(`\{[^}]*\}`).FindAllString(pattern, -1) {
		values, ok := blanks[place]
		if !ok {
			t.Errorf("the test does not know what stands at %s of %s", place, pattern)
		}
		var next []string
		for _, v := range values {
			for _, p := range list {
				next = append(next, strings.Replace(p, place, v, 1))
			}
		}
		list = next
	}
	return list
}

// askers are the callers and their header fields.
func (p *published) askers() map[string][]string {
	key := "Bearer " + p.key
	return map[string][]string{
		"anybody": nil, "a key": {"Authorization", key}, "a browser": {"Accept", "text/html"}, "a table": {"Accept", "text/csv", "Authorization", key},
		"a reader of text": {"Accept", "text/markdown"}, "gzip": {"Accept-Encoding", "gzip"},
	}
}

// trace is the observable part of a response besides its body.
type trace struct {
	status, length int
	etag           string
}

// walk sends every request as every caller. It returns where a secret appears, and the trace of each response.
func (p *published) walk(list, secrets []string) (found []string, all map[string]trace) {
	p.t.Helper()
	all = map[string]trace{}
	askers := p.askers()
	for _, address := range list {
		_, query, _ := strings.Cut(address, "?")
		for _, who := range slices.Sorted(maps.Keys(askers)) {
			// What varies by caller is not tested with every parameter as well.
			if who != "a key" && who != "anybody" && query != "" && !strings.HasPrefix(query, "format=") {
				continue
			}
			a := p.ask(http.MethodGet, address, askers[who]...)
			text := string(a.body)
			if a.Header.Get("Content-Encoding") == "gzip" {
				text = string(plainOf(p.t, a.body))
			}
			for name, values := range a.Header {
				text += "\n" + name + ": " + strings.Join(values, ", ")
			}
			for _, s := range secrets {
				if strings.Contains(text, s) {
					found = append(found, fmt.Sprintf("%s, asked by %s: %s", address, who, s))
				}
			}
			if !restless.MatchString(address) {
				all[address+" "+who] = trace{a.StatusCode, len(a.body), a.Header.Get("ETag")}
			}
		}
	}
	return found, all
}

func plainOf(t testing.TB, zipped []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// agents calls every tool and prompt and reads every resource.
func (p *published) agents(secrets []string) (found []string) {
	p.t.Helper()
	call := func(method string, params any) string {
		body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
		if err != nil {
			p.t.Fatal(err)
		}
		a := p.askWith(http.MethodPost, "/api/mcp", string(body), "Content-Type", "application/json", "Accept", "application/json, text/event-stream")
		for _, s := range secrets {
			if strings.Contains(string(a.body), s) {
				found = append(found, fmt.Sprintf("%s %s: %s", method, body, s))
			}
		}
		return string(a.body)
	}
	names := func(text, member string) (list []string) {
		for _, m := range regexp.MustCompile(`"`+member+`":"([^"]+)"`).FindAllStringSubmatch(text, -1) {
			list = append(list, m[1])
		}
		return list
	}
	tools := names(call("tools/list", map[string]any{}), "name")
	if len(tools) < 10 {
		p.t.Fatalf("only the tools %v", tools)
	}
	for _, tool := range tools {
		for _, args := range []map[string]any{{}, {"ticker": "ACME"}, {"limit": 5}, {"date": canaryDay}, {"ticker": "ACME", "date": canaryDay}, {"id": "crack-spread-321"}, {"id": "crack-spread-321", "as_of": canaryDay}} {
			call("tools/call", map[string]any{"name": tool, "arguments": args})
		}
	}
	for _, uri := range names(call("resources/list", map[string]any{}), "uri") {
		call("resources/read", map[string]any{"uri": uri})
	}
	call("resources/templates/list", map[string]any{})
	for _, name := range names(call("prompts/list", map[string]any{}), "name") {
		call("prompts/get", map[string]any{"name": name, "arguments": map[string]any{"ticker": "ACME"}})
	}
	return found
}

// journal stores a log.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

// show starts new servers with the current data of the database.
func (p *published) show(log *slog.Logger) (*api.Server, *pages.Pages) {
	t := p.t
	t.Helper()
	now := func() time.Time { return calendar.At(date(t, canaryDay), 17*time.Hour+45*time.Minute) }
	newTariff := endpoint.NewTariff
	if p.early {
		newTariff = endpoint.NewEarlyTariff
	}
	tariff, err := newTariff(accounts.ModelPlan, "") // it charges nothing for this many requests
	if err != nil {
		t.Fatal(err)
	}
	p.publications, err = view.NewPublications(view.PublicationsOptions{
		Store: p.db, PublicURL: "https://tidemark.example/", World: view.WorldSandbox, Now: now, Log: log,
		Info: view.InfoOptions{Version: "1", Tariff: tariff}, PicksEarly: p.early,
	})
	if err != nil {
		t.Fatal(err)
	}
	p.url = "https://tidemark.example" // always the same, because pages contain their own URL
	o := p.everything()
	o.Accounts.Tariff, o.Log = tariff, log
	p.run(p.publications.Run)
	p.run(o.Record.Run)
	p.serve(o)
	p.eventually("the first load", func() bool {
		return p.publications.State() != nil && o.Record.State() != nil && p.server.PushesLoaded()
	})
	return p.server, o.Pages.(*pages.Pages)
}

// Between its recording and its announcement a pick is invisible: at every address, to every caller and in every format. No response
// changes by a byte. The same search with the race detector is TestASealedPickStaysUnseenButForReadersWhoPay.
func TestAnUnannouncedPickStaysUnseen(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ free, logged bool }{
		"where the pages show everything": {}, "where they show what is free": {free: true}, "where a log is kept": {logged: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			unseen(t, tt.free, tt.logged, false)
		})
	}
}

func TestASealedPickStaysUnseenButForReadersWhoPay(t *testing.T) {
	t.Parallel()
	unseen(t, false, true, true)
}

func unseen(t *testing.T, free, logged, early bool) {
	t.Helper()
	p := publish(t, accounts.ModelBalance)
	p.free, p.early = free, early
	var kept journal
	log := slog.New(slog.NewTextHandler(&kept, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p.key = p.newKey(p.db, 900)
	var sealed *canaryLog
	if logged {
		sealed = p.keepLog()
	}
	server, site := p.show(log)
	list := addresses(t, server, site)
	_, before := p.walk(list, nil)
	if len(before) < 1000 {
		t.Fatalf("only %d answers were looked at", len(before))
	}

	secrets := p.hatch()
	if sealed != nil {
		secrets = append(secrets, sealed.secrets()...)
	}
	if early {
		sealed.cosign()
	}
	p.show(log)
	found, after := p.walk(list, secrets)
	if early {
		found = unpaid(t, found)
	}
	if sealed != nil {
		more, _ := p.walk(sealed.addresses(), secrets)
		found = append(found, more...)
		sealed.showsCommitment()
	}
	found = append(found, p.agents(secrets)...)
	found = append(found, p.post(server, secrets, "ACME")...)
	for _, f := range found {
		t.Error(f)
	}
	for _, address := range slices.Sorted(maps.Keys(before)) {
		if before[address] != after[address] && (!early || !beforePayment(address, after[address])) {
			t.Errorf("%s: %+v before the pick was made, %+v after", address, before[address], after[address])
		}
	}
	kept.mu.Lock()
	for _, s := range secrets {
		if strings.Contains(kept.text.String(), s) {
			t.Errorf("the log has %s", s)
		}
	}
	kept.mu.Unlock()
	p.guess(server)
	p.guessByPost(server)

	// After the announcement the same search finds it.
	at := calendar.At(date(t, canaryDay), 18*time.Hour)
	if err := p.worker.SetClock(t.Context(), &at); err != nil {
		t.Fatal(err)
	}
	if _, err := p.worker.AnnounceDue(t.Context(), task.Fence{}, at); err != nil {
		t.Fatal(err)
	}
	if sealed != nil {
		sealed.sequence()
	}
	p.show(log)
	if sealed != nil {
		sealed.isOpened(secrets)
	}
	if a := p.paid("/picks/early"); a.StatusCode != http.StatusNotFound {
		t.Errorf("announced, /picks/early answers %d", a.StatusCode)
	}
	if found, _ := p.walk([]string{"/api/v1/picks", "/picks", "/picks.atom", "/api/v1/verify/picks", "/sitemap.xml", "/api/v1/stocks", "/api/stream?after=0&seconds=1", "/api/stream/atom"}, secrets); len(found) < 12 {
		t.Errorf("announced, it is found at %v only", found)
	}
	if found := p.agents(secrets); len(found) == 0 {
		t.Error("announced, no tool has it")
	}
}

// posts are the bodies for addresses that accept one. TICKER is the placeholder for a ticker.
var posts = []struct{ mediaType, body string }{
	{"application/json", ""},
	{"application/json", "{"},
	{"application/json", `{"name":"TICKER"}`},
	{"application/json", `{"tx_hash":"TICKER"}`},
	{"application/json", `{"tx_hash":"0x` + strings.Repeat("ab", 32) + `"}`},
	{"application/x-www-form-urlencoded", "api_key=TICKER&tx_hash=TICKER&token=x"},
	{"application/json", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_stock_research","arguments":{"ticker":"TICKER"}}}`},
	{"application/json", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"verify_pick","arguments":{"ticker":"TICKER"}}}`},
	{"application/json", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"verify_pick","arguments":{"ticker":"TICKER","date":"` + canaryDay + `"}}}`},
	{"application/json", `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"verify_track_record"},"argument":{"name":"ticker","value":"TICK"}}}`},
	{"application/json", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"https://tidemark.example/api/v1/verify/pick/TICKER"}}`},
}

// post sends every body to each address that accepts one, with and without a key, and returns where a secret appears.
func (p *published) post(server *api.Server, secrets []string, ticker string) (found []string) {
	p.t.Helper()
	p.exchange(server, ticker, func(what, text string) {
		for _, s := range secrets {
			if strings.Contains(text, s) {
				found = append(found, what+": "+s)
			}
		}
	})
	return found
}

// exchange sends every body with a ticker, and passes each response with its header to see.
func (p *published) exchange(server *api.Server, ticker string, see func(what, text string)) {
	p.t.Helper()
	n := 0
	for _, r := range server.Routes() {
		if r[0] == http.MethodGet || r[0] == http.MethodDelete {
			continue
		}
		for _, path := range filled(p.t, r[1]) {
			for _, s := range posts {
				for _, key := range []string{"", "Bearer " + p.key} {
					if path == "/api/v1/keys/rotate" && key != "" {
						continue // it would replace the key
					}
					n++
					body := strings.NewReplacer("TICKER", ticker, "TICK", ticker[:4]).Replace(s.body)
					header := []string{"Content-Type", s.mediaType, "Accept", "application/json, text/event-stream, text/html"}
					if key != "" {
						header = append(header, "Authorization", key)
					}
					a := p.askWith(r[0], path, body, header...)
					text := fmt.Sprintf("%d %s", a.StatusCode, a.body)
					for _, name := range slices.Sorted(maps.Keys(a.Header)) {
						if name != "Date" && name != "X-Request-Id" && name != "Content-Length" {
							text += "\n" + name + ": " + strings.Join(a.Header[name], ", ")
						}
					}
					see(fmt.Sprintf("%s %s %s, with a key: %t", r[0], path, s.body, key != ""), text)
				}
			}
		}
	}
	if n < 50 {
		p.t.Errorf("only %d requests were sent", n)
	}
}

// guessByPost sends the canary's ticker to each address that accepts a body. The response must equal the response for a ticker that does
// not exist.
func (p *published) guessByPost(server *api.Server) {
	p.t.Helper()
	// The parts that differ between responses: ids, times, and the data of a new key.
	own := regexp.MustCompile(`req_[0-9a-z]+|tmk_test_\w+|key_\w+|tidemark-session=[^;]*|name="token" value="[0-9a-f]*"|name="once" value="[^"]*"|"[0-9]{4}-[0-9]{2}-[0-9]{2}T[^"]*"|[-0-9]{10}(</span>)? [0-9]{2}:[0-9]{2} UTC|\w+ [0-9]{1,2}, [0-9]{4}, [0-9]{2}:[0-9]{2}\x{a0}UTC|RateLimit: .*`)
	var answers [2]map[string]string
	for i, ticker := range []string{canaryTicker, nobodysTicker} {
		answers[i] = map[string]string{}
		p.exchange(server, ticker, func(what, text string) {
			answers[i][what] = strings.ReplaceAll(own.ReplaceAllString(text, ""), ticker, "T")
		})
	}
	for what, a := range answers[0] {
		if b := answers[1][what]; a != b {
			of, other := firstDifference(a, b)
			p.t.Errorf("%s: for the canary there is %q, for nobody %q", what, of, other)
		}
	}
}

// firstDifference returns the first lines of two texts that differ.
func firstDifference(a, b string) (of, other string) {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return as[i], bs[i]
		}
	}
	n := min(len(as), len(bs))
	return strings.Join(as[n:], "\n"), strings.Join(bs[n:], "\n")
}

// guess requests the canary by name. The response must equal, byte for byte, the response for a name that does not exist.
func (p *published) guess(server *api.Server) {
	t := p.t
	t.Helper()
	var paths []string
	for _, r := range server.Routes() {
		if r[0] == http.MethodGet && strings.Contains(r[1], "{ticker}") {
			paths = append(paths, strings.ReplaceAll(r[1], "{ticker}", "%s"))
		}
	}
	paths = append(paths, "/research/%s", "/research/%s/card.png", "/research/%s?lang=zh", "/picks?cursor=%s", "/api/v1/picks?ticker=%s", "/api/v1/stocks?q=%s")
	requestID := regexp.MustCompile(`req_[0-9a-z]+`)
	ownTag := regexp.MustCompile(`[0-9a-f]{32}`) // a tag for one key and one address: it differs with the ticker in the address, whatever the body is
	askers := p.askers()
	for _, path := range paths {
		for _, who := range slices.Sorted(maps.Keys(askers)) {
			var answers [2]string
			for i, ticker := range []string{canaryTicker, nobodysTicker} {
				for _, form := range []string{ticker, strings.ToLower(ticker), ticker + "%20", ticker + url.QueryEscape("?date="+canaryDay)} {
					a := p.ask(http.MethodGet, fmt.Sprintf(path, form), askers[who]...)
					text := requestID.ReplaceAllString(string(a.body), "")
					text = strings.NewReplacer(ticker, "T", strings.ToLower(ticker), "t").Replace(text)
					tag := a.Header.Get("ETag")
					if strings.HasPrefix(a.Header.Get("Cache-Control"), "private") {
						tag = ownTag.ReplaceAllString(tag, "own")
					}
					answers[i] += fmt.Sprintf("%d %q %s\n", a.StatusCode, tag, text)
				}
			}
			if answers[0] != answers[1] {
				t.Errorf("%s, asked by %s: for the canary\n%s\nfor nobody\n%s", path, who, answers[0], answers[1])
			}
		}
	}
}
