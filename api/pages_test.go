package api_test

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/accounts"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
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
		if !strings.Contains(body, "not personalized investment advice") {
			t.Errorf("%s lacks the disclaimer", path)
		}
	}
}

func TestPagesShowTheSnapshot(t *testing.T) {
	t.Parallel()
	s := start(t, setup{stored: []postgres.Snapshot{full(), partial()}})
	tests := map[string][]string{
		"/": {"3:2:1 crack spread", "22.50", "+1.25", "March 2, 2026", "fresh", "Hormuz &lt;transits&gt;", "decayed"},
		"/signals/crack-spread-321": {
			"22.50", "USD/bbl", "21.25 to 23.75", "20.00", "mean of five years", "+12.5%", "+1.25", "WTI, Cushing", "71.50",
			"Public domain; acknowledgement requested", "https://upstream.example/data?a=1&amp;b=2", "https://upstream.example/terms",
			strings.Repeat("ab", 32), "It is &lt;not&gt; what is &amp; was sold.",
		},
		"/signals/lng-arbitrage":          {"unknown", "decayed"},
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

func TestSignalPageAsOf(t *testing.T) {
	t.Parallel()
	earlier := full()
	earlier.At, earlier.Value = noon.AddDate(0, 0, -2), new(19.25)
	s := start(t, setup{stored: []postgres.Snapshot{earlier, full()}})
	const path = "/signals/crack-spread-321"
	shows := func(query, want string, status int) {
		t.Helper()
		a := s.ask(http.MethodGet, path+query, "Accept", browser)
		if a.StatusCode != status || !strings.Contains(string(a.body), want) {
			t.Errorf("%s: %s, want %d with %q", query, a.Status, status, want)
		}
	}
	shows("", ">22.50</data>", 200)
	shows("?as_of="+noon.AddDate(0, 0, -2).Format("2006-01-02")+"&range=all", ">19.25</data>", 200)
	shows("?as_of="+noon.Format("2006-01-02"), ">22.50</data>", 200) // today means now
	shows("?as_of=&range=", ">22.50</data>", 200)                    // a form also sends its empty fields
	shows("?as_of=1999-01-01", "Nothing was known about this signal on January 1, 1999.", 404)
	shows("?as_of=1999-01-01", `href="/signals/crack-spread-321"`, 404)
	shows("?as_of="+noon.AddDate(0, 0, -2).Format("2006-01-02")+"&range=all", "Known now", 200)
	shows("?as_of="+noon.AddDate(0, 0, -2).Format("2006-01-02")+"&range=all", "format=csv&amp;as_of="+noon.AddDate(0, 0, -2).Format("2006-01-02"), 200)
	shows("?as_of=2126-01-01", "is in the future", 400)
	shows("?as_of=yesterday", "as_of is not a date", 400)
	// Every link of the page of a day keeps that day.
	then := noon.AddDate(0, 0, -2).Format("2006-01-02")
	for _, want := range []string{
		`href="/api/signals/crack-spread-321/inputs?as_of=` + then + `"`, `href="/evidence/crack-spread-321/latest?as_of=` + then + `"`,
		`/signals/crack-spread-321?as_of=` + then + `</cite>`, `type="application/json" href="/api/signals/crack-spread-321?as_of=` + then + `"`,
	} {
		shows("?as_of="+then, want, 200)
	}
	for _, want := range []string{"March 2, 2026, 12:00", `/inputs?as_of=2026-03-02T12:00:00Z"`, `/evidence?as_of=2026-03-02T12:00:00Z">`, `href="/signals/crack-spread-321?as_of=` + then + `">`} {
		a := s.ask(http.MethodGet, "/evidence/crack-spread-321/latest?as_of="+then, "Accept", browser)
		if a.StatusCode != http.StatusOK || !strings.Contains(string(a.body), want) {
			t.Errorf("the evidence of the day: %s, lacks %q", a.Status, want)
		}
	}
	if a := s.ask(http.MethodGet, "/evidence/crack-spread-321/latest?as_of=1999-01-01", "Accept", browser); a.StatusCode != http.StatusNotFound {
		t.Errorf("the evidence of a day on which nothing was known: %s", a.Status)
	}
	// So does the evidence of a number of a day: as the number stood then, with links that keep the instant.
	const number = "/evidence/crack-spread-321/"
	about := full().ObservedAt.Format("2006-01-02")
	for path, want := range map[string]string{
		about: ">22.50</data>", about + "?as_of=" + then: ">19.25</data>", about + "?as_of=" + then + "&lang=es": `href="/signals/crack-spread-321?as_of=` + then + `&amp;lang=es"`,
		"2026-03-03?as_of=" + then: `href="/evidence/crack-spread-321/` + about + "?as_of=" + then + `"`,
	} {
		a := s.ask(http.MethodGet, number+path, "Accept", browser)
		if a.StatusCode != http.StatusOK || !strings.Contains(string(a.body), want) || strings.Contains(path, "as_of") && !strings.Contains(string(a.body), "2026-03-02T12:00:00Z") {
			t.Errorf("%s: %s, lacks %q", path, a.Status, want)
		}
	}
	for path, want := range map[string]string{
		about + "?as_of=1999-01-01":        "Nothing was known about this signal on January 1, 1999.",
		"2020-01-01?as_of=" + then:         "The values are those known at the end of March 2, 2026, UTC. No figure refers to January 1, 2020 or an earlier day.",
		"2020-01-01?as_of=" + then + "&x=": `href="/evidence/crack-spread-321/` + about + "?as_of=" + then + `"`,
	} {
		if a := s.ask(http.MethodGet, number+path, "Accept", browser); a.StatusCode != http.StatusNotFound || !strings.Contains(string(a.body), want) {
			t.Errorf("%s: %s, lacks %q", path, a.Status, want)
		}
	}
	if a := s.ask(http.MethodGet, number+about+"?as_of=2126-01-01", "Accept", browser); a.StatusCode != http.StatusBadRequest {
		t.Errorf("the evidence of a day, known in the future: %s", a.Status)
	}
	shows("?range=2w", "range can be 3m, 1y, 5y or all", 400)
}

// A snapshot of a day before the first value exists, without a value.
func TestADayBeforeTheFirstValueLeadsToTheDayOfTheFirst(t *testing.T) {
	t.Parallel()
	s := told(t)
	empty := full()
	empty.At, empty.Value, empty.Lo, empty.Hi, empty.Baseline, empty.ObservedAt, empty.KnownAt = noon.AddDate(0, 0, -9), nil, nil, nil, nil, nil, nil
	if err := s.worker.SaveSnapshot(t.Context(), task.Fence{}, empty, nil); err != nil {
		t.Fatal(err)
	}
	const day = "2026-02-25"
	for lang, want := range map[string]string{
		"en": "Nothing was known about this signal on February 25, 2026. ", "es": "De esta señal no se sabía nada el 25 de febrero de 2026. ",
		"pt": "Nada se sabia sobre este sinal em 25 de fevereiro de 2026. ", "hi": "25 फ़रवरी 2026 को इस संकेत का कोई मान ज्ञात नहीं था। ",
	} {
		for _, page := range []string{"/signals/crack-spread-321", "/embed/crack-spread-321", "/evidence/crack-spread-321/latest", "/evidence/crack-spread-321/2026-02-20"} {
			a := s.ask(http.MethodGet, page+"?as_of="+day+"&lang="+lang, "Accept", browser)
			body := strings.ReplaceAll(html.UnescapeString(string(a.body)), "\u00a0", " ")
			if link := `<a href="` + page + "?as_of=2026-03-02&lang=" + lang + `">`; a.StatusCode != http.StatusNotFound || !strings.Contains(body, want+link) && !strings.Contains(body, want+strings.Replace(link, "&lang=en", "", 1)) {
				t.Errorf("%s in %s: %s, lacks %q and the link to the first day", page, lang, a.Status, want)
			}
		}
	}
	for path, status := range map[string]int{"card.png?as_of=" + day: http.StatusNotFound, "plot.svg?as_of=" + day: http.StatusNotFound, "card.png?as_of=2026-03-02": http.StatusOK} {
		if a := s.ask(http.MethodGet, "/signals/crack-spread-321/"+path); a.StatusCode != status {
			t.Errorf("%s: %s, want %d", path, a.Status, status)
		}
	}
}

// Who reads the page of a day either stays with that day, or is told that a page knows only now.
func TestLinksFromThePageOfADayKeepTheDayOrSaySo(t *testing.T) {
	t.Parallel()
	s := told(t)
	const signal, day = "/signals/crack-spread-321", "as_of=2026-03-02"
	open := func(address string, status int) string {
		t.Helper()
		a := s.ask(http.MethodGet, address, "Accept", browser)
		if a.StatusCode != status {
			t.Errorf("%s: %s, want %d", address, a.Status, status)
		}
		return strings.ReplaceAll(html.UnescapeString(string(a.body)), "\u00a0", " ")
	}
	has := func(address string, status int, wants ...string) {
		t.Helper()
		body := open(address, status)
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s lacks %q", address, want)
			}
		}
	}
	has(signal+"?"+day, 200, `href="`+signal+"/brief?"+day+`"`, `/revisions">revisions</a> (as known now)`)
	if strings.Contains(open(signal, 200), "(as known now)") {
		t.Error("the page of now says that a link leads to what is known now")
	}
	has(signal+"?from=2026-02-20&to=2026-02-22&"+day, 200, `href="/compare?first=crack-spread-321&from=2026-02-20&to=2026-02-22&`+day+`"`)
	has("/compare?first=crack-spread-321&second=hormuz-transit&from=2026-02-20&to=2026-02-22&"+day, 200,
		`href="`+signal+"?"+day+`&from=2026-02-20&to=2026-02-22"`, "(as known on March 2, 2026) · Tidemark</title>")
	has(signal+"/brief?"+day, 200, ">22.00</data>", "The figures are those known at the end of March 2, 2026, UTC.", `href="`+signal+"?"+day+`"`, `/card.png?`+day+`"`)
	has(signal+"/brief", 200, ">18.00</data>")
	has(signal+"/brief?as_of=garbage", 400, "as_of is not a date")
	has(signal+"/brief?as_of=1999-01-01", 404, "Nothing was known")
	has("/evidence/crack-spread-321/latest?"+day, 200, `href="`+signal+"/brief?"+day+`"`, `/card.png?`+day+`"`)
	for lang, want := range map[string][2]string{
		"en": {"This page shows only what is known now, not what was known on March 2, 2026.", "Show what is known now."},
		"es": {"Esta página solo muestra lo que se sabe hoy, no lo que se sabía el 2 de marzo de 2026.", "Mostrar lo que se sabe hoy."},
		"pt": {"Esta página mostra só o que se sabe hoje, não o que se sabia em 2 de março de 2026.", "Mostrar o que se sabe hoje."},
		"hi": {"यह पृष्ठ केवल वही दिखाता है जो अभी ज्ञात है, न कि वह जो 2 मार्च 2026 को ज्ञात था।", "अभी जो ज्ञात है, वह दिखाएँ।"},
	} {
		has(signal+"/revisions?"+day+"&lang="+lang, 400, want[0]+` <a href="`+signal+"/revisions", want[1]+"</a>")
	}
	has(signal+"/revisions?as_of=garbage", 400, "as_of is not a date")
	has("/?as_of=garbage", 400, "as_of is not a date")
	has(signal+"/revisions?as_of="+noon.Format("2006-01-02"), 200)
	has("/compare?range=1y&lag=2", 400, `range is not a parameter of this page. <a href="/compare?lag=2">Open the page without it.</a>`)
	for lang, want := range map[string]string{
		"en": "(as known on March 2, 2026)", "es": "(según lo conocido el 2 de marzo de 2026)", "pt": "(conforme conhecido em 2 de março de 2026)", "hi": "(जैसा 2 मार्च 2026 को ज्ञात था)",
	} {
		query := "?" + day + "&lang=" + lang
		has(signal+query, 200, want+" · Tidemark</title>", `og:title" content="`, want+` · Tidemark">`, strings.Trim(want, "()"))
		has(signal+"/plot.svg"+query, 200, want+"</text>")
		has("/embed/crack-spread-321"+query, 200, want+"</title>")
		has("/evidence/crack-spread-321/latest"+query, 200, want+" · Tidemark</title>")
	}
	for lang, want := range map[string]string{"en": "As known on March 2, 2026; Observed", "es": "Según lo conocido el 2 de marzo de 2026; Observado", "pt": "Conforme conhecido em 2 de março de 2026; Observado", "hi": "जैसा 2 मार्च 2026 को ज्ञात था; "} {
		has(signal+"?"+day+"&lang="+lang, 200, want)
	}
}

// A link to an earlier day shows that day when it is shared, and does not call its value the newest.
func TestThePictureOfAnEarlierDayIsOfThatDay(t *testing.T) {
	t.Parallel()
	earlier := full()
	earlier.At, earlier.Value, earlier.Baseline = noon.AddDate(0, 0, -2), new(19.25), new(18.0)
	s := start(t, setup{stored: []postgres.Snapshot{earlier, full()}})
	then := noon.AddDate(0, 0, -2).Format("2006-01-02")
	for _, c := range []struct{ query, picture, words, other string }{
		{"", "/signals/crack-spread-321/card.png", "12% above", "7% above"},
		{"?as_of=" + then, "/signals/crack-spread-321/card.png?as_of=" + then, "7% above", "12% above"},
		{"?as_of=" + then + "&range=3m&lang=pt", "/signals/crack-spread-321/card.png?as_of=" + then + "&lang=pt", "19,25", "22,50"},
	} {
		page := s.ask(http.MethodGet, "/signals/crack-spread-321"+c.query, "Accept", browser)
		found := pictured.FindStringSubmatch(string(page.body))
		if found == nil {
			t.Fatalf("%s: the page has no picture: %s", c.query, page.Status)
		}
		if alt := html.UnescapeString(found[2]); html.UnescapeString(found[1]) != c.picture || !strings.Contains(alt, c.words) || strings.Contains(alt, c.other) {
			t.Errorf("%s: the picture is %s with %q, want %s with %s", c.query, found[1], alt, c.picture, c.words)
		}
		if a := s.ask(http.MethodGet, c.picture); a.StatusCode != http.StatusOK || !strings.HasPrefix(string(a.body), "\x89PNG") {
			t.Errorf("%s: %s", c.picture, a.Status)
		}
		if newest := strings.Contains(string(page.body), `<span class="state fresh">`); newest != (c.query == "") {
			t.Errorf("%s: the value is called the newest: %t", c.query, newest)
		}
	}
	for path, to := range map[string]string{
		"/signals/crack-spread-321/card.png?as_of=" + noon.Format("2006-01-02"): "/signals/crack-spread-321/card.png",
		"/signals/crack-spread-321/card.png?lang=hi&as_of=" + then:              "/signals/crack-spread-321/card.png?as_of=" + then,
	} {
		if a := s.ask(http.MethodGet, path); a.StatusCode != http.StatusPermanentRedirect || a.Header.Get("Location") != to {
			t.Errorf("%s: %s to %q, want %s", path, a.Status, a.Header.Get("Location"), to)
		}
	}
	for path, status := range map[string]int{"?as_of=1999-01-01": http.StatusNotFound, "?as_of=2126-01-01": http.StatusBadRequest} {
		if a := s.ask(http.MethodGet, "/signals/crack-spread-321/card.png"+path); a.StatusCode != status {
			t.Errorf("%s: %s, want %d", path, a.Status, status)
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
