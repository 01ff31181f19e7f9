package api_test

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/accounts"
	"tidemark/api"
	"tidemark/api/discovery"
	"tidemark/api/endpoint"
	"tidemark/api/pages"
	"tidemark/api/view"
	"tidemark/chain/base"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// discovered is a server with everything that discovery can describe.
func discovered(t *testing.T) *published {
	t.Helper()
	p := publish(t, accounts.ModelBalance)
	tariff, err := endpoint.NewTariff(accounts.ModelBalance, "")
	if err != nil {
		t.Fatal(err)
	}
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.url = "http://" + ln.Addr().String()
	record, err := view.NewRecord(view.RecordOptions{Store: p.db, PublicURL: p.url, World: view.WorldSandbox, Now: time.Now, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	site, err := pages.New(pages.Options{PublicURL: p.url, World: view.WorldSandbox, View: p.view, Record: record, Publications: p.publications, Datasets: true})
	if err != nil {
		t.Fatal(err)
	}
	d := discovery.New(discovery.Options{
		PublicURL: p.url, Contact: "mailto:security@signals.test", Tariff: tariff, View: p.view, Publications: p.publications, Pages: site, Datasets: true,
		Now: func() time.Time { return noon },
	})
	server := api.New(api.Options{
		View: p.view, Record: record, Publications: p.publications, Data: api.Data(p.publications), Log: quiet, Discovery: d, Pages: site, Datasets: p.db,
		Accounts: &api.Accounts{DB: p.db, Tariff: tariff, Now: time.Now},
	})
	p.run(func(ctx context.Context) error { return server.Serve(ctx, ln) })
	p.run(server.Run)
	p.run(record.Run)
	p.eventually("the record", func() bool { return record.State() != nil })
	if _, err := p.worker.SaveDataset(t.Context(), task.Fence{}, postgres.Dataset{Day: "2026-03-02", AsOf: noon, Tables: []postgres.DatasetTable{}}, nil); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDiscovery(t *testing.T) {
	t.Parallel()
	p := discovered(t)
	links := regexp.MustCompile(regexp.QuoteMeta(p.url) + "[^\\s\"<>)`]*")
	documents := map[string]string{
		"/llms.txt": "text/plain; charset=utf-8", "/llms-full.txt": "text/plain; charset=utf-8", "/robots.txt": "text/plain; charset=utf-8",
		"/sitemap.xml": "application/xml", "/.well-known/security.txt": "text/plain; charset=utf-8",
		"/.well-known/api-catalog": `application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"`,
		"/openapi.json":            "application/json", "/openapi.yaml": "application/yaml", "/api/signals/openapi.json": "application/json",
	}
	found := map[string]string{}
	for path, mediaType := range documents {
		a := p.ask(http.MethodGet, path)
		if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != mediaType || a.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %s %q, CORS %q", path, a.Status, a.Header.Get("Content-Type"), a.Header.Get("Access-Control-Allow-Origin"))
		}
		if strings.Contains(path, "openapi") {
			continue // its examples name what this server does not have
		}
		for _, link := range links.FindAllString(string(a.body), -1) {
			found[strings.TrimRight(link, ".,;:")] = path
		}
	}
	for link, from := range found {
		a := p.ask(http.MethodGet, link)
		switch strings.TrimPrefix(link, p.url) {
		case "/api/v1": // the base paths of an API
		case "/api/v1/auth/register":
			if a.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("%s names %s: %s, want 405 for GET", from, link, a.Status)
			}
		default:
			if a.StatusCode != http.StatusOK {
				t.Errorf("%s names %s: %s", from, link, a.Status)
			}
		}
	}
	for _, want := range []string{"/", "/openapi.json", "/api/signals/crack-spread-321", "/signals/crack-spread-321", "/sitemap.xml", "/api/v1/info"} {
		if found[p.url+want] == "" {
			t.Errorf("nothing names %s", want)
		}
	}

	t.Run("the first page leads to the data set", func(t *testing.T) {
		if home := p.ask(http.MethodGet, "/", "Accept", browser); !strings.Contains(string(home.body), `href="/data/manifest.json"`) {
			t.Errorf("%s: it has no such link", home.Status)
		}
	})

	t.Run("the sitemap is one", func(t *testing.T) {
		var sitemap struct {
			XMLName xml.Name `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 urlset"`
			URLs    []struct {
				Loc string `xml:"loc"`
			} `xml:"url"`
		}
		if err := xml.Unmarshal(p.ask(http.MethodGet, "/sitemap.xml").body, &sitemap); err != nil {
			t.Fatal(err)
		}
		locations := []string{}
		for _, u := range sitemap.URLs {
			locations = append(locations, strings.TrimPrefix(u.Loc, p.url))
		}
		if !slices.Contains(locations, "/data/manifest.json") {
			t.Errorf("it lacks the data set: %v", locations)
		}
		if !slices.Contains(locations, "/method") {
			t.Errorf("it lacks the method: %v", locations)
		}
		for _, d := range definitions() {
			if !slices.Contains(locations, "/signals/"+d.ID) {
				t.Errorf("it lacks the page of %s: %v", d.ID, locations)
			}
			if slices.Contains(locations, "/evidence/"+d.ID+"/latest") {
				t.Errorf("it names evidence of %s, which has no value yet: %v", d.ID, locations)
			}
		}
	})

	t.Run("security.txt has what RFC 9116 asks for", func(t *testing.T) {
		body := string(p.ask(http.MethodGet, "/.well-known/security.txt").body)
		fields := map[string]string{}
		for line := range strings.Lines(body) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			fields[name] = value
		}
		expires, err := time.Parse(time.RFC3339, fields["Expires"])
		if err != nil || !expires.After(noon) || expires.After(noon.AddDate(1, 0, 0)) {
			t.Errorf("Expires %q (%v), want within a year of %s", fields["Expires"], err, noon)
		}
		if fields["Contact"] != "mailto:security@signals.test" || fields["Canonical"] != p.url+"/.well-known/security.txt" {
			t.Errorf("it says %q", body)
		}
	})

	t.Run("the catalog of APIs is found by HEAD", func(t *testing.T) {
		a := p.ask(http.MethodHead, "/.well-known/api-catalog")
		if want := `</.well-known/api-catalog>; rel="api-catalog"`; a.Header.Get("Link") != want {
			t.Errorf("Link %q, want %q", a.Header.Get("Link"), want)
		}
		var catalog struct {
			Linkset []struct {
				Anchor      string
				Description []struct{ Href, Type string } `json:"service-desc"`
			}
		}
		if err := json.Unmarshal(p.ask(http.MethodGet, "/.well-known/api-catalog").body, &catalog); err != nil {
			t.Fatal(err)
		}
		if len(catalog.Linkset) < 2 || catalog.Linkset[0].Anchor != p.url+"/api/signals" || catalog.Linkset[0].Description[0].Href != p.url+"/api/signals/openapi.json" {
			t.Errorf("it says %+v", catalog)
		}
	})

	t.Run("llms.txt has the form that is proposed", func(t *testing.T) {
		body := string(p.ask(http.MethodGet, "/llms.txt").body)
		if !strings.HasPrefix(body, "# Tidemark\n\n> ") || strings.Count(body, "\n# ") != 0 || strings.Count(body, "\n## ") < 3 {
			t.Errorf("it begins with %.200q", body)
		}
		if !strings.Contains(body, "Synthetic data") && !strings.Contains(body, "sandbox") {
			t.Error("it does not say that the data are synthetic")
		}
		for _, path := range []string{
			"/evidence/{id}/{date}", "/api/signals/{id}/evidence", "/raw/{sha256}", "/api/signals/{id}/changes", "/api/signals/{id}/forecasts",
			"/log/checkpoint", "/log/tile/{level}/{n}", "/log/leaf/{index}", "/log/proof/{index}.tlog-proof", "/log/sources/checkpoint",
		} {
			if !strings.Contains(body, "`GET "+path+"`: ") {
				t.Errorf("it does not name %s", path)
			}
		}
		if !strings.Contains(body, "`"+base.Schema+"`") {
			t.Error("it does not say what an attestation has")
		}
		full := string(p.ask(http.MethodGet, "/llms-full.txt").body)
		for _, leaf := range []string{"`tidemark/seal/v1`: about, commitment, method, reveal_by, at\n", "`tidemark/body/v1`: source, url, fetched_at, sha256, bytes, not_modified\n"} {
			if !strings.Contains(full, leaf) {
				t.Errorf("it does not have %s", leaf)
			}
		}
	})
}
