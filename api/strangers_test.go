package api_test

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"html"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"tidemark/accounts"
	"tidemark/api"
	"tidemark/api/endpoint"
	"tidemark/api/pages"
	"tidemark/api/view"
	"tidemark/internal/postgres"
)

// The header can select another language or format for the same path and query. One charge must not pay for both.
func TestAnIdempotencyKeyIsForOneLanguageAndFormat(t *testing.T) {
	t.Parallel()
	p := publish(t, accounts.ModelBalance)
	for _, tt := range []struct{ path, name, value, cost string }{
		{"/picks/latest", "Accept-Language", "en", "0.001"},
		{"/picks/latest", "Accept-Language", "en-GB", "0.00"}, // the same response
		{"/picks/latest", "Accept-Language", "es", "0.001"},
		{"/picks/latest", "Accept-Language", "es", "0.00"},
		{"/sectors", "Accept", "application/json", "0.001"},
		{"/sectors", "Accept", "text/csv", "0.001"},
		{"/sectors", "Accept", "text/csv", "0.00"},
	} {
		a := p.ask(http.MethodGet, "/api/v1"+tt.path, "Authorization", "Bearer "+p.key, "Idempotency-Key", "one", tt.name, tt.value)
		if got := a.Header.Get("X-Request-Cost"); a.StatusCode != http.StatusOK || got != tt.cost {
			t.Errorf("%s with %s: %s costs %s: %s, want %s", tt.path, tt.name, tt.value, got, a.Status, tt.cost)
		}
	}
}

func TestHEADOfWhatHasAPriceTellsNothingOfIt(t *testing.T) {
	t.Parallel()
	p := publish(t, accounts.ModelBalance)
	for path := range api.Data(p.publications) {
		path = strings.ReplaceAll(path, "{ticker}", "ACME")
		a := p.ask(http.MethodHead, "/api/v1"+path, "Authorization", "Bearer "+p.key, "If-None-Match", "*", "Accept-Encoding", "gzip")
		if a.StatusCode != http.StatusOK && a.StatusCode != http.StatusNotModified {
			t.Errorf("HEAD %s: %s", path, a.Status)
		}
		for _, name := range []string{"Content-Length", "ETag", "Last-Modified", "Link", "Content-Encoding"} {
			if got := a.Header.Get(name); got != "" {
				t.Errorf("HEAD %s has %s: %s", path, name, got)
			}
		}
	}
}

// "If-None-Match: *" gave a free 304 whose Link told the last member of each page of a paid list.
func TestAFreeAnswerTellsNothingOfWhatHasAPrice(t *testing.T) {
	t.Parallel()
	p := publish(t, accounts.ModelBalance)
	links := 0
	for path := range api.Data(p.publications) {
		path = "/api/v1" + strings.ReplaceAll(path, "{ticker}", "ACME")
		for _, query := range []string{"", "?limit=1"} {
			for _, any := range []string{"*", ` *, "x"`, `"x",*`} {
				a := p.ask(http.MethodGet, path+query, "Authorization", "Bearer "+p.key, "If-None-Match", any)
				if a.StatusCode == http.StatusNotModified {
					t.Errorf("GET %s with If-None-Match: %s: %s, Link: %s", path+query, any, a.Status, a.Header.Get("Link"))
				}
			}
			paid := p.ask(http.MethodGet, path+query, "Authorization", "Bearer "+p.key)
			if paid.StatusCode != http.StatusOK || paid.Header.Get("ETag") == "" {
				continue // the path takes no limit
			}
			if paid.Header.Get("Link") != "" {
				links++
			}
			a := p.ask(http.MethodGet, path+query, "Authorization", "Bearer "+p.key, "If-None-Match", "*, "+paid.Header.Get("ETag"))
			if a.StatusCode != http.StatusNotModified || a.Header.Get("ETag") != paid.Header.Get("ETag") || a.Header.Get("X-Request-Cost") != "0.00" {
				t.Errorf("GET %s of what the client has: %s, %s", path+query, a.Status, a.Header.Get("X-Request-Cost"))
			}
			for _, name := range []string{"Link", "Last-Modified", "Content-Length", "Content-Disposition"} {
				if got := a.Header.Get(name); got != "" {
					t.Errorf("the 304 of %s has %s: %s", path+query, name, got)
				}
			}
		}
	}
	if links == 0 {
		t.Error("no list had a next page: nothing was looked at")
	}
}

// A tag was the hash of the bytes, and an empty list has the same bytes whatever the filters are. So a key without a balance learned for free
// whether anything matches: 304 meant no, 402 meant yes.
func TestATagIsOnlyForTheKeyAndTheRequestThatWereCharged(t *testing.T) {
	t.Parallel()
	p := publish(t, accounts.ModelBalance)
	other := p.newKey(p.db, 0)
	get := func(key, path, tag string) answer {
		t.Helper()
		header := []string{"Authorization", "Bearer " + key}
		if tag != "" {
			header = append(header, "If-None-Match", tag)
		}
		return p.ask(http.MethodGet, "/api/v1"+path, header...)
	}
	const none, borl = "/picks?ticker=NONE", "/picks?ticker=BORL"
	empty, bought, theirs := get(p.key, none, ""), get(p.key, borl, ""), get(other, borl, "")
	if empty.StatusCode != http.StatusOK || bought.StatusCode != http.StatusOK || theirs.StatusCode != http.StatusOK {
		t.Fatalf("bought: %s, %s, %s", empty.Status, bought.Status, theirs.Status)
	}
	p.spend(p.key, "0.19") // nothing is left
	for _, filter := range []string{"status=closed", "status=open", "sector=Energy", "region=Europe", "ticker=NOBODY", "from=2026-03-05&status=closed", "ticker=NONE&status=open"} {
		if a := get(p.key, "/picks?"+filter, empty.Header.Get("ETag")); a.StatusCode != http.StatusPaymentRequired {
			t.Errorf("the tag of an empty list, for %s: %s, want 402", filter, a.Status)
		}
	}
	latest := get(other, "/picks/latest", "")
	guess := sha256.Sum256(latest.body)
	for what, a := range map[string]answer{
		"the hash of a body that the key never had": get(p.key, "/picks/latest", `"`+hex.EncodeToString(guess[:16])+`"`),
		"another key's tag of it":                   get(p.key, "/picks/latest", latest.Header.Get("ETag")),
		"another key's tag of what both have":       get(p.key, borl, theirs.Header.Get("ETag")),
		"the tag in another format":                 get(p.key, borl+"&format=csv", bought.Header.Get("ETag")),
	} {
		if a.StatusCode != http.StatusPaymentRequired {
			t.Errorf("%s: %s, want 402", what, a.Status)
		}
	}
	unchanged := func(where string) {
		t.Helper()
		for path, tag := range map[string]string{none: empty.Header.Get("ETag"), borl: bought.Header.Get("ETag")} {
			if a := get(p.key, path, tag); a.StatusCode != http.StatusNotModified || a.Header.Get("X-Request-Cost") != "0.00" {
				t.Errorf("%s, what the key was charged for: %s at %s: %s", path, a.Status, where, a.Header.Get("X-Request-Cost"))
			}
		}
	}
	unchanged("the process that charged it")
	tariff, err := endpoint.NewTariff(accounts.ModelBalance, "")
	if err != nil {
		t.Fatal(err)
	}
	p.serve(api.Options{
		View: p.view, Publications: p.publications, Data: api.Data(p.publications),
		Accounts: &api.Accounts{DB: p.open(postgres.RoleAPI), Tariff: tariff, Now: time.Now},
	})
	unchanged("another process")
}

func TestASandboxAndTheServiceRefuseEachOthersKeys(t *testing.T) {
	t.Parallel()
	for world, mark := range map[string]string{view.WorldLive: "tmk_live_", view.WorldSandbox: "tmk_test_"} {
		t.Run(world, func(t *testing.T) {
			t.Parallel()
			s := openFixtureIn(t, world, api.Accounts{}, accounts.ModelBalance)
			key := s.key()
			if !strings.HasPrefix(key, mark) {
				t.Errorf("a new key begins with %s", key[:9])
			}
			if a := s.paid(key, "/account"); a.StatusCode != http.StatusOK {
				t.Errorf("its own key: %s", a.Status)
			}
			a := s.askWith(http.MethodPost, "/api/v1/keys/rotate", `{}`, "Authorization", "Bearer "+key)
			if next := s.object(a)["data"].(map[string]any)["api_key"].(string); !strings.HasPrefix(next, mark) {
				t.Errorf("its next text begins with %s", next[:9])
			}
			other, err := accounts.NewTestKey(rand.Reader)
			if world == view.WorldSandbox {
				other, err = accounts.NewKey(rand.Reader)
			}
			if err != nil {
				t.Fatal(err)
			}
			// Even if the database contains it, for example after a copy.
			hash := other.Hash()
			s.query(`insert into key_secrets (hash, key_id, prefix, created_at) select decode('` + hex.EncodeToString(hash[:]) + `', 'hex'), id, '` + other.Prefix() + `', now() from keys`)
			s.problem(s.paid(other.Reveal(), "/account"), http.StatusUnauthorized, "invalid_api_key")
		})
	}
}

// A page of another site made its visitors register keys, and could read the keys.
func TestPagesOfOtherSitesMakeNoKeys(t *testing.T) {
	t.Parallel()
	s := newBillingFixture(t, api.Accounts{}, accounts.ModelBalance)
	for _, path := range []string{"/api/v1/auth/register", "/api/v1/keys/rotate", "/api/v1/keys/current"} {
		a := s.ask(http.MethodOptions, path, "Origin", "https://other.example", "Access-Control-Request-Method", "POST")
		for name := range a.Header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("the preflight of %s has %s", path, name)
			}
		}
	}
	for name, tt := range map[string]struct {
		header []string
		status int
	}{
		"another site's page":            {[]string{"Origin", "https://other.example", "Sec-Fetch-Site", "cross-site"}, 403},
		"one of an old browser":          {[]string{"Origin", "https://other.example"}, 403},
		"one of another port":            {[]string{"Origin", "http://127.0.0.1:1", "Sec-Fetch-Site", "same-site"}, 403},
		"one that hides where it is":     {[]string{"Origin", "null"}, 403},
		"our own page":                   {[]string{"Origin", s.url, "Sec-Fetch-Site", "same-origin"}, 201},
		"a program":                      {nil, 201},
		"a program that says who it is ": {[]string{"User-Agent", "curl/8"}, 201},
	} {
		a := s.askWith(http.MethodPost, "/api/v1/auth/register", `{"name":"x"}`, tt.header...)
		if a.StatusCode != tt.status || a.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %s, want %d", name, a.Status, tt.status)
		}
	}
}

// Each spelling of a ticker had its own image, drawn again. The fonts have no letters of Hindi, so its pages have the English image.
func TestACompanyHasOnePicturePerLanguage(t *testing.T) {
	t.Parallel()
	p := publish(t, accounts.ModelBalance)
	site, err := pages.New(pages.Options{PublicURL: "https://tidemark.example/", World: view.WorldSandbox, View: p.view, Publications: p.publications})
	if err != nil {
		t.Fatal(err)
	}
	p.serve(api.Options{View: p.view, Publications: p.publications, Pages: site})
	for path, to := range map[string]string{
		"/research/acme/card.png": "/research/ACME/card.png", "/research/AcMe/card.png?lang=es": "/research/ACME/card.png?lang=es",
		"/research/ACME/card.png?lang=hi": "/research/ACME/card.png", "/research/ACME/card.png?lang=en": "/research/ACME/card.png",
		"/card.png?as_of=2026-03-01": "/card.png", "/card.png?as_of=2026-03-01&lang=pt": "/card.png?lang=pt", "/card.png?lang=xx": "/card.png",
		"/research/ACME/card.png?x=1": "", "/research/ACME/card.png": "", "/research/ACME/card.png?lang=es": "", "/card.png": "", "/card.png?lang=es": "",
		"/signals/crack-spread-321/card.png?lang=pt": "", "/signals/crack-spread-321/card.png?lang=hi": "/signals/crack-spread-321/card.png",
		"/picks/2026-03-02/card.png?lang=es": "", "/portfolio/card.png?lang=es": "", "/method/card.png?lang=hi": "/method/card.png", "/docs/card.png?as_of=2026-03-01": "/docs/card.png",
	} {
		a := p.ask(http.MethodGet, path)
		if to != "" && (a.StatusCode != http.StatusPermanentRedirect || a.Header.Get("Location") != to || len(a.body) > 0) {
			t.Errorf("%s: %s to %q, want %s", path, a.Status, a.Header.Get("Location"), to)
		}
		if to == "" && (a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != "image/png") {
			t.Errorf("%s: %s", path, a.Status)
		}
	}
	for path, want := range map[string][2]string{
		"/picks": {"/picks/card.png", "Picks"}, "/portfolio?lang=pt": {"/portfolio/card.png?lang=pt", "Carteira"},
		"/events": {"/events/card.png", "Events"}, "/method": {"/method/card.png", "Method"}, "/calendar": {"/calendar/card.png", "releases"},
		"/compare": {"/compare/card.png?first=crack-spread-321&lag=0&second=hormuz-transit", "crack spread · Hormuz"}, "/docs?lang=hi": {"/docs/card.png", "चित्र"},
		"/signals/crack-spread-321/revisions?lang=es": {"/signals/crack-spread-321/card.png?lang=es", "crack"}, "/signals/crack-spread-321/brief": {"/signals/crack-spread-321/card.png", "crack"},
	} {
		found := pictured.FindStringSubmatch(string(p.ask(http.MethodGet, path, "Accept", browser).body))
		if found == nil || html.UnescapeString(found[1]) != want[0] || !strings.Contains(html.UnescapeString(found[2]), want[1]) {
			t.Errorf("%s: the picture for other sites is %q, want %q", path, found, want)
			continue
		}
		if a := p.ask(http.MethodGet, html.UnescapeString(found[1])); a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != "image/png" {
			t.Errorf("%s: %s", found[1], a.Status)
		}
	}
	s := p.ask(http.MethodGet, "/research/nobody/card.png")
	if s.StatusCode != http.StatusNotFound {
		t.Errorf("a company that is not there: %s", s.Status)
	}
	again := func() *view.Document {
		u := &url.URL{Path: "/research/ACME/card.png"}
		doc, err := site.Page(t.Context(), u, view.Visitor{})
		if err != nil {
			t.Fatal(err)
		}
		return doc.Document
	}
	first := again()
	before := p.view.State()
	// After another change of the site, the pages are rendered again, but the image is not.
	p.save(full())
	p.eventually("another state", func() bool { return p.view.State() != before })
	if again() != first {
		t.Error("the same picture was drawn twice")
	}
}

func TestTheClientIsTheLastAddressThatIsNoProxy(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("fe80::/10")}
	for _, tt := range []struct {
		peer string
		said []string
		want string
	}{
		{"203.0.113.9:1", []string{"198.51.100.1"}, "203.0.113.9"}, // not one of our proxies: its claims do not count
		{"10.0.0.1:1", nil, "10.0.0.1"},
		{"10.0.0.1:1", []string{"198.51.100.1"}, "198.51.100.1"},
		{"10.0.0.1:1", []string{"9.9.9.9, 198.51.100.1 , 10.0.0.2"}, "198.51.100.1"},
		{"10.0.0.1:1", []string{"9.9.9.9", "198.51.100.1", "10.0.0.2"}, "198.51.100.1"}, // in separate header lines
		{"10.0.0.1:1", []string{"198.51.100.1, nonsense"}, "10.0.0.1"},
		{"10.0.0.1:1", []string{"nonsense, 198.51.100.1"}, "198.51.100.1"},
		{"10.0.0.1:1", []string{"198.51.100.1, 10.0.0.9, unknown"}, "10.0.0.1"},
		{"10.0.0.1:1", []string{"198.51.100.1, "}, "10.0.0.1"},
		{"10.0.0.1:1", []string{"198.51.100.1:5555"}, "198.51.100.1"},
		{"10.0.0.1:1", []string{"[2001:db8::1]:443"}, "2001:db8::1"},
		{"10.0.0.1:1", []string{"[2001:db8::1]"}, "2001:db8::1"},
		{"10.0.0.1:1", []string{"2001:db8::1"}, "2001:db8::1"},
		{"10.0.0.1:1", []string{"::ffff:198.51.100.1"}, "198.51.100.1"},
		{"10.0.0.1:1", []string{"fe80::1%eth0"}, "fe80::1"},
		{"[fd00::1]:1", []string{"2001:db8::1, fd00::2"}, "2001:db8::1"},
		{"[fe80::1%eth0]:1", []string{"198.51.100.1"}, "198.51.100.1"},
		{"[::ffff:10.0.0.1]:1", []string{"198.51.100.1"}, "198.51.100.1"},
		{"10.0.0.1:1", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"10.0.0.1:1", []string{strings.Repeat("1.1.1.1,", 1000) + "198.51.100.1"}, "198.51.100.1"},
	} {
		r := &http.Request{RemoteAddr: tt.peer, Header: http.Header{"X-Forwarded-For": tt.said}}
		if got := api.ClientAddress(r, trusted); got.String() != tt.want {
			t.Errorf("%s says %.60q: %s, want %s", tt.peer, tt.said, got, tt.want)
		}
	}
}

func FuzzTheClientsAddress(f *testing.F) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	f.Add("198.51.100.1, 10.0.0.2", "203.0.113.9")
	f.Add("[2001:db8::1]:443", "::ffff:1.2.3.4")
	f.Fuzz(func(t *testing.T, said, last string) {
		r := &http.Request{RemoteAddr: "10.0.0.1:1", Header: http.Header{"X-Forwarded-For": {said, last}}}
		got := api.ClientAddress(r, trusted)
		if !got.IsValid() || got.Zone() != "" || got.Is4In6() {
			t.Errorf("%q, %q: %v", said, last, got)
		}
		// The address that our proxy added decides, regardless of the client's part before it.
		if own, err := netip.ParseAddr(last); err == nil && own.IsGlobalUnicast() && !own.IsPrivate() {
			if want := own.Unmap().WithZone(""); got != want && !trusted[0].Contains(want) {
				t.Errorf("%q, %q: %v, want %v", said, last, got, want)
			}
		}
	})
}
