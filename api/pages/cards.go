package pages

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"tidemark/api/pages/card"
	"tidemark/api/pages/plot"
	"tidemark/api/view"
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

// homeCard returns the image of the home page. It shows the most unusual signal, whose finding is the title of the page.
func (p *Pages) homeCard(_ context.Context, r request) (*view.Document, error) {
	if r.signals == nil {
		return nil, nil
	}
	if len(r.query) > 0 {
		return nil, &view.Moved{To: r.path}
	}
	if s := furthestSignal(r.signals.Signals); s != nil {
		return p.signalCardImage(s)
	}
	c := card.Card{
		Kicker: "From free public sources", Title: "Market signals you can check", Value: strconv.Itoa(len(r.signals.Signals)), Unit: "signals",
	}
	if r.record != nil && r.record.Length() > 0 {
		c.Unit += fmt.Sprintf(", and %d picks in a chain", r.record.Length())
		c.Foot = "Recompute it in your browser"
	}
	return p.pictures.of(c)
}

// signalCardImage returns the image of a signal.
func (p *Pages) signalCardImage(s *view.Signal) (*view.Document, error) {
	c := card.Card{Kicker: s.Snapshot.Domain, Title: s.Snapshot.Name, Value: figure(s.Definition, s.Snapshot.Value), Unit: cmp.Or(s.Definition.FigureUnit(), s.Snapshot.Unit), Course: priceSeries(s)}
	if f := findingOf(s.Definition, s.Snapshot); f.Distance != "" {
		c.Kicker, c.Title, c.Value, c.Unit = s.Snapshot.Name, f.Distance, f.Figure, ""
	}
	var foot []string
	if s.Snapshot.ObservedAt != nil {
		foot = append(foot, "observed "+instant(*s.Snapshot.ObservedAt))
	}
	if s.Snapshot.ZScore != nil {
		foot = append(foot, "z "+signed(s.Snapshot.ZScore))
	}
	if s.Snapshot.Synthetic {
		foot = append(foot, "synthetic data")
	}
	c.Foot = strings.Join(foot, "   ")
	return p.pictures.of(c)
}

// researchCard returns the image of a company.
func (p *Pages) researchCard(r view.Research) (*view.Document, error) {
	l := localizer{Lang: picks.English}
	c := card.Card{Kicker: l.Sector(r.Sector) + ", " + l.Country(r.Country), Title: r.Name, Value: r.Ticker}
	if r.Pick != nil {
		if r.Pick.ReturnFromEntryPct != nil && r.Pick.EntryDate != nil {
			c.Unit = l.Pct(r.Pick.ReturnFromEntryPct) + " since " + *r.Pick.EntryDate
		}
		c.Foot = "Picked on " + r.Pick.Date + " at " + r.Pick.Price
	}
	if p.o.World == view.WorldSandbox {
		c.Foot += "   synthetic data"
	}
	return p.pictures.of(c)
}

// pickCard returns the image of a pick as it was announced.
func (p *Pages) pickCard(k view.Pick) (*view.Document, error) {
	l := localizer{Lang: picks.English}
	c := card.Card{
		Kicker: "The pick of " + l.Date(k.Date), Title: k.Name, Value: k.Ticker, Unit: "at " + k.Price + " " + k.Currency,
		Foot: "SHA-256 " + short(k.Hash),
	}
	if p.o.World == view.WorldSandbox {
		c.Foot += "   synthetic data"
	}
	return p.pictures.of(c)
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
