package pages

import (
	"html/template"
	"strings"

	"tidemark/api/view"
	"tidemark/internal/locale/languages"
	"tidemark/picks"
)

// layout is what layout.html shows around every page.
type layout struct {
	localizer

	Title, Description string
	// Canonical is the address in full, Style and Icon those of the static files, JSON the same as data, Image a picture of 1200 by 630
	// pixels, Feed the Atom feed of the picks; empty: none.
	Canonical, Style, Icon, JSON, Image, Feed string
	// Scripts are the modules that a page is better with.
	Scripts []string
	// Languages are the page in all languages that it has.
	Languages []languageLink
	// Note says how much of the page is shown; nil: all of it.
	Note *note
	// Hidden keeps a page out of search engines.
	Hidden bool
	// JSONLD stands in the page as a data block. A browser does not run it, so the content security policy has no say in it.
	JSONLD template.JS
	// Banner warns of data that are not real; Disclaimer stands below.
	Banner, Disclaimer string
	// Nav leads to the parts of the site, Account to the keys of the visitor, Links stand below.
	Nav     []navigation
	Account *navigation
	Links   []navigation
	Body    any
}

// navigation is a link of the layout. Current is the value of aria-current, empty where the page is elsewhere.
type navigation struct{ Name, Address, Current string }

// languageLink is a page in one language.
type languageLink struct {
	Lang picks.Lang
	Name string
	// Full is the address with the server's name, Address without it.
	Full, Address string
	Chosen        bool
}

// layout returns the layout of a page about nothing in particular, in English.
func (p *Pages) layout(s site, address string) layout { return p.layoutIn(picks.English, s, address) }

// layoutIn is layout in a language.
func (p *Pages) layoutIn(lang picks.Lang, s site, address string) layout {
	l := layout{
		localizer: localizer{lang}, Canonical: p.o.PublicURL + address, Style: p.staticAddress("style.css"), Icon: p.staticAddress("icon.svg"),
	}
	switch p.o.World {
	case view.WorldSandbox:
		l.Banner = l.T("synthetic")
	case view.WorldReplay:
		l.Banner = l.T("replayed")
	}
	l.Disclaimer = l.T("disclaim")
	if s.signals != nil && lang == picks.English {
		l.Disclaimer = s.signals.Disclaimer
	}
	p.navigate(&l, address)
	return l
}

// navigate fills in the links to what is there.
func (p *Pages) navigate(l *layout, address string) {
	var query string
	if l.Lang != picks.English {
		query = "?lang=" + string(l.Lang)
	}
	link := func(there bool, word, to string) navigation {
		if !there {
			return navigation{}
		}
		n := navigation{Name: l.T(word), Address: to, Current: current(to, address)}
		if translated[to] {
			n.Address += query
		}
		return n
	}
	published := p.o.Publications != nil
	for _, n := range []navigation{
		link(true, "signals", "/"), link(published, "picks", "/picks"), link(published, "portfolio", "/portfolio"),
		link(published, "events", "/events"), link(p.o.Record != nil, "verify", "/verify"), link(true, "docs", "/docs"),
	} {
		if n.Name != "" && p.has(n.Address) {
			l.Nav = append(l.Nav, n)
		}
	}
	if n := link(p.o.Dashboard, "account", "/dashboard"); n.Name != "" {
		l.Account = &n
	}
	for _, n := range []navigation{
		link(true, "method", "/method"), link(true, "status", "/status"), link(true, "changelog", "/changelog"), link(true, "terms", "/terms"),
		link(published, "feed", "/picks.atom"), link(true, "catalog", "/api/signals"),
	} {
		if n.Name != "" && (p.has(n.Address) || strings.HasPrefix(n.Address, "/api/")) {
			l.Links = append(l.Links, n)
		}
	}
	if published && p.has("/picks.atom") {
		l.Feed = "/picks.atom"
	}
}

// translated are the pages that are there in every language.
var translated = map[string]bool{"/picks": true, "/events": true, "/economic-events": true, "/digest": true}

// current tells whether a page is the one that a link leads to ("page"), or belongs to it ("true").
func current(link, address string) string {
	switch {
	case link == address:
		return "page"
	case link == "/" && strings.HasPrefix(address, "/signals/"), link != "/" && strings.HasPrefix(address, link+"/"),
		link == "/picks" && (strings.HasPrefix(address, "/research/") || address == "/method"),
		link == "/events" && (address == "/economic-events" || address == "/digest"):
		return "true"
	}
	return ""
}

// inLanguages names a page's counterparts in the other languages. The one in English is at the plain address.
func (p *Pages) inLanguages(l *layout, r request) {
	for _, lang := range picks.Langs() {
		code := string(lang)
		if lang == picks.English {
			code = ""
		}
		address := r.with("lang", code)
		l.Languages = append(l.Languages, languageLink{lang, languages.Or(lang).Name, p.o.PublicURL + address, address, lang == l.Lang})
		if lang == l.Lang {
			l.Canonical = p.o.PublicURL + address
		}
	}
}
