package pages

import (
	"html/template"
	"strings"

	"tidemark/api/view"
	"tidemark/picks"
)

// layout is what layout.html shows around every page.
type layout struct {
	Title, Description string
	Lang               picks.Lang
	Words              words
	// Canonical is the address in full, Style and Icon those of the static files, JSON the same as data, Image a picture of 1200 by 630
	// pixels; empty: none.
	Canonical, Style, Icon, JSON, Image string
	// Scripts are the modules that a page is better with.
	Scripts []string
	// Feed is the Atom feed of the picks.
	Feed string
	// Languages are the page in other languages.
	Languages []language
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

// language is a page in one language.
type language struct {
	Lang    picks.Lang
	Address string
}

// layout returns the layout of a page about nothing in particular, in English.
func (p *Pages) layout(s site, address string) layout { return p.layoutIn(picks.English, s, address) }

// layoutIn is layout in a language.
func (p *Pages) layoutIn(lang picks.Lang, s site, address string) layout {
	w := wordsOf(lang)
	l := layout{
		Lang: lang, Words: w, Canonical: p.o.PublicURL + address, Style: p.staticAddress("style.css"), Icon: p.staticAddress("icon.svg"),
		Banner: banner(p.o.World),
	}
	if s.signals != nil {
		l.Disclaimer = s.signals.Disclaimer
	}
	l.Nav = p.nav(w, address)
	if p.o.Dashboard {
		account := navigation{Name: w.Account, Address: "/dashboard"}
		account.Current = current(account.Address, address)
		l.Account = &account
	}
	l.Links = p.links(w)
	return l
}

// nav lists the parts of the site that are there.
func (p *Pages) nav(w words, address string) []navigation {
	list := []navigation{{Name: w.Signals, Address: "/"}}
	for i := range list {
		list[i].Current = current(list[i].Address, address)
	}
	return list
}

// links stand below every page.
func (p *Pages) links(w words) []navigation {
	return []navigation{{Name: w.Catalog, Address: "/api/signals"}}
}

// current tells whether a page is the one that a link leads to ("page"), or belongs to it ("true").
func current(link, address string) string {
	switch {
	case link == address:
		return "page"
	case link == "/" && strings.HasPrefix(address, "/signals/"), link != "/" && strings.HasPrefix(address, link+"/"):
		return "true"
	}
	return ""
}

func banner(world string) string {
	switch world {
	case view.WorldSandbox:
		return "Synthetic data: this is a demonstration. No number here describes a real market."
	case view.WorldReplay:
		return "Replay of recorded data: this is a demonstration. The numbers are those of the recording, not of today."
	}
	return ""
}
