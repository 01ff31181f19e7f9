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

// onlyAt returns a *view.Moved error if a request for a picture has another address than the picture's own.
func (r request) onlyAt(path string, lang picks.Lang) error {
	own := inLanguage(lang)
	if r.path == path && r.query.Encode() == strings.TrimPrefix(own, "?") {
		return nil
	}
	return &view.Moved{To: path + own}
}

// picture names a page's picture, whose address without the language is given, and says what is in it.
func (l *layout) picture(address string, c card.Card) {
	l.Image, l.ImageAlt = address+inLanguage(pictureLang(l.Lang)), c.Text()
}

// homeCard returns the image of the home page.
func (p *Pages) homeCard(_ context.Context, r request) (*view.Document, error) {
	if r.signals == nil {
		return nil, nil
	}
	l := r.picture()
	if err := r.onlyAt(r.path, l.Lang); err != nil {
		return nil, err
	}
	return p.pictures.of(l.cardOfHome(r.site))
}

// cardOfHome shows the most unusual signal, whose finding is the title of the page.
func (l localizer) cardOfHome(s site) card.Card {
	if furthest := furthestSignal(s.signals.Signals); furthest != nil {
		return l.cardOfSignal(furthest)
	}
	c := card.Card{Kicker: l.T("card.sources"), Title: l.T("home.lead"), Value: strconv.Itoa(len(s.signals.Signals)), Unit: l.T("card.signals")}
	if s.record != nil && s.record.Length() > 0 {
		c.Unit, c.Foot = l.Say("card.chain", l.Count(s.record.Length())), l.T("card.recompute")
	}
	return c
}

// cardOfSignal shows the newest value of a signal, with its distance from the baseline if that is known.
func (l localizer) cardOfSignal(s *view.Signal) card.Card {
	d := l.Own(s.Definition)
	c := card.Card{
		Kicker: l.Worded("domain", s.Snapshot.Domain), Title: d.Name, Value: l.Figure(d, s.Snapshot.Value), Unit: l.FigureUnit(d), Course: priceSeries(s),
	}
	if f := l.finding(s.Definition, s.Snapshot); f.Distance != "" {
		c.Kicker, c.Title, c.Value, c.Unit = d.Name, f.Distance, f.Figure, ""
	}
	var foot []string
	if s.Snapshot.ObservedAt != nil {
		foot = append(foot, l.Say("card.observed", instant(*s.Snapshot.ObservedAt)))
	}
	if s.Snapshot.ZScore != nil {
		foot = append(foot, "z "+l.Z(s.Snapshot.ZScore))
	}
	if s.Snapshot.Synthetic {
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
			c.Unit = l.Pct(k.ReturnFromEntryPct) + " " + l.Say("home.since", *k.EntryDate)
		}
		c.Foot = l.Say("card.picked", k.Date, l.Price(k.Price))
	}
	return p.marked(l, c)
}

// pickCard shows a pick as it was announced.
func (p *Pages) pickCard(l localizer, k view.Pick) card.Card {
	return p.marked(l, card.Card{
		Kicker: fmt.Sprintf(l.T("pick of"), l.Date(k.Date)), Title: k.Name, Value: k.Ticker, Unit: l.Say("card.price", l.Price(k.Price), k.Currency),
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

// priceSeries returns the values of a signal over its default range, reduced to the points that a small line shows.
func priceSeries(s *view.Signal) []float64 {
	points := s.History.Points(beginning(defaultRange(s.Definition.Frequency), s.History.Last()))
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
