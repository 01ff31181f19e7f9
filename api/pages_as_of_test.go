package api_test

import (
	"html"
	"net/http"
	"strings"
	"testing"

	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

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
