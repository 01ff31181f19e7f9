package view

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/pushes"
)

// NewChange returns a row of the outbox as it is served. If free is set, it has nothing that is sold.
func (v *View) NewChange(p postgres.Push, free bool) (pushes.Change, error) {
	return pushes.Origin{
		PublicURL: v.o.PublicURL, Environment: v.o.environment(), Sandbox: v.o.World == WorldSandbox, Round: postgres.Rounded, Free: free,
	}.Change(pushes.Row(p))
}

// titleOf says a change in a few words.
func titleOf(c pushes.Change) string {
	text := strings.ReplaceAll(c.Kind, "_", " ")
	switch c.Topic {
	case pushes.TopicPick:
		return "Pick announced: " + c.Subject
	case pushes.TopicEvent:
		return "Event: " + c.Subject
	case pushes.TopicForecast:
		return "Forecast " + text + ": " + c.Subject
	}
	s, ok := c.Data.(pushes.SignalChange)
	if !ok || s.Value == nil {
		return c.Subject + ": " + text
	}
	return fmt.Sprintf("%s: %s, %s", c.Subject, text, strconv.FormatFloat(*s.Value, 'g', 6, 64))
}

// TypeAtom is the media type of a feed (RFC 4287).
const TypeAtom = "application/atom+xml"

type atomFeed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"`
	Author  string      `xml:"author>name"`
	Rights  string      `xml:"rights"`
	Links   []atomLink  `xml:"link"`
	Entries []atomEntry `xml:"entry"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Href string `xml:"href,attr"`
}

type atomEntry struct {
	ID      string   `xml:"id"`
	Title   string   `xml:"title"`
	Updated string   `xml:"updated"`
	Link    atomLink `xml:"link"`
	Content atomText `xml:"content"`
}

type atomText struct {
	Type string `xml:"type,attr"`
	Text string `xml:",chardata"`
}

// ChangesFeed returns changes as an Atom feed, in their order. self is the feed's own address.
func (v *View) ChangesFeed(self string, list []pushes.Change) (*Document, error) {
	updated := time.Unix(0, 0).UTC()
	for _, c := range list {
		if c.At.After(updated) {
			updated = c.At
		}
	}
	out := atomFeed{
		ID: self, Title: Product + ": changes", Updated: updated.Format(time.RFC3339), Author: Product, Rights: disclaimer,
		Links: []atomLink{{Rel: "self", Href: self}, {Rel: "alternate", Href: v.o.PublicURL + "/"}},
	}
	if v.o.World == WorldSandbox {
		out.Title = syntheticName + out.Title
	}
	for _, c := range list {
		data, err := Encode(c.Data)
		if err != nil {
			return nil, err
		}
		out.Entries = append(out.Entries, atomEntry{
			ID: v.o.PublicURL + "/api/stream#" + c.Cursor, Title: titleOf(c), Updated: c.At.Format(time.RFC3339Nano), Link: atomLink{Rel: "alternate", Href: c.URL},
			Content: atomText{Type: "text", Text: strings.TrimSpace(string(data))},
		})
	}
	body, err := xml.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("write the feed: %w", err)
	}
	return NewDocument(TypeAtom, CachePublic, append([]byte(xml.Header), body...), updated), nil
}
