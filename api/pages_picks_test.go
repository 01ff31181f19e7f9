package api_test

import (
	"encoding/xml"
	"errors"
	"html"
	"net/url"
	"strings"
	"testing"
	"time"

	"tidemark/accounts"
	"tidemark/api/pages"
	"tidemark/api/view"
)

func TestPagesAboutPicks(t *testing.T) {
	t.Parallel()
	p := publish(t, accounts.ModelBalance)
	record, err := view.NewRecord(view.RecordOptions{
		Store: p.db, PublicURL: "https://tidemark.example", World: view.WorldSandbox, Now: p.view.Now, Log: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	p.run(record.Run)
	p.eventually("the record", func() bool { return record.State() != nil })
	site, err := pages.New(pages.Options{
		PublicURL: "https://tidemark.example/", World: view.WorldSandbox, View: p.view, Record: record, Publications: p.publications, Described: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	get := func(address string) (*view.Document, error) {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		page, err := site.Page(t.Context(), u, view.Visitor{})
		if page == nil {
			return nil, err
		}
		return page.Document, err
	}
	text := func(doc *view.Document) string { return html.UnescapeString(string(doc.Identity.Body)) }

	tests := map[string][]string{
		"/":                         {"BORL", "chain verified", "/picks.atom"},
		"/picks?lang=pt":            {`title="Seleções anunciadas"`, "<dd>US$\u00a026,00</dd>"},
		"/picks":                    {`lang="en"`, "<dd>$26.00</dd>", "ACME", "BORL", "100.00", "One stock each trading day", "differs by more than 0.5%: 1.", "(110.00 here, 111.25 by alphavantage)", `hreflang="hi"`},
		"/picks?lang=es":            {`lang="es"`, `title="Selecciones anunciadas"`, "<dd>26,00 dólares</dd>", "Selecciones", "(110,00 aquí; 111,25 según alphavantage)", "100,00", `/research/ACME?lang=es`},
		"/picks?status=closed":      {`aria-current="true">Closed`},
		"/research/acme":            {"(110.00 here, 111.25 by alphavantage)", `href="/picks/2026-03-02"`, `href="/picks/2026-03-05"`, "ACME", "SHA-256", "ACME|103.00|2026-03-05|", `href="https://tidemark.example/research/ACME"`, `<td><a href="https://example.com/10k" rel="external nofollow">Form 10-` + "\u2060" + `K</a></td>`},
		"/research/ACME?lang=hi":    {`lang="hi"`, "भाव", "शृंखला में स्थान"},
		"/picks/2026-03-02":         {"ACME", "As announced on", `href="/research/ACME"`, `href="/picks/2026-03-03" rel="next"`, "ACME|100.00|2026-03-02|", `href="https://tidemark.example/picks/2026-03-02"`, "/picks/2026-03-02/card.png"},
		"/picks/2026-03-05?lang=es": {`lang="es"`, "Tal como se anunció", "103,00"},

		"/method":                        {"Universe", "gross profitability", "ticker|price|date|previous_hash", "/signals/crack-spread-321/brief"},
		"/portfolio":                     {"Model portfolio", "SPY", `id="plot-return"`, `id="plot-drawdown"`, "Sectors", "Regions", "Returns include dividends.", "(110.00 here, 111.25 by alphavantage)", "Without any loss, the return would be +0.99%; with a total loss, −1.02%.", `<dt>One month (21 sessions)</dt><dd class=""><span class="quiet"`},
		"/portfolio?lang=es":             {"Las rentabilidades incluyen dividendos.", "(110,00 aquí; 111,25 según alphavantage)"},
		"/portfolio?lang=pt":             {"Os retornos incluem dividendos."},
		"/portfolio?lang=hi":             {"प्रतिफल में लाभांश शामिल है।"},
		"/events":                        {"Events", "ACME"},
		"/events?min_severity=5":         {`aria-current="true">critical`, `href="/events?max_severity=1">info only`},
		"/events?max_severity=1":         {`aria-current="true">info only`, `href="/events">All`, `href="/events?min_severity=5">critical`, "Nothing yet."},
		"/events?max_severity=1&lang=es": {`aria-current="true">solo informativa`, `href="/events?lang=es"`},
		"/events?max_severity=1&lang=pt": {`aria-current="true">só informativa`},
		"/events?max_severity=1&lang=hi": {`aria-current="true">केवल सूचना`},
		"/economic-events?lang=pt":       {"Economia", "Esperado"},
		"/digest":                        {"Week 10 of 2026"},
		"/digest?lang=hi":                {`lang="hi"`, "सप्ताह"},
		"/verify":                        {"/api/v1/verify/picks", "ticker|price|date|previous_hash"},
		"/docs":                          {"/research/{ticker}", "0.01", "insufficient_balance", "/openapi.json"},
		"/status":                        {"Picks in the chain", "Git ledger"},
		"/problems/insufficient-plan":    nil,
	}
	for address, want := range tests {
		doc, err := get(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if want == nil {
			if doc != nil {
				t.Errorf("%s is there", address)
			}
			continue
		}
		if doc == nil {
			t.Errorf("%s is not there", address)
			continue
		}
		body := text(doc)
		for _, w := range want {
			if !strings.Contains(body, w) {
				t.Errorf("%s lacks %q", address, w)
			}
		}
		if n := len(aHeading.FindAllString(body, -1)); n != 1 {
			t.Errorf("%s has %d first headings, want 1", address, n)
		}
		raw := string(doc.Identity.Body)
		if found := inline.FindString(ownModule.ReplaceAllString(dataBlock.ReplaceAllString(raw, ""), "")); found != "" {
			t.Errorf("%s has %q, which its policy refuses", address, found)
		}
		policy := doc.Identity.Header.Get("Content-Security-Policy")
		if widened := strings.Contains(policy, "connect-src"); widened != (address == "/verify") || !strings.HasPrefix(policy, "default-src 'self';") {
			t.Errorf("%s: its policy is %q", address, policy)
		}
	}

	for address, code := range map[string]string{
		"/research/NONE": view.CodeUnknownTicker, "/picks?lang=tlh": view.CodeInvalidLang, "/picks?cursor=x": view.CodeInvalidCursor,
		"/events?min_severity=9": view.CodeInvalidParameter, "/events?max_severity=2": view.CodeInvalidParameter, "/events?max_severity=1&min_severity=3": view.CodeInvalidParameter, "/picks?status=maybe": view.CodeInvalidParameter,
	} {
		_, err := get(address)
		if refusal := (*view.Refusal)(nil); !errors.As(err, &refusal) || refusal.Code != code {
			t.Errorf("%s: %v, want %s", address, err, code)
		}
	}

	plain, _ := get("/events?min_severity=3")
	if other, err := get("/events?utm_source=x&min_severity=3&lang="); err != nil || other != plain {
		t.Errorf("a parameter that means nothing makes another page: %v", err)
	}

	doc, err := get("/picks.atom")
	if err != nil {
		t.Fatal(err)
	}
	var feed struct {
		ID      string `xml:"id"`
		Updated string `xml:"updated"`
		Entries []struct {
			ID      string `xml:"id"`
			Title   string `xml:"title"`
			Updated string `xml:"updated"`
		} `xml:"entry"`
	}
	if err := xml.Unmarshal(doc.Identity.Body, &feed); err != nil {
		t.Fatal(err)
	}
	if len(feed.Entries) != 4 || feed.Entries[0].ID != "https://tidemark.example/picks#4" || !strings.Contains(feed.Entries[0].Title, "BORL") {
		t.Errorf("the feed holds %+v, want four picks and BORL's first", feed.Entries)
	}
	// Announced on Friday at 18:00 in New York, which is five hours behind UTC in early March.
	if feed.Updated != "2026-03-06T23:00:00Z" || feed.Entries[0].Updated != feed.Updated {
		t.Errorf("the feed is of %s, its first entry of %s", feed.Updated, feed.Entries[0].Updated)
	}
	if at := doc.Identity.Header.Get("Last-Modified"); at != time.Date(2026, 3, 6, 23, 0, 0, 0, time.UTC).Format("Mon, 02 Jan 2006 15:04:05")+" GMT" {
		t.Errorf("the feed was modified at %s", at)
	}

	for _, address := range []string{"/card.png", "/signals/crack-spread-321/card.png", "/research/ACME/card.png", "/picks/2026-03-02/card.png"} {
		doc, err := get(address)
		if err != nil || doc == nil || doc.Identity.Header.Get("Content-Type") != "image/png" || !strings.HasPrefix(string(doc.Identity.Body), "\x89PNG") {
			t.Errorf("%s is no picture: %v", address, err)
		}
	}
}
