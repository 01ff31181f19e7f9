package discovery

import (
	"fmt"
	"strings"

	"tidemark/accounts"
	"tidemark/api/endpoint"
	"tidemark/api/openapi"
	"tidemark/api/view"
	"tidemark/internal/locale/languages"
)

// llms describes the service in one page of Markdown, as https://llmstxt.org proposes: a title, a summary, and sections of links.
func (d *Discovery) llms(s site) *view.Document {
	var b strings.Builder
	d.head(&b, s)
	d.links(&b, s)
	return text(b.String())
}

// llmsFull is llms plus every path of the APIs and the brief of every signal.
func (d *Discovery) llmsFull(s site) *view.Document {
	var b strings.Builder
	d.head(&b, s)
	d.links(&b, s)
	b.WriteString("\n## Every address\n\nAll are below " + d.o.PublicURL + ". What each takes and answers is in the OpenAPI document.\n")
	tag := ""
	for _, op := range openapi.Operations() {
		if op.Tag == "Pay per request" && !d.o.Sells {
			continue
		}
		if op.Tag != tag {
			tag = op.Tag
			b.WriteString("\n### " + tag + "\n\n")
		}
		fmt.Fprintf(&b, "- `%s %s`: %s.", op.Method, op.Path, op.Summary)
		if op.PriceUSD != "" && op.PriceUSD != "0" {
			fmt.Fprintf(&b, " %s USD.", op.PriceUSD)
		}
		b.WriteString(" " + op.Description + "\n")
	}
	b.WriteString("\n## Problems\n\nErrors are problem documents (RFC 9457) with a `code`:\n\n")
	for _, k := range view.ProblemKinds() {
		fmt.Fprintf(&b, "- `%s` (%d): %s %s\n", k.Code, k.Status, k.Meaning, k.Remedy)
	}
	b.WriteString("\n## The signals at length\n")
	for _, sig := range s.signals.Signals {
		b.WriteString("\n" + deeper(sig.Markdown) + "\n")
	}
	return text(b.String())
}

func (d *Discovery) head(b *strings.Builder, s site) {
	b.WriteString("# Tidemark\n\n> Market signals from free public sources, one stock pick a trading day, and a track record that anyone can verify. " +
		"The signals, the hash chain and the MCP server need no key; the Picks API wants a free key, or a payment by request.\n\n")
	if s.signals.Environment != "live" {
		b.WriteString("This is a demonstration. ")
	}
	b.WriteString(s.signals.Disclaimer + "\n\n")
	b.WriteString("Times are UTC, dates `YYYY-MM-DD`, members that end in `_pct` percentages; what is unknown is `null`. " +
		"Texts of research are there in " + languages.Listed("and") + ". Every announced pick is a link of a SHA-256 chain over `ticker|price|date|previous_hash`.\n")
}

// links writes the sections of links.
func (d *Discovery) links(b *strings.Builder, s site) {
	section := func(title string, list ...link) {
		if len(list) == 0 {
			return
		}
		b.WriteString("\n## " + title + "\n\n")
		for _, l := range list {
			fmt.Fprintf(b, "- [%s](%s%s): %s\n", l.title, d.o.PublicURL, l.path, l.about)
		}
	}
	apis := []link{
		{"/openapi.json", "OpenAPI of everything", "version 3.1, for generating clients; also as /openapi.yaml"},
		{"/api/signals/openapi.json", "OpenAPI of the Signals API", "the signals alone"},
		{"/api/signals", "Signals", "the catalog of the live signals, no key"},
		{"/api/v1/info", "Info", "prices, billing model, languages, state of the chain, no key"},
		{"/api/calendar", "Calendar", "the next releases with their forecasts, no key; /calendar.ics for calendar programs"},
		{"/api/compare?first=crack-spread-321&second=hormuz-transit", "Compare", "two signals as z-scores, their correlation at a lag and its interval, no key"},
		{"/api/v1/verify/picks", "Hash chain", "every announced pick with its hash, recomputed, no key"},
	}
	if d.o.Sells {
		apis = append(apis, link{"/api/v1/x402/info", "Pay per request", "what is sold without a key, and how it is paid (x402)"})
	}
	if d.o.MCP {
		apis = append(apis, link{"/server.json", "MCP server", "POST " + d.o.PublicURL + "/api/mcp, Streamable HTTP, no key, read-only"})
	}
	section("APIs", apis...)
	b.WriteString("\nA key: `POST " + d.o.PublicURL + "/api/v1/auth/register` with `{\"name\": \"my-agent\"}`, then `Authorization: Bearer <key>`.\n")
	b.WriteString("\n## Files and changes\n\nNo key, but for alerts.\n\n" +
		"- `GET /data/manifest.json`: everything public as Parquet files, made each day, with SHA-256; also `/data/croissant.json`, `/data/datapackage.json`.\n" +
		"- `GET /api/stream`: what becomes known, as server-sent events; `/api/stream/atom` as a feed.\n" +
		"- `POST /api/v1/alerts`: the same, posted to a webhook by rules of a key.\n")
	if d.o.Publications != nil {
		b.WriteString("\n## Picks API\n\nEach wants the key.\n\n")
		for _, e := range endpoint.All() {
			price := ""
			priced, ok := d.o.Tariff.Endpoint(e.Path)
			if e.Early && !ok {
				continue // this installation does not have it
			}
			if ok && priced.Price > 0 && d.o.Tariff.Model == accounts.ModelBalance {
				price = ", " + priced.Price.Shortest() + " USD"
			}
			fmt.Fprintf(b, "- `GET /api/v1%s`%s: %s\n", e.Path, price, e.Summary)
		}
	}
	b.WriteString("\n## Evidence\n\nEvery number of a signal leads to the bytes that it rests on, without a key. The addresses are below " + d.o.PublicURL + ".\n\n")
	for _, e := range evidence {
		fmt.Fprintf(b, "- `GET %s`: %s\n", e.path, e.about)
	}
	var list []link
	for _, sig := range s.signals.Signals {
		about := sig.Definition.Unit + ", " + sig.Snapshot.Status + ". " + firstSentence(sig.Definition.Description)
		list = append(list, link{"/api/signals/" + sig.Definition.ID, sig.Definition.Name, about})
	}
	section("Signals", list...)
	section("Pages", d.there()...)
	section("Optional",
		link{"/llms-full.txt", "This description in full", "every address, every problem, the briefs of all signals"},
		link{"/.well-known/api-catalog", "API catalog", "RFC 9727"}, link{"/sitemap.xml", "Sitemap", "all pages"})
}

// evidence are the addresses that lead from a signal's number to its bytes, its past and its forecasts.
var evidence = []link{
	{path: "/evidence/{id}/{date}", about: "a page with the formula, its numbers, each observation and its bytes, which the browser hashes; `latest` is a date, too"},
	{path: "/api/signals/{id}/evidence", about: "the same as JSON; `date` or `as_of` names a snapshot"},
	{path: "/api/signals/{id}/inputs", about: "every archived body that the signal rests on, with the root of their Merkle tree"},
	{path: "/raw/{sha256}", about: "the archived bytes; 451 with hash, size, time and proof where the publisher's license forbids it"},
	{path: "/api/signals/{id}/changes", about: "why the signal moved between two snapshots (`from`, `to`), in parts that add up"},
	{path: "/api/signals/{id}/forecasts", about: "figures forecast before their release, and their grades; `/api/signals/{id}/scorecard` judges them"},
}

// firstSentence is a sufficient summary of a signal.
func firstSentence(s string) string {
	if i := strings.Index(s, ". "); i >= 0 {
		return s[:i+1]
	}
	return s
}

// deeper moves the headings of a text below the headings of the description.
func deeper(markdown string) string {
	lines := strings.Split(strings.TrimSpace(markdown), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "#") {
			lines[i] = "##" + l
		}
	}
	return strings.Join(lines, "\n")
}
