package view

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/postgres"
)

// Change is something that became known: the data of a server-sent event. Its cursor is the event's id.
type Change struct {
	Cursor string `json:"cursor"`
	// Topic is "signal:" and an id, "pick", "event" or "forecast".
	Topic string `json:"topic"`
	// Kind is new_print, revision, status or update of a signal, announced of a pick, happened of an event, issued or graded of a forecast.
	Kind string `json:"kind"`
	// Subject is the signal's id or the company's ticker.
	Subject string    `json:"subject"`
	At      time.Time `json:"at"`
	// URL is where the whole of it is.
	URL  string `json:"url"`
	Data any    `json:"data"`
	// Environment is "live" or "demo".
	Environment string `json:"environment"`
}

// SignalChange is the data of a signal's change. Numbers are as in the snapshot.
type SignalChange struct {
	AsOf           time.Time  `json:"as_of"`
	Status         string     `json:"status"`
	ObservedAt     *time.Time `json:"observed_at"`
	Value          *float64   `json:"value"`
	Lo             *float64   `json:"uncertainty_lo"`
	Hi             *float64   `json:"uncertainty_hi"`
	Baseline       *float64   `json:"baseline_value"`
	ZScore         *float64   `json:"z_score"`
	PreviousValue  *float64   `json:"previous_value"`
	PreviousStatus *string    `json:"previous_status"`
	Synthetic      bool       `json:"synthetic"`
}

// storedSignalChange is a SignalChange as the outbox has it.
type storedSignalChange struct {
	AsOf           time.Time  `json:"as_of"`
	Status         string     `json:"status"`
	ObservedAt     *time.Time `json:"observed_at"`
	Value          *float64   `json:"value"`
	Lo             *float64   `json:"lo"`
	Hi             *float64   `json:"hi"`
	Baseline       *float64   `json:"baseline"`
	ZScore         *float64   `json:"z_score"`
	PreviousValue  *float64   `json:"previous_value"`
	PreviousStatus *string    `json:"previous_status"`
	Synthetic      bool       `json:"synthetic"`
}

const signalTopic = "signal:"

// NewChange returns a row of the outbox as it is served.
func (v *View) NewChange(p postgres.Push) (Change, error) {
	publicURL := v.o.PublicURL
	out := Change{
		Cursor: strconv.FormatInt(p.ID, 10), Topic: p.Topic, Kind: p.Kind, Subject: p.Subject, At: p.At, Data: p.Data, Environment: v.o.environment(),
	}
	switch p.Topic {
	case "pick":
		out.URL = publicURL + "/api/v1/verify/pick/" + p.Subject
	case "event":
		out.URL = publicURL + "/api/v1/events?ticker=" + p.Subject
	case "forecast":
		out.URL = publicURL + "/api/signals/" + p.Subject + "/forecasts"
	}
	if !strings.HasPrefix(p.Topic, signalTopic) {
		return out, nil
	}
	var s storedSignalChange
	if err := json.Unmarshal(p.Data, &s); err != nil {
		return Change{}, fmt.Errorf("read the push %d: %w", p.ID, err)
	}
	out.URL = publicURL + "/api/signals/" + p.Subject
	utc := func(t *time.Time) *time.Time {
		if t == nil {
			return nil
		}
		return new(t.UTC())
	}
	out.Data = SignalChange{
		AsOf: s.AsOf.UTC(), Status: s.Status, ObservedAt: utc(s.ObservedAt), Value: served(s.Value), Lo: served(s.Lo), Hi: served(s.Hi), Baseline: served(s.Baseline),
		ZScore: served(s.ZScore), PreviousValue: served(s.PreviousValue), PreviousStatus: s.PreviousStatus, Synthetic: s.Synthetic || v.o.World == WorldSandbox,
	}
	return out, nil
}

// title says a change in a few words.
func (c Change) title() string {
	text := strings.ReplaceAll(c.Kind, "_", " ")
	switch c.Topic {
	case "pick":
		return "Pick announced: " + c.Subject
	case "event":
		return "Event: " + c.Subject
	case "forecast":
		return "Forecast " + text + ": " + c.Subject
	}
	s, ok := c.Data.(SignalChange)
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
func (v *View) ChangesFeed(self string, list []Change) (*Document, error) {
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
			ID: v.o.PublicURL + "/api/stream#" + c.Cursor, Title: c.title(), Updated: c.At.Format(time.RFC3339Nano), Link: atomLink{Rel: "alternate", Href: c.URL},
			Content: atomText{Type: "text", Text: strings.TrimSpace(string(data))},
		})
	}
	body, err := xml.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("write the feed: %w", err)
	}
	return NewDocument(TypeAtom, CachePublic, append([]byte(xml.Header), body...), updated), nil
}
