package discovery

import (
	"fmt"
	"strings"

	"tidemark/accounts"
	"tidemark/api/endpoint"
	"tidemark/api/openapi"
	"tidemark/api/view"
	"tidemark/chain/tlog"
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
	b.WriteString("\n## Leaves of the transparency log\n\nThe first line of a leaf is its kind. Then comes each line of the kind, once and in this order: a key, a space, a value. " +
		"Every line ends with a line feed, the last one too. Hashes are in lower-case hex, `content` and `root` in base64.\n\n")
	for _, kind := range tlog.Kinds() {
		fmt.Fprintf(&b, "- `tidemark/%s/v1`: %s\n", kind, strings.Join(tlog.Keys(kind), ", "))
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
	if d.o.Publications != nil {
		b.WriteString("\n## Transparency log\n\nWhere `log` of /api/v1/info is not null, each pick, forecast and grade is a leaf of an append-only log, without a key. " +
			"Its files are those of C2SP (tlog-tiles, tlog-checkpoint, signed-note, tlog-cosignature, tlog-proof), below " + d.o.PublicURL + ".\n\n")
		for _, e := range logFiles {
			fmt.Fprintf(b, "- `GET %s`: %s\n", e.path, e.about)
		}
		b.WriteString("\nThe hash of a leaf is SHA-256 of a zero byte and its text. A `seal` leaf comes before the announcement of its pick: SHA-256 of `tidemark/seal/v1`, a line feed, the 32 bytes of `salt` " +
			"and the decoded `content` of its `reveal` leaf is its `commitment`. /llms-full.txt has the lines of each kind of leaf. " +
			"`attestation` of /api/v1/verify/picks names the L2 contract (EAS): an attestation's data are `bytes32 head,uint64 length,bytes32 previousHead,uint64 day`, ABI-encoded. " +
			"Take keys of log and witnesses, and the attester, from elsewhere: here they are the server's own word.\n")
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

// logFiles are the addresses of the transparency log.
var logFiles = []link{
	{path: "/log/checkpoint", about: "the newest size and root, signed, with the cosignatures of witnesses; `/log/checkpoint.witnessed` is the newest that a quorum of them has cosigned"},
	{path: "/log/tile/{level}/{n}", about: "hashes, 256 in a file; the last file, with fewer, ends in `.p/{width}`. `/log/tile/entries/{n}` has the leaves, each after its length in two bytes"},
	{path: "/log/leaf/{index}", about: "one leaf, as text"},
	{path: "/log/proof/{index}.tlog-proof", about: "a leaf (`extra`, in base64) and its inclusion in a signed size; `/log/proof/newest/{index}.tlog-proof` in the newest witnessed one; `/log/proof/{index}.tsr` the time stamp (RFC 3161) of a seal's size, over the SHA-256 of the first three lines of its checkpoint, where the operator has one made"},
	{path: "/log/sources/checkpoint", about: "the second log, of all archived bodies, with the same files"},
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
