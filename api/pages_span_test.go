package api_test

import (
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/series"
)

func TestAStretchOfAPlotIsInItsAddress(t *testing.T) {
	t.Parallel()
	s := told(t)
	const page = "/signals/crack-spread-321"
	first, last := "", ""
	for _, row := range s.get("/api/signals/crack-spread-321/history?limit=500")["data"].([]any) {
		at := row.(map[string]any)["observed_at"].(string)[:10]
		if first == "" || at < first {
			first = at
		}
		if at > last {
			last = at
		}
	}
	if first == last {
		t.Fatalf("the signal has one day only: %s", first)
	}
	open := func(query string, status int) string {
		t.Helper()
		a := s.ask(http.MethodGet, page+query, "Accept", browser)
		if a.StatusCode != status {
			t.Fatalf("%s: %s, want %d", query, a.Status, status)
		}
		return html.UnescapeString(string(a.body))
	}
	has := func(query, body string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s has no %s", query, want)
			}
		}
	}
	words := func(day string) string {
		t.Helper()
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		return at.Format("January 2, 2006")
	}
	// One day, to its end: one point, and its files are of this day.
	query := "?from=" + last + "&to=" + last
	has(query, open(query, http.StatusOK), "Points in this view (1):", "history?format=csv&from="+last+"&to="+last, "plot.svg?from="+last+"&to="+last,
		`name="from" value="`+last+`"`, `name="to" value="`+last+`"`, ", "+words(last)+"</title>")
	// One end alone is enough.
	query = "?from=" + first + "&as_of="
	body := open(query, http.StatusOK)
	has(query, body, "plot.svg?from="+first+`"`, "from "+words(first))
	if strings.Contains(body, `aria-current="true">1y`) {
		t.Error("a named range is marked though days were chosen")
	}
	// Links lead to the stretches before and after it, and keep the day of the page.
	then := noon.AddDate(0, 0, -2).Format("2006-01-02")
	query = "?from=" + first + "&to=" + last + "&as_of=" + then
	has(query, open(query, http.StatusOK), "range=all&as_of="+then+"#history", `data-zoom="/signals/crack-spread-321?as_of=`+then+`"`)
	query = "?as_of=" + then
	has(query, open(query, http.StatusOK), "history?format=csv&as_of="+then+`"`, "history?format=ndjson&as_of="+then+`"`, "/history?as_of="+then+`"`,
		"/compare?first=crack-spread-321&as_of="+then+`"`)
	if query = "?to=" + first; !strings.Contains(open(query, http.StatusOK), "Points in this view (") {
		t.Errorf("%s shows no view", query)
	}
	has("", open("?from=1900-01-01&to=1900-12-31", http.StatusOK), "There is nothing to plot in this range.",
		"There is no value in this range. The history runs from "+words(first)+", to "+words(last)+".")
	if body := open("?from=1900-01-01&to=1900-12-31", http.StatusOK); strings.Contains(body, ">0 points") {
		t.Error("files without a point are offered")
	}
	has("", open("?from=2026-03-04&to=2026-03-03", http.StatusBadRequest), "The last day is before the first.")
	has("", open("?from=spring", http.StatusBadRequest), "from is not a date. Write a date like this: ")
	has("", open("?form=2026-03-04", http.StatusBadRequest), "Did you mean from?")
	// Titles name no day before the first and after the last value. A comparison takes the days of a chosen range.
	has("", open("?from=1990-01-01&to=9999-12-31", http.StatusOK), ", "+words(first)+" to "+words(last)+"</title>", `name="to" value="9999-12-31"`)
	has("", open("?from=0001-01-01&to=9999-12-31", http.StatusOK), ", until "+words(last)+"</title>")
	if a := s.ask(http.MethodGet, page+"/plot.svg?range=all"); !strings.Contains(string(a.body), ", "+words(first)+" to "+words(last)+".<") {
		t.Errorf("the picture of everything does not say its days: %s", a.body)
	}
	has("", open("?range=3m", http.StatusOK), `"/compare?first=crack-spread-321&from=2025-11-24"`)
	has("", open("?range=all", http.StatusOK), `"/compare?first=crack-spread-321"`)
	has("", open("", http.StatusOK), `"/compare?first=crack-spread-321"`)
	if a := s.ask(http.MethodGet, page+"/plot.svg?from="+first+"&to="+last); a.StatusCode != http.StatusOK || !strings.Contains(string(a.body), words(first)+" to "+words(last)) {
		t.Errorf("the picture of a stretch: %s %.200s", a.Status, a.body)
	}
	query = "?from=" + first + "&to=" + last + "&as_of=" + then + "&lang=es" // the picture names the page with its own view
	if a := s.ask(http.MethodGet, page+"/plot.svg"+query); !strings.Contains(html.UnescapeString(string(a.body)), page+query+"<") {
		t.Errorf("the picture of %s has another address: %s", query, a.body)
	}
}

// The points are of 20, 22, 23 and 24 February. At the end of 2 March, those of 20 to 22 were known.
func TestNoLinkLeadsBeyondThePointsThatThePageKnows(t *testing.T) {
	t.Parallel()
	s := told(t)
	neighbour := regexp.MustCompile(`<li><a href="/signals/crack-spread-321\?([^"#]*)#history"(?: rel="[a-z]*")?>(Earlier|Later|Wider)</a>`)
	for query, want := range map[string]map[string]string{
		"?from=2026-02-22&to=2026-02-24":                  {"Earlier": "from=2026-02-21&to=2026-02-23", "Wider": "from=2026-02-20&to=2026-02-24"},
		"?from=2026-02-20&to=2026-02-22":                  {"Later": "from=2026-02-21&to=2026-02-23", "Wider": "from=2026-02-20&to=2026-02-23"},
		"?from=2026-02-20&to=2026-02-23":                  {"Later": "from=2026-02-21&to=2026-02-24", "Wider": "from=2026-02-20&to=2026-02-24"},
		"?from=2026-02-23&to=2026-02-23":                  {"Earlier": "from=2026-02-22&to=2026-02-22", "Later": "from=2026-02-24&to=2026-02-24", "Wider": "from=2026-02-22&to=2026-02-24"},
		"?from=2026-02-21&to=2026-02-21":                  {"Earlier": "from=2026-02-20&to=2026-02-20", "Later": "from=2026-02-22&to=2026-02-22", "Wider": "from=2026-02-20&to=2026-02-22"},
		"?from=1900-01-01&to=1900-01-01":                  {"Later": "from=2026-02-20&to=2026-02-20", "Wider": "from=2026-02-20&to=2026-02-24"},
		"?range=all":                                      {},
		"?as_of=2026-03-02":                               {},
		"?from=2026-02-20&to=2026-02-21&as_of=2026-03-02": {"Later": "from=2026-02-21&to=2026-02-22&as_of=2026-03-02", "Wider": "from=2026-02-20&to=2026-02-22&as_of=2026-03-02"},
	} {
		a := s.ask(http.MethodGet, "/signals/crack-spread-321"+query, "Accept", browser)
		got := map[string]string{}
		for _, link := range neighbour.FindAllStringSubmatch(html.UnescapeString(string(a.body)), -1) {
			got[link[2]] = link[1]
		}
		if a.StatusCode != http.StatusOK || !maps.Equal(got, want) {
			t.Errorf("%s: %s, leads to %v, want %v", query, a.Status, got, want)
		}
	}
}

// The form sends the range, the days that it showed, and the days in its fields.
func TestALinkOfTheFormShowsTheSameAfterARelease(t *testing.T) {
	t.Parallel()
	s := told(t)
	const page = "/signals/crack-spread-321"
	open := func(address string) (location, body string) {
		t.Helper()
		a := s.ask(http.MethodGet, address, "Accept", browser)
		if a.StatusCode != http.StatusOK && a.StatusCode != http.StatusPermanentRedirect {
			t.Fatalf("%s: %s", address, a.Status)
		}
		return a.Header.Get("Location"), html.UnescapeString(string(a.body))
	}
	field := regexp.MustCompile(`<input[^>]* name="([^"]+)" value="([^"]*)"`)
	form := func(address string, with ...string) string {
		t.Helper()
		_, body := open(address)
		_, body, _ = strings.Cut(body, `<form method="get" action="`+page)
		body, _, _ = strings.Cut(body, "</form>")
		fields := url.Values{}
		for _, found := range field.FindAllStringSubmatch(body, -1) {
			fields.Set(found[1], found[2])
		}
		for i := 0; i < len(with); i += 2 {
			fields.Set(with[i], with[i+1])
		}
		return page + "?" + fields.Encode()
	}
	shown := regexp.MustCompile(`(?s)<title id="plot-value-title">.*?</desc>|<li><a [^>]*aria-current="true">[^<]*|<input type="date"[^>]*>`)
	links := map[string]string{ // links of the form, and of a form of earlier versions, by where they lead
		form(page+"?range=3m", "as_of", "2026-03-02"):                                 page + "?range=3m&as_of=2026-03-02",
		form(page, "as_of", "2026-03-02"):                                             page + "?range=1y&as_of=2026-03-02",
		form(page+"?range=all&lang=es&as_of=2026-03-02", "as_of", ""):                 page + "?range=all&lang=es",
		form(page+"?range=3m", "from", "", "to", ""):                                  page + "?range=3m",
		form(page+"?range=3m", "from", "2026-02-22", "as_of", "2026-03-02"):           page + "?from=2026-02-22&to=2026-02-24&as_of=2026-03-02",
		form(page+"?range=3m", "to", "", "as_of", "2026-03-02"):                       page + "?from=2026-02-20&as_of=2026-03-02",
		form(page+"?from=2026-02-20&to=2026-02-22", "as_of", "2026-03-02"):            "",
		page + "?range=3m&from=2026-02-20&to=2026-03-24&as_of=2026-03-02":             page + "?range=3m&as_of=2026-03-02",
		page + "?range=3m&from=2026-02-20&to=2026-02-22&as_of=2026-03-02&lang=pt":     page + "?from=2026-02-20&to=2026-02-22&as_of=2026-03-02&lang=pt",
		page + "?range=1y&from=2026-02-20&to=&as_of=":                                 page + "?from=2026-02-20",
		page + "?range=1y&from=2026-02-20&to=2026-02-24&shown=2026-02-20..2026-02-23": page + "?from=2026-02-20&to=2026-02-24",
	}
	follow := func(link, to string) (body string) {
		t.Helper()
		location, body := open(link)
		if location != to {
			t.Errorf("%s leads to %q, want %q", link, location, to)
		}
		if location != "" {
			_, body = open(location)
		}
		return body
	}
	before := map[string][]string{}
	for link, to := range links {
		body := follow(link, to)
		if strings.Contains(to, "range=") && strings.Contains(body, `name="shown"`) == strings.Contains(to, "from=") {
			t.Errorf("%s shows no named range", to)
		}
		before[link] = shown.FindAllString(body, -1)
	}
	s.say(noon.Add(-30*time.Minute), estimate(0, 20.5), estimate(2, 22), estimate(3, 19), estimate(4, 18), estimate(5, 17))
	s.eventually("a release", func() bool { return s.get(crack)["value"] == 17.0 })
	for link, to := range links {
		body := follow(link, to)
		if now := shown.FindAllString(body, -1); strings.Contains(link, "as_of=2026") && (len(now) < 4 || !slices.Equal(now, before[link])) {
			t.Errorf("after a release, %s shows %q, and showed %q", link, now, before[link])
		}
	}
	if a := s.ask(http.MethodGet, "/embed/crack-spread-321?range=3m&from=2026-02-20&to=2026-03-24&as_of=2026-03-02"); !strings.Contains(html.UnescapeString(string(a.body)), page+"?range=3m&as_of=2026-03-02") {
		t.Errorf("a frame with the days of a form: %s", a.Status)
	}
}

func TestAPlotShowsWhatWasFirstPublished(t *testing.T) {
	t.Parallel()
	s := told(t)
	open := func(query string) string {
		t.Helper()
		return string(s.ask(http.MethodGet, "/signals/crack-spread-321"+query, "Accept", browser).body)
	}
	if body := open("?range=all"); strings.Contains(body, "from what was first published") {
		t.Error("a point that was withdrawn counts as revised")
	}
	revised := estimate(3, 19.5)
	revised.KnownAt = series.InstantOf(noon.Add(-50 * time.Minute))
	s.say(noon.Add(-30*time.Minute), estimate(0, 20.5), estimate(2, 22), revised, estimate(4, 18))
	s.eventually("a revised point", func() bool { return strings.Contains(open("?range=all"), "differs from what was first published") })
	body := open("?range=all")
	if !strings.Contains(body, ">1 of the points differs from what was first published. This counts only points that were published after the history was loaded on February 24, 2026.<") || !strings.Contains(body, `class="line ghost"`) {
		t.Errorf("the first print is not drawn: %.3000s", body[strings.Index(body, "plot-history"):])
	}
	if body := open("/revisions"); !strings.Contains(body, `">19.00</td><td class="num" data-head="Value now">19.50</td>`) {
		t.Errorf("the revision is not on its page: %s", body[strings.Index(body, "</h1>"):])
	}
	if body := open("?range=all&as_of=" + noon.AddDate(0, 0, -1).Format("2006-01-02")); strings.Contains(body, "first published") {
		t.Error("a page of an earlier day compares with first prints; it compares with now")
	}
}

func TestAnErrorLeadsToTheSameViewOfTheFirstDayWithAValue(t *testing.T) {
	t.Parallel()
	s := told(t)
	for query, want := range map[string]string{
		"?range=5y&as_of=2010-01-01&lang=pt": `Nada se sabia sobre este sinal em 1º de janeiro de 2010. <a href="/signals/crack-spread-321?as_of=2026-03-02&range=5y&lang=pt">O primeiro valor foi conhecido em 2 de março de 2026.</a>`,
		"?as_of=2010-01-01":                  `Nothing was known about this signal on January 1, 2010. <a href="/signals/crack-spread-321?as_of=2026-03-02">Its first value became known on March 2, 2026.</a>`,
	} {
		a := s.ask(http.MethodGet, "/signals/crack-spread-321"+query, "Accept", browser)
		if body := html.UnescapeString(string(a.body)); a.StatusCode != http.StatusNotFound || !strings.Contains(body, want) {
			t.Errorf("%s: %s, lacks %s: %s", query, a.Status, want, body[strings.Index(body, "<h1"):])
		}
	}
}
