package pages

import (
	"context"
	"time"

	"tidemark/api/view"
	"tidemark/chain"
)

// verifyPolicy allows the verification page to connect to the node that the visitor names: any HTTPS host, and the visitor's own machine.
// No other page may do that.
const verifyPolicy = view.PagePolicy + "; connect-src 'self' https: http://127.0.0.1:* http://localhost:*"

// verify is the page on which the visitor's browser recomputes the chain.
func (p *Pages) verify(_ context.Context, r request) (*view.Document, error) {
	if r.record == nil {
		return nil, nil
	}
	l := p.layout(r.site, r.path)
	l.Title = "Verify the record" + suffix
	l.Description = "Recompute the chain of all picks in your own browser, ask a node of your choice what was attested, and try to cheat."
	l.JSON = "/api/v1/verify/picks"
	l.Scripts = []string{p.staticAddress("verify.js")}
	l.Body = struct {
		PublicURL, Rule, Genesis, Repository string
		Demo                                 bool
	}{p.o.PublicURL, chain.Rule, chain.Genesis, r.record.Repository(), r.record.Demo()}
	return secured(view.NewDocument(view.TypeHTML, view.CachePublic, p.render("verify", l), time.Time{}), verifyPolicy), nil
}
