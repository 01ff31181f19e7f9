package discovery

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"

	"tidemark/api/view"
	"tidemark/signals/forecast"
)

func robots(base string) string {
	return "User-agent: *\nAllow: /\nDisallow: /dashboard\nDisallow: /api/v1/x402/\n\nSitemap: " + base + "/sitemap.xml\n"
}

// lifetime is how many months security.txt is valid, from the first of the month on. RFC 9116 recommends less than a year.
const lifetime = 6

// security returns security.txt (RFC 9116).
func (d *Discovery) security(s site) *view.Document {
	var b strings.Builder
	fmt.Fprintf(&b, "Contact: %s\n", d.o.Contact)
	fmt.Fprintf(&b, "Expires: %s\n", s.month.AddDate(0, lifetime, 0).Format(time.RFC3339))
	b.WriteString("Preferred-Languages: en, es\n")
	fmt.Fprintf(&b, "Canonical: %s/.well-known/security.txt\n", d.o.PublicURL)
	return text(b.String())
}

type linkTarget struct {
	Href string `json:"href"`
	Type string `json:"type"`
}

type linkContext struct {
	Anchor      string       `json:"anchor"`
	Description []linkTarget `json:"service-desc"`
	Doc         []linkTarget `json:"service-doc,omitempty"`
	Meta        []linkTarget `json:"service-meta"`
	Status      []linkTarget `json:"status,omitempty"`
}

// catalog returns the API catalog (RFC 9727): every API with its descriptions.
func (d *Discovery) catalog(site) *view.Document {
	at := func(path, mediaType string) []linkTarget { return []linkTarget{{d.o.PublicURL + path, mediaType}} }
	page := func(path string) []linkTarget {
		if !d.has(path) {
			return nil
		}
		return at(path, "text/html")
	}
	api := func(anchor, description string) linkContext {
		return linkContext{
			Anchor: d.o.PublicURL + anchor, Description: at(description, "application/openapi+json"), Doc: page("/docs"),
			Meta: at("/llms.txt", "text/plain"), Status: page("/status"),
		}
	}
	list := []linkContext{api("/api/signals", "/api/signals/openapi.json"), api("/api/v1", "/openapi.json")}
	if d.o.Sells {
		list = append(list, api("/api/v1/x402", "/openapi.json"))
		list[2].Meta = append(list[2].Meta, at("/api/v1/x402/info", view.TypeJSON)...)
	}
	if d.o.MCP {
		list = append(list, api("/api/mcp", "/openapi.json"))
		list[len(list)-1].Meta = append(list[len(list)-1].Meta, at("/server.json", view.TypeJSON)...)
	}
	body, err := view.Encode(struct {
		Linkset []linkContext `json:"linkset"`
	}{list})
	if err != nil {
		panic(err) // it contains only strings
	}
	doc := view.NewDocument(typeLinkset, view.CachePublic, body, time.Time{})
	for _, r := range []view.Representation{doc.Identity, doc.Gzip} {
		if r.Header != nil {
			r.Header.Set("Link", `</.well-known/api-catalog>; rel="api-catalog"`)
		}
	}
	return doc
}

// x402 lists what is sold by request, in the form that catalogs of paid resources read. No standard for it exists yet.
func (d *Discovery) x402(s site) *view.Document {
	list := []string{}
	for _, e := range d.o.Tariff.Endpoints() {
		path, one := e.Path, ""
		if s.published != nil && len(s.published.PickedTickers()) > 0 {
			one = s.published.PickedTickers()[0]
		}
		if !e.Fixed || strings.Contains(path, "{ticker}") && one == "" {
			continue
		}
		list = append(list, d.o.PublicURL+"/api/v1/x402"+strings.ReplaceAll(path, "{ticker}", one))
	}
	body, err := view.Encode(struct {
		Version      int      `json:"version"`
		Resources    []string `json:"resources"`
		Instructions string   `json:"instructions"`
	}{1, list, "Prices, network, token and account are at " + d.o.PublicURL + "/api/v1/x402/info. The address of research takes any ticker of " + d.o.PublicURL + "/api/v1/x402/stocks."})
	if err != nil {
		panic(err) // it contains only strings
	}
	return view.NewDocument(view.TypeJSON, view.CachePublic, body, time.Time{})
}

// sitemap lists the HTML pages and the newest data set (https://www.sitemaps.org/protocol.html).
func (d *Discovery) sitemap(s site) *view.Document {
	type location struct {
		Loc     string `xml:"loc"`
		LastMod string `xml:"lastmod,omitempty"`
	}
	var list []location
	add := func(path string, at *time.Time) {
		l := location{Loc: d.o.PublicURL + path}
		if at != nil {
			l.LastMod = at.UTC().Format(time.RFC3339)
		}
		list = append(list, l)
	}
	for _, g := range d.there() {
		add(g.path, nil)
	}
	if d.o.Datasets {
		add("/data/manifest.json", nil)
	}
	for _, sig := range s.signals.Signals {
		page := "/signals/" + sig.Definition.ID
		if d.has(page) {
			add(page, sig.Snapshot.IngestedAt)
			add(page+"/brief", nil)
			add(page+"/revisions", nil)
			if len(forecast.Of(sig.Definition.ID)) > 0 {
				add(page+"/forecasts", nil)
			}
			if sig.Snapshot.Value != nil {
				add("/evidence/"+sig.Definition.ID+"/latest", nil)
			}
		}
	}
	if s.published != nil {
		for i, ticker := range s.published.PickedTickers() {
			if i == 0 && !d.has("/research/"+ticker) {
				break // there are no such pages
			}
			add("/research/"+ticker, nil)
		}
		for i, date := range s.published.PickDates() {
			if i == 0 && !d.has("/picks/"+date) {
				break
			}
			add("/picks/"+date, nil)
		}
	}
	body, err := xml.MarshalIndent(struct {
		XMLName xml.Name   `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 urlset"`
		URLs    []location `xml:"url"`
	}{URLs: list}, "", " ")
	if err != nil {
		panic(err) // it contains only strings
	}
	return view.NewDocument(typeXML, view.CachePublic, append([]byte(xml.Header), append(body, '\n')...), time.Time{})
}
