package pages

import (
	"context"
	"html/template"
	"strings"
	"time"

	"tidemark/api/view"
	"tidemark/chain"
)

// verifyPolicy allows the verification page to connect to the node that the visitor names: any HTTPS host, and the visitor's own machine.
// No other page may do that.
const verifyPolicy = view.PagePolicy + "; connect-src 'self' https: http://127.0.0.1:* http://localhost:*"

// verifyBody is the content of the page on which the visitor's browser recomputes the chain.
type verifyBody struct {
	localizer

	PublicURL, Rule, Genesis, Repository string
	Demo                                 bool
}

// scriptWords is the prefix of the texts of the page's script.
const scriptWords = "verify.js."

// Script returns the texts of the page's script.
func (b verifyBody) Script() template.JS {
	words := map[string]string{}
	for id, text := range b.language().Words {
		if name, own := strings.CutPrefix(id, scriptWords); own {
			words[name] = text
		}
	}
	return embedJSON(words)
}

// OnlyGreen says which verdict is green.
func (b verifyBody) OnlyGreen() template.HTML {
	return b.Marked("verify.only green", template.HTML("<i>"+template.HTMLEscapeString(b.T("verify.green"))+"</i>")) //nolint:gosec // escaped
}

// Without links the chain for other software.
func (b verifyBody) Without() template.HTML {
	const list = "/api/v1/verify/picks"
	return b.Marked("verify.without", anchor(list, b.T("verify.as JSON")), anchor(list+"?format=csv", "CSV"), anchor(list+"?format=ndjson", "NDJSON"))
}

// Ledger links the git ledger. It is empty without a ledger.
func (b verifyBody) Ledger() template.HTML {
	if b.Repository == "" {
		return ""
	}
	address := template.HTMLEscapeString(b.Repository)
	return b.Marked("verify.ledger", template.HTML(`<a href="`+address+`" rel="external">`+address+`</a>`)) //nolint:gosec // escaped
}

// verify is the page on which the visitor's browser recomputes the chain.
func (p *Pages) verify(_ context.Context, r request) (*view.Document, error) {
	if r.record == nil {
		return nil, nil
	}
	lang, err := r.lang()
	if err != nil {
		return nil, err
	}
	local := r.local(lang)
	l := p.layoutIn(local, r.site, r.path)
	l.Title = local.T("verify.title") + suffix
	l.Description = local.T("verify.about")
	l.JSON = "/api/v1/verify/picks"
	l.Scripts = []string{p.staticAddress("verify.js")}
	l.Body = verifyBody{local, p.o.PublicURL, chain.Rule, chain.Genesis, r.record.Repository(), r.record.Demo()}
	p.inLanguages(&l, r)
	return secured(view.NewDocument(view.TypeHTML, view.CachePublic, p.render("verify", l), time.Time{}), verifyPolicy), nil
}
