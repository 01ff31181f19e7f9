package pages

import (
	"context"
	"encoding/xml"
	"fmt"
	"time"

	"tidemark/api/view"
	"tidemark/picks"
)

// The Atom feed of the announced picks (RFC 4287).

type atomFeed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	Lang    string      `xml:"xml:lang,attr"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Sub     string      `xml:"subtitle"`
	Updated string      `xml:"updated"`
	Author  atomAuthor  `xml:"author"`
	Links   []atomLink  `xml:"link"`
	Entries []atomEntry `xml:"entry"`
}

type atomAuthor struct {
	Name string `xml:"name"`
	URI  string `xml:"uri"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr,omitempty"`
	Href string `xml:"href,attr"`
}

type atomEntry struct {
	ID        string     `xml:"id"`
	Title     string     `xml:"title"`
	Updated   string     `xml:"updated"`
	Published string     `xml:"published"`
	Links     []atomLink `xml:"link"`
	Summary   string     `xml:"summary"`
}

// typeAtom is the media type of the feed.
const typeAtom = "application/atom+xml; charset=utf-8"

// feed lists the newest announced picks, the same for every visitor. An entry never shows the later result of a pick. If pages show only
// free data, entries of older picks contain only what the chain contains.
func (p *Pages) feed(_ context.Context, r request) (*view.Document, error) {
	if r.published == nil || r.signals == nil {
		return nil, nil
	}
	list, _, err := list[view.Pick](r.published.Picks(view.ListQuery{Lang: picks.English, Limit: perPage}))
	if err != nil {
		return nil, err
	}
	home := p.o.PublicURL
	out := atomFeed{
		Lang: "en", ID: home + picksFeed, Title: "Tidemark: announced picks", Sub: r.signals.Disclaimer,
		Updated: time.Unix(0, 0).UTC().Format(time.RFC3339), Author: atomAuthor{"Tidemark", home + "/"},
		Links: []atomLink{{"self", "application/atom+xml", home + picksFeed}, {"alternate", "text/html", home + "/picks"}},
	}
	var newest time.Time
	public := r.public(localizer{Lang: picks.English})
	for _, k := range list {
		if k.AnnouncedAt == nil {
			continue
		}
		chained := !r.all && !public[k.Seq]
		if k.AnnouncedAt.After(newest) {
			newest = *k.AnnouncedAt
			out.Updated = newest.UTC().Format(time.RFC3339)
		}
		at := k.AnnouncedAt.UTC().Format(time.RFC3339)
		e := atomEntry{
			ID: fmt.Sprintf("%s/picks#%d", home, k.Seq), Title: fmt.Sprintf("%s (%s) at %s %s, %s", k.Name, k.Ticker, k.Price, k.Currency, k.Date),
			Updated: at, Published: at, Links: []atomLink{{"alternate", "text/html", home + "/picks/" + k.Date}, {"related", "application/json", k.Links.Verify}},
			Summary: "SHA-256 " + k.Hash,
		}
		if chained {
			e.Title = fmt.Sprintf("%s at %s, %s", k.Ticker, k.Price, k.Date)
		}
		if k.SummaryWhy != nil && !chained {
			e.Summary = *k.SummaryWhy + " SHA-256 " + k.Hash
		}
		out.Entries = append(out.Entries, e)
	}
	body, err := xml.MarshalIndent(out, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode the feed of the picks: %w", err)
	}
	return view.NewDocument(typeAtom, view.CachePublic, append([]byte(xml.Header), body...), newest), nil
}
