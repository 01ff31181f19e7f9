package pages

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"tidemark/api/pages/card"
	"tidemark/api/pages/plot"
	"tidemark/api/view"
	"tidemark/internal/locale/languages"
	"tidemark/picks"
	"tidemark/signals"
)

// The preview images of pages for social media: /card.png, and card.png below a signal or a company.

// typePNG is the media type of the images.
const typePNG = "image/png"

// cardName is the last part of an image's path.
const cardName = "/card.png"

// pictures draws and caches cards. It draws each card once and one at a time, because a card takes a hundred times the work of a page.
// Other changes of the site do not invalidate the cache. It is safe for concurrent use.
type pictures struct {
	mu   sync.Mutex
	kept map[string]*view.Document
}

// maxPictures bounds the cache. An image has about 20 KB.
const maxPictures = 1024

// of returns the picture of a card.
func (p *pictures) of(c card.Card) (*view.Document, error) {
	name := fmt.Sprintf("%q %v", []string{c.Kicker, c.Title, c.Value, c.Unit, c.Foot}, c.Course)
	p.mu.Lock()
	defer p.mu.Unlock()
	if doc := p.kept[name]; doc != nil {
		return doc, nil
	}
	body, err := c.PNG()
	if err != nil {
		return nil, err
	}
	if p.kept == nil || len(p.kept) >= maxPictures {
		p.kept = map[string]*view.Document{}
	}
	doc := view.NewDocument(typePNG, view.CachePublic, body, time.Time{})
	p.kept[name] = doc
	return doc, nil
}

// pictureLang returns the language of the picture that belongs to a page in a language. The fonts of the pictures cover the Latin script, so a
// page in another script has the English picture.
func pictureLang(lang picks.Lang) picks.Lang {
	if script, _ := languages.Or(lang).Tag.Script(); script.String() != "Latn" {
		return picks.English
	}
	return lang
}

// picture returns the text of a picture's own language.
func (r request) picture() localizer {
	lang, ok := picks.ParseLang(r.text("lang"))
	if !ok {
		lang = picks.English
	}
	return r.local(pictureLang(lang))
}

// onlyAt returns a *view.Moved error if a request for a picture has another address than the picture's own. asOf is the day of the picture, empty
// for the current state.
func (r request) onlyAt(path, asOf string, lang picks.Lang) error {
	own := pictureQuery(asOf, lang)
	if r.path == path && r.query.Encode() == strings.TrimPrefix(own, "?") {
		return nil
	}
	return &view.Moved{To: path + own}
}

// pictureQuery is the query of the picture of a day in a language.
func pictureQuery(asOf string, lang picks.Lang) string {
	if asOf == "" {
		return inLanguage(lang)
	}
	return "?as_of=" + asOf + strings.Replace(inLanguage(lang), "?", "&", 1)
}

// picture names a page's picture and describes it. The address is the picture's without the query. c is the card in the language of the page. The
// picture can be in another language.
func (l *layout) picture(address, asOf string, c card.Card) {
	l.pictureAt(func(lang picks.Lang) string { return address + pictureQuery(asOf, lang) }, c)
}

// pictureAt is picture for a picture whose address in a language is of.
func (l *layout) pictureAt(of func(picks.Lang) string, c card.Card) {
	lang := pictureLang(l.Lang)
	l.Image, l.ImageAlt = of(lang), c.Text()
	if lang != l.Lang {
		l.ImageAlt += ". " + l.T("card.english")
	}
}

// homeCard returns the image of the home page.
func (p *Pages) homeCard(_ context.Context, r request) (*view.Document, error) {
	if r.signals == nil {
		return nil, nil
	}
	l := r.picture()
	if err := r.onlyAt(r.path, "", l.Lang); err != nil {
		return nil, err
	}
	return p.pictures.of(l.cardOfHome(r.site))
}

// cardOfHome shows the most unusual signal, whose finding is the title of the page.
func (l localizer) cardOfHome(s site) card.Card {
	if furthest := furthestSignal(s.signals.Signals); furthest != nil {
		return l.cardOfSignal(furthest.Definition, furthest.Snapshot, recent(furthest))
	}
	return l.cardOfSite(s, l.T("home.lead"))
}

// cardOfSite shows a title, how many signals there are, and the length of the record.
func (l localizer) cardOfSite(s site, title string) card.Card {
	c := card.Card{Kicker: l.T("card.sources"), Title: title, Unit: l.T("card.signals")}
	if s.signals != nil {
		c.Value = strconv.Itoa(len(offered(s.signals.Signals)))
	}
	if s.record != nil && s.record.Length() > 0 {
		c.Unit, c.Foot = l.Say("card.chain", l.Count(s.record.Length())), l.T("card.recompute")
	}
	return c
}

// titles are the phrases with the titles of the pages that no one signal, company or pick belongs to. Each has a picture with its title.
var titles = map[string]string{
	"/picks": "picks", "/portfolio": "portfolio", "/events": "events", "/verify": "verify.title", "/docs": "docs", "/method": "method",
	"/calendar": "calendar.title",
}

// titleCard returns the image of such a page.
func (p *Pages) titleCard(path, title string) page {
	return func(_ context.Context, r request) (*view.Document, error) {
		if r.signals == nil {
			return nil, nil
		}
		l := r.picture()
		if err := r.onlyAt(path+cardName, "", l.Lang); err != nil {
			return nil, err
		}
		return p.pictures.of(p.marked(l, l.cardOfSite(r.site, l.T(title))))
	}
}

// signalPicture names the picture of a signal's page as the picture of a page about a snapshot of the signal. day is empty for the current state.
func (p *Pages) signalPicture(l *layout, d signals.Definition, s view.SignalSnapshot, day string) {
	l.picture(p.o.PublicURL+"/signals/"+d.ID+cardName, day, l.cardOfDay(l.cardOfSignal(d, s, nil), day))
}

// signalCard returns the image of a signal, as known now or at the end of a day.
func (p *Pages) signalCard(ctx context.Context, r request, s *view.Signal) (*view.Document, error) {
	l := r.picture()
	asOf, err := r.day("as_of", p.o.View.Now())
	if err != nil {
		return nil, err
	}
	day := ""
	if !asOf.IsZero() {
		day = asOf.Format(time.DateOnly)
	}
	if err := r.onlyAt(r.path, day, l.Lang); err != nil {
		return nil, err
	}
	if asOf.IsZero() {
		return p.pictures.of(l.cardOfSignal(s.Definition, s.Snapshot, recent(s)))
	}
	past, err := p.snapshotAsOf(ctx, r, s, asOf)
	if err != nil {
		return nil, err
	}
	var from time.Time
	if past.ObservedAt != nil {
		from = beginning(defaultRange(s.Definition.Frequency), *past.ObservedAt)
	}
	points, err := p.o.View.PointsAsOf(ctx, s, endOf(asOf), from)
	if err != nil {
		return nil, err
	}
	return p.pictures.of(l.cardOfDay(l.cardOfSignal(s.Definition, *past, points), day))
}

// cardOfDay says on a card at the end of which day its data were known. day is empty for the current state.
func (l localizer) cardOfDay(c card.Card, day string) card.Card {
	if day != "" {
		c.Foot = strings.TrimSuffix(l.Say("card.as of", l.Date(day))+card.Apart+c.Foot, card.Apart)
	}
	return c
}

// cardOfSignal shows the value of a snapshot, with its distance from the baseline if that is known, and the course of points.
func (l localizer) cardOfSignal(english signals.Definition, s view.SignalSnapshot, points []view.HistoryPoint) card.Card {
	d := l.Own(english)
	c := card.Card{
		Kicker: l.Worded("domain", s.Domain), Title: d.Name, Value: l.Figure(d, s.Value), Unit: l.UnitAfter(d, s.Value), Course: course(english, points),
	}
	if before := l.UnitBefore(d); before != "" {
		c.Value, c.Unit = before+" "+c.Value, ""
	}
	if f := l.finding(english, s); f.Distance != "" {
		c.Kicker, c.Title, c.Value, c.Unit = d.Name, sentence(f.Distance), f.Figure, ""
	}
	var foot []string
	if s.ObservedAt != nil {
		foot = append(foot, sentence(l.Say(monthOr(d, "card.observed"), l.Observed(d, *s.ObservedAt))))
	}
	if s.ZScore != nil {
		foot = append(foot, "z "+l.Z(s.ZScore))
	}
	if s.Synthetic {
		foot = append(foot, l.T("card.synthetic"))
	}
	c.Foot = strings.Join(foot, card.Apart)
	return c
}

// researchCard shows a company, with the return of its newest pick if that is free.
func (p *Pages) researchCard(r request, l localizer, of view.Research) card.Card {
	c := card.Card{Kicker: l.Sector(of.Sector) + ", " + l.Country(of.Country), Title: of.Name, Value: of.Ticker}
	if k := of.Pick; k != nil {
		if k.ReturnFromEntryPct != nil && k.EntryDate != nil && (r.all || r.public(l)[k.Seq]) {
			c.Unit = l.Pct(k.ReturnFromEntryPct) + " " + l.Say("home.since", l.Date(*k.EntryDate))
		}
		c.Foot = l.Say("card.picked", l.Date(k.Date), l.PriceIn(k.Price, "USD"))
	}
	return p.marked(l, c)
}

// pickCard shows a pick as it was announced.
func (p *Pages) pickCard(l localizer, k view.Pick) card.Card {
	return p.marked(l, card.Card{
		Kicker: fmt.Sprintf(l.T("pick of"), l.Date(k.Date)), Title: k.Name, Value: k.Ticker, Unit: l.Say("card.price", l.PriceIn(k.Price, k.Currency)),
		Foot: "SHA-256 " + short(k.Hash),
	})
}

// marked says on a card of a sandbox that its data are synthetic.
func (p *Pages) marked(l localizer, c card.Card) card.Card {
	if p.o.World == view.WorldSandbox {
		c.Foot += card.Apart + l.T("card.synthetic")
	}
	return c
}

// courseStretches is how many time intervals a small line distinguishes.
const courseStretches = 40

// recent returns the points of a signal over its default range.
func recent(s *view.Signal) []view.HistoryPoint {
	return s.History.Points(beginning(defaultRange(s.Definition.Frequency), s.History.Last()))
}

// course returns the values of points, reduced to the number that a small line shows. It is interrupted where the plot is.
func course(d signals.Definition, points []view.HistoryPoint) []float64 {
	points = interrupted(d, points)
	x, y := make([]float64, len(points)), make([]float64, len(points))
	for i, q := range points {
		x[i], y[i] = float64(q.ObservedAt.Unix()), q.Value
	}
	var course []float64
	for _, i := range plot.Reduce(x, y, courseStretches) {
		course = append(course, y[i])
	}
	return course
}
