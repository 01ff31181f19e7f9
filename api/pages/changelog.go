package pages

import (
	"context"
	"time"

	"tidemark/api/view"
)

// change is something that users of the service notice, as /changelog.json says it.
type change struct {
	Date string `json:"date"`
	// Kind is "added", "changed", "deprecated", "removed" or "fixed".
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// changes are the newest first. Within v1 things are only added: a client ignores members that it does not know.
var changes = []change{
	{"2026-11-21", "added", "Pages for people: plots of every signal as of any day, research in four languages, the portfolio, and the record recomputed in the browser."},
	{"2026-11-21", "added", "A dashboard for the holders of keys: balance or plan, usage, rotation, top-ups by card or transfer."},
	{"2026-11-21", "added", "MCP at /api/mcp, for agents: picks, research, the portfolio and the verification as tools, the signals as resources."},
	{"2026-11-21", "added", "An OpenAPI description of the whole service, llms.txt, a sitemap, and an Atom feed of the announced picks."},
	{"2026-11-21", "added", "Keys are topped up with stablecoin transfers: POST /api/v1/payments/verify, quotes and claims."},
	{"2026-11-20", "added", "Payments by request (x402, both versions) on nine endpoints."},
	{"2026-11-20", "added", "The Picks API: picks, research, portfolio, events, macro figures and the digest, with keys."},
	{"2026-11-20", "added", "The record: a hash chain with a git ledger and attestations on an L2, and the public verification."},
	{"2026-11-20", "added", "The Signals API, version 1.0.0: six signals with interval, baseline, z-score, history, vintages and backtest."},
}

// changelog lists what changed.
func (p *Pages) changelog(_ context.Context, r request) (*view.Document, error) {
	l := p.layout(r.site, r.path)
	l.Title = "Changelog" + suffix
	l.Description = "What changed in the service, the newest first."
	l.JSON = "/changelog.json"
	l.Body = changes
	return p.document("changelog", l, time.Time{}), nil
}

// changelogJSON is the same for programs.
func (p *Pages) changelogJSON(context.Context, request) (*view.Document, error) {
	body, err := view.Encode(struct {
		Data []change `json:"data"`
	}{changes})
	if err != nil {
		return nil, err
	}
	return view.NewDocument(view.TypeJSON, view.CachePublic, body, time.Time{}), nil
}
