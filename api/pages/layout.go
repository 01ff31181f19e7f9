package pages

import (
	"html/template"
	"slices"
	"strings"

	"tidemark/api/view"
	"tidemark/internal/locale/languages"
	"tidemark/picks"
)

// layout is the data of layout.html, which surrounds every page.
type layout struct {
	localizer

	Title, Description string
	// Canonical is the absolute URL of the page. Style and Icon are the URLs of static files. JSON is the URL of the same data. Image is
	// the URL of a preview image of 1200 by 630 pixels. Empty means none.
	Canonical, Style, Icon, JSON, Image string
	// ImageAlt says what is in the preview image.
	ImageAlt string
	// Feed is the Atom feed of the page's content. A page without its own feed names the feed of the picks. An empty address means no feed.
	Feed feed
	// Scripts are the modules that enhance the page.
	Scripts []string
	// Languages are the page's versions in all its languages.
	Languages []languageLink
	// Note says which part of the page is shown. Nil means the whole page.
	Note *note
	// English says in the page's language that its content is in English. Empty means that the content is in the page's language.
	English string
	// Hidden excludes a page from search engines.
	Hidden bool
	// JSONLD is a data block in the page. Browsers do not execute it, so the content security policy does not apply.
	JSONLD template.JS
	// Banner warns about data that are not real. Disclaimer is at the bottom of the page.
	Banner, Disclaimer string
	// Nav links the parts of the site. Account links the visitor's keys. Links are at the bottom of the page.
	Nav     []navigation
	Account *navigation
	Links   []navigation
	Body    any
}

// navigation is a link of the layout. Current is the value of aria-current, empty on other pages.
type navigation struct{ Name, Address, Current string }

// languageLink is a version of a page in one language.
type languageLink struct {
	Lang picks.Lang
	Name string
	// Full is the absolute URL. Address is the URL without the server's name.
	Full, Address string
	Chosen        bool
}

// Default is the URL that shows each visitor the preferred language. It is empty for a page in one language.
func (l layout) Default() string {
	for _, v := range l.Languages {
		if v.Lang == picks.English {
			return v.Full
		}
	}
	return ""
}

// Control returns the text of a control in the content. It is in the language of the content.
func (l layout) Control(id string) string {
	if l.English != "" {
		return localizer{Lang: picks.English}.T(id)
	}
	return l.T(id)
}

// layoutIn returns the layout in a language.
func (p *Pages) layoutIn(local localizer, s site, address string) layout {
	l := layout{
		localizer: local, Canonical: p.o.PublicURL + address, Style: p.staticAddress("style.css"), Icon: p.staticAddress("icon.svg"),
	}
	switch p.o.World {
	case view.WorldSandbox:
		l.Banner = l.T("synthetic")
	case view.WorldReplay:
		l.Banner = l.T("replayed")
	}
	switch l.Disclaimer = l.T("disclaim"); {
	case local.Lang == picks.English && s.signals != nil:
		l.Disclaimer = s.signals.Disclaimer
	case p.o.World == view.WorldSandbox: // the banner is not printed
		l.Disclaimer = l.Banner + " " + l.Disclaimer
	}
	p.navigate(&l, address)
	if title := titles[address]; title != "" && p.has(address) && s.signals != nil {
		l.picture(l.Canonical+cardName, "", p.marked(local, local.cardOfSite(s, l.T(title))))
	}
	return l
}

// navigate adds the links to the parts that exist.
func (p *Pages) navigate(l *layout, address string) {
	query := l.InLang()
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
		link(true, "method", "/method"), link(true, "compare", "/compare"), link(true, "calendar", "/calendar"), link(true, "status", "/status"), link(true, "changelog", "/changelog"), link(true, "terms", "/terms"),
		link(published, "feed", picksFeed), link(true, "catalog", "/api/signals"),
		link(p.o.Datasets, "data set", "/data/manifest.json"),
	} {
		if n.Name != "" && (p.has(n.Address) || strings.HasPrefix(n.Address, "/api/") || strings.HasPrefix(n.Address, "/data/")) {
			l.Links = append(l.Links, n)
		}
	}
	if published && p.has(picksFeed) {
		l.Feed = feed{l.T("feed.picks"), picksFeed}
	}
}

// feed is an Atom feed.
type feed struct{ Title, Address string }

// The feeds. The feed of the forecasts is a part of the API's stream.
const (
	picksFeed     = "/picks.atom"
	forecastsFeed = "/api/stream/atom?topics=forecast"
)

// follow replaces the feed of the picks by the page's own, in its head and in its footer.
func (l *layout) follow(f feed) {
	l.Feed = f
	link := navigation{Name: l.T("feed"), Address: f.Address}
	if i := slices.IndexFunc(l.Links, func(n navigation) bool { return n.Address == picksFeed }); i >= 0 {
		l.Links[i] = link
		return
	}
	l.Links = append(l.Links, link)
}

// translated are the pages that exist in every language, at least what surrounds their content.
var translated = map[string]bool{
	"/": true, "/docs": true, "/status": true, "/changelog": true, "/terms": true, "/method": true, "/picks": true, "/portfolio": true, "/events": true, "/economic-events": true, "/digest": true, "/compare": true, "/calendar": true, "/verify": true, dashboardPath: true,
}

// current reports how a page relates to the target of a link: "page" if it is the target, "true" if it is below the target.
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

// inLanguage is the query of the address that a page has in a language. English has none.
func inLanguage(lang picks.Lang) string {
	if lang == picks.English {
		return ""
	}
	return "?lang=" + string(lang)
}

// inLanguages adds a page's versions in all languages. For search engines the English version has the URL without a language. A visitor may
// prefer another language, so the link to English names it.
func (p *Pages) inLanguages(l *layout, r request) {
	for _, lang := range picks.Langs() {
		code := string(lang)
		if lang == picks.English {
			code = ""
		}
		address := r.with("lang", code)
		l.Languages = append(l.Languages, languageLink{lang, languages.Or(lang).Name, p.o.PublicURL + address, r.with("lang", string(lang)), lang == l.Lang})
		if lang == l.Lang {
			l.Canonical = p.o.PublicURL + address
		}
	}
}
