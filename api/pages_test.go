package api_test

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/accounts"
	"tidemark/internal/postgres"
)

const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

var (
	links      = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	inline     = regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|<script(?: [^>]*)?>`)
	dataBlock  = regexp.MustCompile(`(?s)<script type="application/(?:ld\+)?json">(.*?)</script>`)
	ownModule  = regexp.MustCompile(`<script type="module" src="/static/[a-z-]+\.[0-9a-f]{12}\.js"></script>`)
	described  = regexp.MustCompile(`<meta name="description" content="[^"]{20,}">`)
	titled     = regexp.MustCompile(`<title>[^<]+</title>`)
	aHeading   = regexp.MustCompile(`<h1[ >]`)
	everything = []string{
		"/", "/signals/crack-spread-321", "/signals/hormuz-transit", "/signals/lng-arbitrage", "/signals/crack-spread-321/brief",
		"/problems/not_found", "/problems/unknown-signal",
		"/docs", "/calendar", "/compare", "/status", "/terms", "/changelog", "/changelog?cursor=2",
	}
)

func TestTheDataOfEachStretchOfAPlotCanBeLoaded(t *testing.T) {
	t.Parallel()
	s := told(t)
	for _, query := range []string{"", "?range=3m", "?range=1y", "?range=5y", "?range=all"} {
		page := "/signals/crack-spread-321" + query
		a := s.ask(http.MethodGet, page, "Accept", browser)
		stretch := 0
		for _, found := range links.FindAllStringSubmatch(string(a.body), -1) {
			address := html.UnescapeString(found[1])
			if !strings.HasPrefix(address, "/api/signals/crack-spread-321/history") {
				continue
			}
			if strings.Contains(address, "&from=") {
				stretch++
			}
			if got := s.ask(http.MethodGet, address); got.StatusCode != http.StatusOK {
				t.Errorf("%s links to %s: %s", page, address, got.Status)
			}
		}
		if all := strings.HasSuffix(query, "=all"); stretch < 3 && !all {
			t.Errorf("%s links to %d files of its stretch, want CSV, NDJSON and JSON", page, stretch)
		}
	}
}

func TestPagesAreReadable(t *testing.T) {
	t.Parallel()
	s := start(t, setup{stored: []postgres.Snapshot{full(), partial()}})
	for _, path := range append([]string{"/none"}, everything...) {
		a := s.ask(http.MethodGet, path, "Accept", browser)
		body := string(a.body)
		if wantStatus := map[bool]int{true: 404, false: 200}[path == "/none"]; a.StatusCode != wantStatus ||
			a.Header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%s: %s as %s", path, a.Status, a.Header.Get("Content-Type"))
		}
		if !strings.HasPrefix(a.Header.Get("Content-Security-Policy"), "default-src 'self';") {
			t.Errorf("%s: its policy is %q", path, a.Header.Get("Content-Security-Policy"))
		}
		if !strings.Contains(body, `<html lang="en">`) || !described.MatchString(body) || !titled.MatchString(body) {
			t.Errorf("%s lacks a language, a description or a title", path)
		}
		if n := len(aHeading.FindAllString(body, -1)); n != 1 {
			t.Errorf("%s has %d first headings, want 1", path, n)
		}
		if found := inline.FindString(ownModule.ReplaceAllString(dataBlock.ReplaceAllString(body, ""), "")); found != "" {
			t.Errorf("%s has %q, which its policy refuses", path, found)
		}
		if strings.Contains(body, `="&#34;`) { // html/template takes data-on… for a script
			t.Errorf("%s has an attribute whose value is in quotation marks", path)
		}
		if !strings.Contains(body, "not personalized investment advice") {
			t.Errorf("%s lacks the disclaimer", path)
		}
	}
}

func TestPagesShowTheSnapshot(t *testing.T) {
	t.Parallel()
	s := start(t, setup{stored: []postgres.Snapshot{full(), partial()}})
	tests := map[string][]string{
		"/": {"3:2:1 crack spread", "22.50", "+1.25", "March 2, 2026", "fresh", "Hormuz &lt;transits&gt;", "no data"},
		"/signals/crack-spread-321": {
			"22.50", "USD/bbl", "21.25 to 23.75", "20.00", "mean of five years", "+12.5%", "+1.25", "WTI, Cushing", "71.50",
			"Public domain; acknowledgement requested", "https://upstream.example/data?a=1&amp;b=2", "https://upstream.example/terms",
			strings.Repeat("ab", 32), "It is &lt;not&gt; what is &amp; was sold.",
		},
		"/signals/lng-arbitrage":          {"unknown", "no data"},
		"/signals/crack-spread-321/brief": {"<code>a</code>", "<strong>b</strong>", `<td align="right">1</td>`, "<!-- raw HTML omitted -->"},
		"/problems/unknown-signal":        {"Unknown signal", "unknown_signal", "404"},
	}
	for path, want := range tests {
		body := strings.ReplaceAll(string(s.ask(http.MethodGet, path).body), "&#43;", "+")
		for _, w := range want {
			if !strings.Contains(body, w) {
				t.Errorf("%s lacks %q", path, w)
			}
		}
	}
}

func TestDatasetInThePageIsTheAPIs(t *testing.T) {
	t.Parallel()
	s := start(t, setup{stored: []postgres.Snapshot{full()}})
	for _, id := range []string{"crack-spread-321", "hormuz-transit"} {
		found := dataBlock.FindSubmatch(s.ask(http.MethodGet, "/signals/"+id).body)
		if found == nil {
			t.Fatalf("the page of %s has no data block", id)
		}
		var got any
		if err := json.Unmarshal(found[1], &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s.get("/api/signals/" + id)["json_ld"], got); diff != "" {
			t.Errorf("JSON-LD of %s (-api +page):\n%s", id, diff)
		}
	}
}

func TestLinksOfPagesResolve(t *testing.T) {
	t.Parallel()
	s := start(t, setup{stored: []postgres.Snapshot{full(), partial()}})
	seen := map[string]bool{}
	queue := append([]string{}, everything...)
	for len(queue) > 0 {
		path := queue[0]
		queue = queue[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		a := s.ask(http.MethodGet, path)
		if a.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, a.Status)
		}
		if !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
			continue
		}
		for _, m := range links.FindAllSubmatch(a.body, -1) {
			to, err := url.Parse(strings.ReplaceAll(string(m[1]), "&amp;", "&"))
			if err != nil {
				t.Fatal(err)
			}
			if base := strings.TrimPrefix(s.url, "http://"); (to.Host == "" || to.Host == base) && to.Path != "" {
				if to.Path == "/api/compare" { // it needs its query
					to.Path = to.RequestURI()
				}
				queue = append(queue, to.Path)
			}
		}
	}
	for _, want := range []string{"/signals/hormuz-transit/brief", "/api/signals/lng-arbitrage", "/api/signals/crack-spread-321/brief"} {
		if !seen[want] {
			t.Errorf("no link leads to %s", want)
		}
	}
}

func TestStaticFilesNeverChange(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	style := regexp.MustCompile(`/static/style\.[0-9a-f]{12}\.css`).Find(s.ask(http.MethodGet, "/").body)
	a := s.ask(http.MethodGet, string(style))
	if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != "text/css; charset=utf-8" ||
		a.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" {
		t.Errorf("%s: %s, %v", style, a.Status, a.Header)
	}
}

func TestTheForecastsHaveTheirOwnFeed(t *testing.T) {
	t.Parallel()
	s := start(t, setup{stored: []postgres.Snapshot{full()}, pushes: true})
	page := string(s.ask(http.MethodGet, "/signals/crack-spread-321/forecasts").body)
	feeds := regexp.MustCompile(`href="([^"]*atom[^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(feeds) < 3 {
		t.Fatalf("the page of forecasts links %v: the head, the text and the footer should name a feed", feeds)
	}
	for _, f := range feeds {
		a := s.ask(http.MethodGet, html.UnescapeString(f[1]))
		if a.StatusCode != http.StatusOK || !strings.Contains(string(a.body), "topics=forecast") {
			t.Errorf("the page of forecasts links %s: %s, %.200s", f[1], a.Status, a.body)
		}
	}
}

func TestPagesFollowTheData(t *testing.T) {
	t.Parallel()
	s := start(t, setup{stored: []postgres.Snapshot{full()}})
	before := s.ask(http.MethodGet, "/signals/crack-spread-321")
	same := s.ask(http.MethodGet, "/signals/crack-spread-321", "If-None-Match", before.Header.Get("ETag"))
	if same.StatusCode != http.StatusNotModified {
		t.Errorf("unchanged: %s, want 304", same.Status)
	}
	next := full()
	next.At, next.Value = noon, new(31.5)
	s.save(next)
	s.eventually("the page to show the new value", func() bool {
		a := s.ask(http.MethodGet, "/signals/crack-spread-321", "If-None-Match", before.Header.Get("ETag"))
		return a.StatusCode == http.StatusOK && strings.Contains(string(a.body), "31.50")
	})
}

func TestAPlotIsAPictureOfItsOwnAndCanBeEmbedded(t *testing.T) {
	t.Parallel()
	s := start(t, setup{stored: []postgres.Snapshot{full(), partial()}})
	for path, want := range map[string][]string{
		"/signals/crack-spread-321/revisions":   {": revisions</h1>", "/api/signals/crack-spread-321/vintages"},
		"/signals/crack-spread-321/forecasts":   {"3:2:1 crack spread", "No forecast is recorded yet", "/api/signals/crack-spread-321/scorecard"},
		"/evidence/crack-spread-321/latest":     {"Evidence for", "/brief", `id="hash-bytes"`, "evidence."},
		"/evidence/crack-spread-321/2026-03-02": {"Evidence for", "22.50"},
		"/embed/crack-spread-321":               {`target="_blank"`, "Observed", "/signals/crack-spread-321"},
		"/signals/crack-spread-321":             {"/signals/crack-spread-321/revisions"},
	} {
		a := s.ask(http.MethodGet, path)
		for _, w := range want {
			if a.StatusCode != http.StatusOK || !strings.Contains(string(a.body), w) {
				t.Errorf("%s: %s, lacks %q", path, a.Status, w)
			}
		}
	}
	framed := s.ask(http.MethodGet, "/embed/crack-spread-321")
	if policy := framed.Header.Get("Content-Security-Policy"); strings.Contains(policy, "frame-ancestors") || framed.Header.Get("X-Frame-Options") != "" {
		t.Errorf("another site may not show the plot: %s", policy)
	}
	if own := s.ask(http.MethodGet, "/signals/crack-spread-321").Header.Get("Content-Security-Policy"); !strings.Contains(own, "frame-ancestors 'none'") {
		t.Errorf("another site may frame the page: %s", own)
	}
	for _, path := range []string{"/evidence/none/latest", "/evidence/crack-spread-321/2020-01-01", "/evidence/crack-spread-321/x", "/evidence/none", "/embed/none", "/signals/none/revisions", "/signals/none/forecasts", "/signals/crack-spread-321/other", "/signals/crack-spread-321/brief/card.png"} {
		if a := s.ask(http.MethodGet, path); a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", path, a.Status)
		}
	}
	if a := s.ask(http.MethodGet, "/signals/crack-spread-321/revisions?cursor=x"); a.StatusCode != http.StatusBadRequest {
		t.Errorf("a cursor of nothing: %s", a.Status)
	}
}

// A frame on another site shows what is wrong, not the browser's empty box.
func TestAnEmbeddedPlotThatFailsSaysSoInItsFrame(t *testing.T) {
	t.Parallel()
	s := start(t, setup{stored: []postgres.Snapshot{full(), partial()}})
	for path, c := range map[string]struct {
		status int
		want   []string
	}{
		"/embed/crack-spread-321?range=20y&lang=es": {400, []string{`<html lang="es">`, "range puede ser", `href="SITE/signals/crack-spread-321?lang=es" target="_blank"`}},
		"/embed/crack-spread-321?as_of=1990-01-01":  {404, []string{"Nothing was known about this signal on January 1, 1990", `href="SITE/signals/crack-spread-321" target="_blank"`}},
		"/embed/none?lang=xx":                       {404, []string{"Nothing is served at this address.", `href="SITE/" target="_blank"`}},
	} {
		a := s.ask(http.MethodGet, path, "Accept", browser)
		body := html.UnescapeString(string(a.body))
		if policy := a.Header.Get("Content-Security-Policy"); policy == "" || strings.Contains(policy, "frame-ancestors") || a.Header.Get("X-Frame-Options") != "" {
			t.Errorf("%s: another site may not show the error: %q", path, policy)
		}
		if a.StatusCode != c.status || !strings.Contains(body, `<body class="embed">`) || strings.Contains(body, "<nav") {
			t.Errorf("%s: %s, not in the style of a frame", path, a.Status)
		}
		for _, w := range c.want {
			if w = strings.ReplaceAll(w, "SITE", s.url); !strings.Contains(body, w) {
				t.Errorf("%s: lacks %q in %s", path, w, body)
			}
		}
	}
	if a := s.ask(http.MethodGet, "/signals/crack-spread-321?range=20y", "Accept", browser); !strings.Contains(a.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
		t.Error("another site may frame the error of a page")
	}
}

// Each address leads to the canonical one in a single step, and never to another site.
func TestAnAddressWithASlashOrAnotherCodeLeadsToThePage(t *testing.T) {
	t.Parallel()
	s := publish(t, accounts.ModelBalance)
	s.offer(accounts.ModelBalance)
	for address, want := range map[string]string{
		"/signals/crack-spread-321/":                    "/signals/crack-spread-321",
		"/signals/crack-spread-321/revisions/?range=5y": "/signals/crack-spread-321/revisions?range=5y",
		"/picks/":                             "/picks",
		"/picks/2026-03-02/?lang=es":          "/picks/2026-03-02?lang=es",
		"/docs/?utm_source=a%2Fb":             "/docs?utm_source=a%2Fb",
		"/compare/?lag=2&first=lng-arbitrage": "/compare?first=lng-arbitrage&lag=2",
		"/embed/crack-spread-321/":            "/embed/crack-spread-321",
		"/signals":                            "/",
		"/signals/?lang=pt-BR":                "/?lang=pt",
		"/research":                           "/picks",
		"/research/":                          "/picks",
		"/evidence/crack-spread-321":          "/evidence/crack-spread-321/latest",
		"/evidence/crack-spread-321/?as_of=2026-03-02": "/evidence/crack-spread-321/latest?as_of=2026-03-02",
		"/?lang=EN":                             "/?lang=en",
		"/picks?status=closed&lang=pt_br":       "/picks?lang=pt&status=closed",
		"/signals/crack-spread-321?lang=es-419": "/signals/crack-spread-321?lang=es",
	} {
		a := s.ask(http.MethodGet, address, "Accept", browser)
		if to := a.Header.Get("Location"); a.StatusCode != http.StatusPermanentRedirect || to != want {
			t.Errorf("%s: %s to %q, want %q", address, a.Status, to, want)
			continue
		}
		if a := s.ask(http.MethodGet, want, "Accept", browser); a.StatusCode >= http.StatusMultipleChoices && a.StatusCode < http.StatusBadRequest {
			t.Errorf("%s leads on to %q", want, a.Header.Get("Location"))
		}
	}
	for _, address := range []string{
		"/%2Fevil.example/", "/%2Fevil.example", "/%2F%2Fevil.example/", "/%5Cevil.example/", "/%5C%2Fevil.example/", "/%09/evil.example/", "/evil.example/",
		"/nothing/", "/static/", "/?lang=//evil.example", "/?lang=xx", "/?lang=english", "/?lang=",
	} {
		if a := s.ask(http.MethodGet, address, "Accept", browser); a.StatusCode == http.StatusPermanentRedirect {
			t.Errorf("%s leads to %q", address, a.Header.Get("Location"))
		}
	}
	for _, address := range []string{"//evil.example", "//evil.example/", "//evil.example/picks/", "/signals//evil.example/", "/signals/%2F%2Fevil.example/", "/evidence/%2Fevil.example/", "/picks/%2Fevil.example/", "/picks/%5Cevil.example/", "/picks/%0d%0aX: y/"} {
		to := s.ask(http.MethodGet, address, "Accept", browser).Header.Get("Location")
		if to != "" && (!strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\r\n")) {
			t.Errorf("%s leads to %q", address, to)
		}
	}
}

// framedLine is the line of HTML that a signal's page offers for other sites. A page shows it as text, hence escaped twice.
var framedLine = regexp.MustCompile(`src="([^"]*/embed/[^"]*)"`)

func TestTheEmbeddedPlotKeepsTheViewAndTheLanguageOfThePage(t *testing.T) {
	t.Parallel()
	s := told(t)
	day := noon.AddDate(0, 0, -2).Format("2006-01-02") // the newest value was 22 then, and is 18 now
	for query, want := range map[string]struct{ address, title string }{
		"?as_of=" + day + "&range=3m":            {"range=3m&as_of=" + day + "&lang=en", "22"},
		"?range=5y&lang=es":                      {"range=5y&lang=es", "18,00"},
		"?from=2026-02-01&to=2026-03-05&lang=pt": {"from=2026-02-01&to=2026-03-05&lang=pt", "18,00"},
		"?as_of=" + day + "&lang=hi":             {"range=1y&as_of=" + day + "&lang=hi", "22.00"},
		"?lang=en":                               {"range=1y&lang=en", "18"},
	} {
		page := s.ask(http.MethodGet, "/signals/crack-spread-321"+query, "Accept", browser)
		line := framedLine.FindStringSubmatch(html.UnescapeString(string(page.body)))
		if line == nil {
			t.Errorf("%s offers no line: %s", query, page.Status)
			continue
		}
		address := html.UnescapeString(line[1])
		if !strings.HasSuffix(address, "/embed/crack-spread-321?"+want.address) {
			t.Errorf("%s offers %s, want %s", query, address, want.address)
		}
		framed := s.ask(http.MethodGet, "/embed/crack-spread-321?"+want.address, "Accept-Language", "tlh")
		if title := titled.FindString(string(framed.body)); framed.StatusCode != http.StatusOK || !strings.Contains(title, want.title) {
			t.Errorf("%s: %s, its title is %q, want %s", want.address, framed.Status, title, want.title)
		}
		if strings.Contains(query, "as_of") && !strings.Contains(string(framed.body), day) {
			t.Errorf("%s does not say that it is as of %s", want.address, day)
		}
		if back := "/signals/crack-spread-321?" + strings.TrimSuffix(want.address, "&lang=en"); !strings.Contains(html.UnescapeString(string(framed.body)), back) {
			t.Errorf("%s does not lead back to %s", want.address, back)
		}
	}
	for query, status := range map[string]int{"?as_of=1999-01-01": 404, "?range=2w": 400, "?as_of=2126-01-01": 400} {
		if a := s.ask(http.MethodGet, "/embed/crack-spread-321"+query); a.StatusCode != status {
			t.Errorf("%s: %s, want %d", query, a.Status, status)
		}
	}
}

// A picture of a stretch that ends before the newest value has no word about the newest value.
func TestAPlotOfThePastDoesNotHaveTheFindingOfToday(t *testing.T) {
	t.Parallel()
	s := told(t)
	newest, earlier := estimate(4, 18).ObservedAt.Time(), estimate(3, 19).ObservedAt.Time()
	for _, path := range []string{"/signals/crack-spread-321/plot.svg", "/embed/crack-spread-321"} {
		for day, want := range map[time.Time]bool{newest: true, earlier: false} {
			a := s.ask(http.MethodGet, path+"?from=2026-01-01&to="+day.Format(time.DateOnly))
			text := string(a.body)
			if has := strings.Contains(text, "10% below"); a.StatusCode != http.StatusOK || has != want {
				t.Errorf("%s until %s: %s, has the newest value's finding: %v", path, day.Format(time.DateOnly), a.Status, has)
			}
			if has := strings.Contains(text, newest.Format(time.DateOnly+"T")); path == "/embed/crack-spread-321" && has != want {
				t.Errorf("%s until %s names the time of the newest value: %v", path, day.Format(time.DateOnly), has)
			}
		}
	}
}

// pictured are the address of a page's picture and the page's description of it.
var pictured = regexp.MustCompile(`<meta property="og:image" content="https?://[^/]+([^"]*)">[^<]*(?:<meta property="og:image:(?:width|height)" content="\d+">\s*)*<meta property="og:image:alt" content="([^"]*)">`)

func TestAPictureIsInTheLanguageOfItsPageAndTheTextSaysWhatIsInIt(t *testing.T) {
	t.Parallel()
	s := start(t, setup{stored: []postgres.Snapshot{full()}})
	bodies := map[string]string{}
	for _, c := range []struct{ lang, picture, words string }{
		{"en", "/signals/crack-spread-321/card.png", "Observed March 2, 2026; z +1.25"},
		{"es", "/signals/crack-spread-321/card.png?lang=es", "Observado el 2 de marzo de 2026; z +1,25"},
		{"pt", "/signals/crack-spread-321/card.png?lang=pt", "Observado em 2 de março de 2026; z +1,25"},
		{"hi", "/signals/crack-spread-321/card.png", "आँकड़े की तारीख़: 2 मार्च 2026; z +1.25. चित्र में लिखा पाठ अंग्रेज़ी में है।"},
	} {
		page := s.ask(http.MethodGet, "/signals/crack-spread-321?lang="+c.lang, "Accept", browser)
		found := pictured.FindStringSubmatch(string(page.body))
		if found == nil {
			t.Fatalf("%s: the page has no picture: %s", c.lang, page.Status)
		}
		if alt := html.UnescapeString(found[2]); html.UnescapeString(found[1]) != c.picture || !strings.Contains(alt, c.words) {
			t.Errorf("%s: the picture is %s with %q, want %s with %q", c.lang, found[1], alt, c.picture, c.words)
		}
		a := s.ask(http.MethodGet, c.picture)
		if a.StatusCode != http.StatusOK || !strings.HasPrefix(string(a.body), "\x89PNG") {
			t.Errorf("%s: %s", c.picture, a.Status)
		}
		bodies[c.lang] = string(a.body)
	}
	if bodies["en"] != bodies["hi"] || bodies["en"] == bodies["es"] || bodies["es"] == bodies["pt"] {
		t.Error("the pictures do not differ by language, or the one of Hindi is not the English one")
	}
}
