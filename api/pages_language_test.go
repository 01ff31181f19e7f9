package api_test

import (
	"html"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tidemark/accounts"
	"tidemark/api/view"
	"tidemark/internal/postgres"
	"tidemark/signals"
)

func TestPagesComeInTheLanguageThatTheBrowserPrefers(t *testing.T) {
	t.Parallel()
	s := publish(t, accounts.ModelBalance)
	s.offer(accounts.ModelBalance)
	in := func(path, prefers string) (lang string, a answer) {
		a = s.ask(http.MethodGet, path, "Accept", browser, "Accept-Language", prefers)
		if a.StatusCode != http.StatusOK {
			t.Errorf("%s for %q: %s", path, prefers, a.Status)
		}
		_, rest, _ := strings.Cut(string(a.body), `<html lang="`)
		lang, _, _ = strings.Cut(rest, `"`)
		return lang, a
	}
	for _, path := range []string{"/picks", "/events", "/economic-events", "/digest", "/compare", "/calendar", "/signals/crack-spread-321/forecasts", "/signals/crack-spread-321/revisions", "/verify", "/status", "/terms", "/method", "/docs", "/signals/crack-spread-321/brief", "/picks?status=open", "/problems/not_found"} {
		tags, langs := map[string]bool{}, map[string]bool{}
		for _, c := range [][2]string{{"", "en"}, {"es-MX,es;q=0.9,en;q=0.5", "es"}, {"tlh,pt-BR;q=0.4", "pt"}, {"hi", "hi"}, {"tlh", "en"}, {"*", "en"}, {"es;q=0,en", "en"}} {
			lang, a := in(path, c[0])
			if lang != c[1] || !slices.Contains(a.Header.Values("Vary"), "Accept-Language") {
				t.Errorf("%s for %q is in %q, want %q; Vary is %v", path, c[0], lang, c[1], a.Header.Values("Vary"))
			}
			tags[a.Header.Get("ETag")], langs[lang] = true, true
		}
		if len(tags) != len(langs) {
			t.Errorf("%s has %d tags in %d languages", path, len(tags), len(langs))
		}
		named := path + "?lang=en"
		if strings.Contains(path, "?") {
			named = path + "&lang=en"
		}
		lang, a := in(named, "es")
		if lang != "en" || slices.Contains(a.Header.Values("Vary"), "Accept-Language") {
			t.Errorf("%s for a browser that prefers Spanish is in %q; Vary is %v", named, lang, a.Header.Values("Vary"))
		}
		if body := string(a.body); path == "/picks" && !strings.Contains(body, `href="/events?lang=en"`) {
			t.Error("the links of a page whose address names English do not name it")
		}
		// The tag of one language does not confirm another.
		_, spanish := in(path, "es")
		if b := s.ask(http.MethodGet, path, "Accept", browser, "Accept-Language", "pt", "If-None-Match", spanish.Header.Get("ETag")); b.StatusCode != http.StatusOK {
			t.Errorf("%s in Portuguese for the tag of the Spanish page: %s", path, b.Status)
		}
		if b := s.ask(http.MethodGet, path, "Accept", browser, "Accept-Language", "es", "If-None-Match", spanish.Header.Get("ETag")); b.StatusCode != http.StatusNotModified || !slices.Contains(b.Header.Values("Vary"), "Accept-Language") {
			t.Errorf("%s again in Spanish: %s, Vary %v", path, b.Status, b.Header.Values("Vary"))
		}
	}
	// What only developers read is in English, and the page says so in the reader's language. What surrounds it is in that language.
	for _, path := range []string{"/changelog"} {
		lang, a := in(path, "es")
		if lang != "es" || !strings.Contains(string(a.body), "Esta página está en inglés") || !strings.Contains(string(a.body), `<div lang="en">`) {
			t.Errorf("%s for a Spanish reader is in %q and does not say that its content is in English", path, lang)
		}
		if !strings.Contains(string(a.body), `data-copy="Copy" data-copied="Copied"`) {
			t.Errorf("%s for a Spanish reader has a button to copy English content that is not in English", path)
		}
		if lang, a = in(path, "en"); lang != "en" || strings.Contains(string(a.body), `<div lang="en">`) {
			t.Errorf("%s for an English reader is in %q", path, lang)
		}
	}
}

func TestEachKindOfProblemIsExplainedInEachLanguage(t *testing.T) {
	t.Parallel()
	s := publish(t, accounts.ModelBalance)
	s.offer(accounts.ModelBalance)
	said := map[string]string{}
	for _, kind := range view.ProblemKinds() {
		for lang, status := range map[string]string{"es": "Código HTTP", "pt": "Código HTTP", "hi": "HTTP कोड", "en": "Status"} {
			path := "/problems/" + strings.ReplaceAll(kind.Code, "_", "-") + "?lang=" + lang
			body := string(s.ask(http.MethodGet, path, "Accept", browser).body)
			for _, want := range []string{`<html lang="` + lang + `">`, "<dt>" + status + "</dt>", `<link rel="alternate" hreflang="hi" href="`, `/problems/` + kind.Code + `?lang=hi">`, `<a href="/problems/` + kind.Code + `?lang=pt" lang="pt"`} {
				if !strings.Contains(body, want) {
					t.Errorf("%s lacks %q", path, want)
				}
			}
			for _, of := range []string{kind.Title, kind.Meaning, kind.Remedy} {
				if has := strings.Contains(html.UnescapeString(body), ">"+of+"<"); has != (lang == "en") {
					t.Errorf("%s has the English %q: %t", path, of, has)
				}
			}
			for _, of := range []string{"%!", "%s", "(en inglés)", "(em inglês)", "अंग्रेज़ी में"} {
				if _, main, _ := strings.Cut(body, "<h1>"); strings.Contains(main, of) {
					t.Errorf("%s has %q", path, of)
				}
			}
			_, lead, _ := strings.Cut(body, `<p class="lead">`)
			if lead, _, _ = strings.Cut(lead, "</p>"); lead == "" || said[lang+lead] != "" {
				t.Errorf("%s says %q, as %s does", path, lead, said[lang+lead])
			}
			said[lang+lead] = kind.Code
		}
	}
	// Programs read English.
	a := s.ask(http.MethodGet, "/api/v1/nothing", "Accept", "application/json", "Accept-Language", "es")
	if !strings.Contains(string(a.body), `"title":"Not found"`) {
		t.Errorf("a program that prefers Spanish gets %s", a.body)
	}
}

func TestTheDocumentationIsInTheVisitorsLanguage(t *testing.T) {
	t.Parallel()
	s := publish(t, accounts.ModelBalance)
	s.offer(accounts.ModelBalance)
	canonical := map[string]string{"es": "?lang=es", "pt": "?lang=pt", "hi": "?lang=hi"}
	for lang, want := range map[string][]string{
		"en": {"<title>Documentation · Tidemark</title>", ">USD/bbl<", "Spanish, English, Portuguese and Hindi", ">0.01<", "trial balance of $", ">Try it<", `<span class="hidden">Python code</span>`},
		"es": {"<title>Documentación · Tidemark</title>", ">dólares por barril<", "español, inglés, portugués e hindi", ">0,01<", "saldo de prueba de ", ">Probar<", `href="/calendar?lang=es">el calendario`, "que se sabía", "<code>as_of</code>", `<span class="hidden">Código en Python</span>`, `data-copy="Copiar"`, `data-failed="La solicitud ha fallado: %s"`},
		"pt": {"<title>Documentação · Tidemark</title>", ">US$ por barril<", "espanhol, inglês, português e híndi", ">0,01<", ">Testar<", `href="/verify?lang=pt">recalcule a cadeia`},
		"hi": {"<title>दस्तावेज़ · Tidemark</title>", "स्पेनी, अंग्रेज़ी, पुर्तगाली और हिन्दी", ">0.01<", ">आज़माएँ<", "<b>बिना कुंजी के</b> x402"},
	} {
		body := string(s.ask(http.MethodGet, "/docs?code=python&lang="+lang, "Accept", browser).body)
		for _, w := range append(want, `hreflang="hi" href="`, `<link rel="canonical" href="https://tidemark.example/docs`+canonical[lang]+`">`, "<code>hormuz-transit</code>") {
			if !strings.Contains(body, w) {
				t.Errorf("/docs in %s has no %q", lang, w)
			}
		}
		if strings.Contains(body, "%!") || strings.Contains(body, `<div lang="en">`) || lang != "en" && strings.Contains(body, ">No signal has this id.<") {
			t.Errorf("/docs in %s has a place that is not filled, or English content", lang)
		}
	}
}

func TestPagesSayWhatWentWrongInTheVisitorsLanguage(t *testing.T) {
	t.Parallel()
	s := publish(t, accounts.ModelBalance)
	s.offer(accounts.ModelBalance)
	for _, c := range []struct {
		path, prefers string
		status        int
		lang, want    string
	}{
		{"/nothing-here", "es", 404, "es", "No encontrado"},
		{"/nothing-here?lang=pt", "es", 404, "pt", "Não encontrado"},
		{"/nothing-here?lang=pt", "es", 404, "pt", "Não há nada neste endereço."},
		{"/nothing-here?lang=es", "pt", 404, "es", "No hay nada en esta dirección."},
		{"/nothing-here?lang=hi", "es", 404, "hi", "इस पते पर कुछ नहीं है।"},
		{"/nothing-here", "", 404, "en", "Nothing is served at this address."},
		{"/nothing-here", "tlh", 404, "en", "Check the address"},
		{"/picks/2001-01-01", "es", 404, "es", "No hay selección para el 1 de enero de 2001: el historial empieza más tarde. <a href=\"/picks/2026-03-02?lang=es\">La primera selección: 2 de marzo de 2026.</a>"},
		{"/signals/crack-spread-321?range=7q", "pt", 400, "pt", "range pode ser"},
		{"/signals/crack-spread-321?as_of=2999-01-01", "hi", 400, "hi", "भविष्य में है"},
		{"/signals/crack-spread-321?as_of=garbage", "hi", 400, "hi", "as_of का मान तारीख़ नहीं है। तारीख़ इस तरह लिखें: "},
		{"/signals/crack-spread-321?from=garbage", "es", 400, "es", "from no es una fecha. Escriba la fecha así: "},
		{"/signals/crack-spread-321?as_of=2999-01-01", "en", 400, "en", "as_of is in the future: here it is March "},
		{"/picks/2001-01-01", "en", 404, "en", "There is no pick for January 1, 2001: the record begins later. <a href=\"/picks/2026-03-02\">The first pick: March 2, 2026.</a>"},
		{"/picks/2026-03-07", "en", 404, "en", "There is no pick for March 7, 2026: the exchange in New York is closed on weekends. <a href=\"/picks/2026-03-06\">The previous pick: March 6, 2026.</a>"},
		{"/picks/2026-03-08", "hi", 404, "hi", "शनिवार और रविवार को बंद रहता है"},
		{"/picks/2026-04-03", "pt", 404, "pt", "nesse dia a bolsa de Nova York não abre (Sexta-feira Santa). <a href=\"/picks/2026-03-06?lang=pt\">"},
		{"/picks/2026-12-25", "es", 404, "es", "ese día cierra la bolsa de Nueva York (Navidad)."},
		{"/picks/2026-12-28", "hi", 404, "hi", "न्यूयॉर्क के समय के अनुसार 18:00 बजे"},
		{"/picks/2026-12-28", "en", 404, "en", "The pick of December 28, 2026 is not announced yet. The usual time is 18:00 in New York. <a href=\"/picks/2026-03-06\">"},
		{"/picks/2026-03-04", "en", 404, "en", "No pick was announced for March 4, 2026. <a href=\"/picks/2026-03-03\">"},
		{"/compare?first=lng-arbitrage&second=lng-arbitrage&lang=hi", "", 400, "hi", "दोनों संकेत एक ही हैं"},
		{"/evidence/crack-spread-321/1990-01-01", "es", 404, "es", "1 de enero de 1990"},
		{"/picks?lang=xx", "pt", 400, "pt", "Español (es), English (en), Português (pt), हिन्दी (hi)"},
	} {
		a := s.ask(http.MethodGet, c.path, "Accept", browser, "Accept-Language", c.prefers)
		body := string(a.body)
		if a.StatusCode != c.status || !strings.Contains(body, `<html lang="`+c.lang+`">`) || !strings.Contains(body, c.want) {
			t.Errorf("%s for %q: %s, without %q or not in %s", c.path, c.prefers, a.Status, c.want, c.lang)
		}
		if vary := a.Header.Values("Vary"); !slices.Contains(vary, "Accept-Language") || !slices.Contains(vary, "Accept") {
			t.Errorf("%s: Vary is %v", c.path, vary)
		}
		if p := s.ask(http.MethodGet, c.path, "Accept", "application/json", "Accept-Language", c.prefers); strings.Contains(string(p.body), c.want) && c.lang != "en" && c.lang != "pt" {
			t.Errorf("%s tells programs in %s: %s", c.path, c.lang, p.body)
		}
	}
}

// TestLinksBetweenPagesKeepTheLanguage follows the links from the first page.
func TestLinksBetweenPagesKeepTheLanguage(t *testing.T) {
	t.Parallel()
	s := publish(t, accounts.ModelBalance)
	s.offer(accounts.ModelBalance)
	link := regexp.MustCompile(`<a [^>]*href="(/[^"]*)"[^>]*>`)
	pages := []string{"/"}
	seen := map[string]bool{"/": true}
	for n := 0; n < len(pages) && n < 80; n++ {
		page := pages[n]
		a := s.ask(http.MethodGet, page+"?lang=es", "Accept", browser)
		if a.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", page, a.Status)
			continue
		}
		for _, l := range link.FindAllStringSubmatch(string(a.body), -1) {
			to, err := url.Parse(html.UnescapeString(l[1]))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(l[0], "hreflang=") || strings.HasPrefix(to.Path, "/api/") || path.Ext(to.Path) != "" || slices.Contains([]string{"/archive", "/healthz", "/readyz"}, to.Path) || strings.HasPrefix(to.Path, "/dataset") {
				continue // another language by choice, data, a file
			}
			if to.Query().Get("lang") != "es" {
				t.Errorf("%s leads to %s", page, l[1])
			}
			if !seen[to.Path] {
				seen[to.Path] = true
				pages = append(pages, to.Path)
			}
		}
	}
	if len(pages) < 15 {
		t.Errorf("only %d pages: %v", len(pages), pages)
	}
}

func TestABacktestWithoutACaseIsNoTest(t *testing.T) {
	t.Parallel()
	snap := full()
	snap.Backtest = &postgres.Backtest{Method: signals.BacktestMethod, LookAheadReason: signals.LookAheadRecorded, HorizonDays: 30}
	s := start(t, setup{stored: []postgres.Snapshot{snap}})
	for lang, want := range map[string][2]string{
		"en": {"There is no test yet: none of the signal's values can be compared with what came after.", "Every value in this test"},
		"es": {"Todavía no hay prueba: ningún valor de la señal puede compararse con lo que ocurrió después.", "Todos los valores de esta prueba"},
		"pt": {"Ainda não há teste: nenhum valor do sinal pode ser comparado com o que veio depois.", "Todos os valores deste teste"},
		"hi": {"अभी कोई परीक्षण नहीं है: संकेत के किसी भी मान की तुलना बाद के नतीजे से नहीं की जा सकती।", "इस परीक्षण का हर मान"},
	} {
		body := html.UnescapeString(string(s.ask(http.MethodGet, "/signals/crack-spread-321?lang="+lang, "Accept", browser).body))
		if !strings.Contains(body, want[0]) || strings.Contains(body, want[1]) || strings.Contains(body, `id="plot-backtest"`) {
			t.Errorf("%s: the page shows a test without a case", lang)
		}
	}
}

// Each language names the inputs that a backtest read in a later state, and an error has the decimals of the signal's unit, which its column names.
func TestABacktestNamesItsDoubtsAndItsUnitInEachLanguage(t *testing.T) {
	t.Parallel()
	snap := full()
	snap.Backtest = &postgres.Backtest{
		Method: signals.BacktestMethod, LookAheadReason: signals.LookAheadRevised,
		LookAheadText: "Some values were there before the first request, and may differ from those that readers had. Their publisher changes old values: eia.RWTC, eia.EER.",
		Skill:         []postgres.ForecastSkill{{Stage: "all", N: 40, RMSE: new(8.5731), BaselineRMSE: new(13.7012)}},
	}
	s := start(t, setup{stored: []postgres.Snapshot{snap}})
	for lang, want := range map[string][]string{
		"en": {"The series in question: eia.RWTC, eia.EER.", "RMSE, USD/bbl<"}, // the test's own English definition has no unit in words,
		"es": {"Las series en cuestión: eia.RWTC, eia.EER.", "RMSE, dólares por barril<", ">8,57<", ">13,70<"},
		"pt": {"As séries em questão: eia.RWTC, eia.EER.", "RMSE, US$ por barril<", ">US$ 8,57<"},
		"hi": {"संबंधित शृंखलाएँ: eia.RWTC, eia.EER।", "RMSE, डॉलर प्रति बैरल<", ">8.57<"},
	} {
		body := strings.ReplaceAll(html.UnescapeString(string(s.ask(http.MethodGet, "/signals/crack-spread-321?lang="+lang, "Accept", browser).body)), "\u00a0", " ")
		for _, w := range want {
			if !strings.Contains(body, w) {
				t.Errorf("%s: the page lacks %q", lang, w)
			}
		}
		if strings.Contains(body, "were there before the first request") {
			t.Errorf("%s: the page has the text of the API", lang)
		}
	}
}
