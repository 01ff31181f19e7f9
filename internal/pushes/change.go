// Package pushes says what is pushed and how: a change as its receivers get it, the rules that select changes for a webhook, and the signed
// request that carries one. It stores nothing. Start at Change.
package pushes

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// The topics. The topic of a signal is TopicSignal and its id.
const (
	TopicSignal   = "signal:"
	TopicPick     = "pick"
	TopicEvent    = "event"
	TopicForecast = "forecast"
)

// Row is a row of the outbox.
type Row struct {
	ID                   int64
	Topic, Kind, Subject string
	// Data is an object. Its members depend on the topic.
	Data json.RawMessage
	At   time.Time
}

// Change is something that became known: the data of a server-sent event. Its cursor is the event's id.
type Change struct {
	Cursor string `json:"cursor"`
	// Topic is "signal:" and an id, "pick", "event" or "forecast".
	Topic string `json:"topic"`
	// Kind is new_print, revision, status or update of a signal, announced of a pick, happened of an event, issued or graded of a forecast.
	Kind string `json:"kind"`
	// Subject is the signal's id or the company's ticker. Where portfolio events are sold (PAGES=free), it is "portfolio" for them.
	Subject string    `json:"subject"`
	At      time.Time `json:"at"`
	// URL is where the whole of it is.
	URL string `json:"url"`
	// Data is an object. Its members depend on the topic.
	Data any `json:"data"`
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

// PickChange is the data of an announced pick.
type PickChange struct {
	Seq    int64  `json:"seq"`
	Ticker string `json:"ticker"`
	Name   string `json:"name"`
	// Date is the trading day, YYYY-MM-DD.
	Date string `json:"date"`
	// Price is a decimal text: the hash of the link covers its exact characters.
	Price       string    `json:"price"`
	Currency    string    `json:"currency"`
	AnnouncedAt time.Time `json:"announced_at"`
	Hash        string    `json:"hash"`
}

// EventChange is the data of an event of the portfolio.
type EventChange struct {
	ID         string    `json:"id"`
	Type       string    `json:"type"`
	Severity   int       `json:"severity"`
	Ticker     string    `json:"ticker"`
	OccurredAt time.Time `json:"occurred_at"`
	ChangePct  *float64  `json:"change_pct"`
}

// IssuedForecast is the data of a forecast that was issued.
type IssuedForecast struct {
	ID        string    `json:"id"`
	Signal    string    `json:"signal"`
	Figure    string    `json:"figure"`
	Period    string    `json:"period"`
	ReleaseAt time.Time `json:"release_at"`
	IssuedAt  time.Time `json:"issued_at"`
	Label     string    `json:"label"`
	Hash      string    `json:"hash"`
}

// GradedForecast is the data of a forecast that was graded.
type GradedForecast struct {
	ID     string `json:"id"`
	Signal string `json:"signal"`
	Figure string `json:"figure"`
	Period string `json:"period"`
	// Outcome is a decimal text. It is null if the print never came.
	Outcome     *string   `json:"outcome"`
	PublishedAt time.Time `json:"published_at"`
	GradedAt    time.Time `json:"graded_at"`
	Hash        string    `json:"hash"`
}

// Data are the types of a change's data by the type of the message that carries it, which is its topic without the id of a signal. An event has
// the second of its types where events are sold.
var Data = map[string][]any{
	"signal": {SignalChange{}}, TopicPick: {PickChange{}}, TopicEvent: {EventChange{}, EventNotice{}}, TopicForecast: {IssuedForecast{}, GradedForecast{}},
}

// Origin is the service that pushes.
type Origin struct {
	PublicURL, Environment string
	// Sandbox marks all numbers as synthetic.
	Sandbox bool
	// Free withholds what is sold: of a portfolio event it tells only the type. The event's id is withheld, too, because a client that
	// tries all companies could find the company from it.
	Free bool
	// Round rounds a number as it is served.
	Round func(float64) float64
}

// EventNotice is the free part of a portfolio event if the events are sold: the rest is at /api/v1/events.
type EventNotice struct {
	Type string `json:"type"`
}

// eventSubject is the subject of an event whose company is not told.
const eventSubject = "portfolio"

// Change returns a row of the outbox as it is served.
func (o Origin) Change(r Row) (Change, error) {
	out := Change{
		Cursor: strconv.FormatInt(r.ID, 10), Topic: r.Topic, Kind: r.Kind, Subject: r.Subject, At: r.At.UTC(), Data: r.Data, Environment: o.Environment,
	}
	switch r.Topic {
	case TopicPick:
		out.URL = o.PublicURL + "/api/v1/verify/pick/" + r.Subject
	case TopicEvent:
		out.URL = o.PublicURL + "/api/v1/events?ticker=" + r.Subject
		if o.Free {
			var notice EventNotice
			if err := json.Unmarshal(r.Data, &notice); err != nil {
				return Change{}, fmt.Errorf("read the push %d: %w", r.ID, err)
			}
			out.Subject, out.URL, out.Data = eventSubject, o.PublicURL+"/api/v1/events", notice
		}
	case TopicForecast:
		out.URL = o.PublicURL + "/api/signals/" + r.Subject + "/forecasts"
	}
	if !strings.HasPrefix(r.Topic, TopicSignal) {
		return out, nil
	}
	s, err := r.signal()
	if err != nil {
		return Change{}, err
	}
	out.URL = o.PublicURL + "/api/signals/" + r.Subject
	var observed *time.Time
	if s.ObservedAt != nil {
		observed = new(s.ObservedAt.UTC())
	}
	out.Data = SignalChange{
		AsOf: s.AsOf.UTC(), Status: s.Status, ObservedAt: observed, Value: o.served(s.Value), Lo: o.served(s.Lo), Hi: o.served(s.Hi),
		Baseline: o.served(s.Baseline), ZScore: o.served(s.ZScore), PreviousValue: o.served(s.PreviousValue), PreviousStatus: s.PreviousStatus,
		Synthetic: s.Synthetic || o.Sandbox,
	}
	return out, nil
}

// signal reads the data of a signal's change.
func (r Row) signal() (s storedSignalChange, err error) {
	if err := json.Unmarshal(r.Data, &s); err != nil {
		return s, fmt.Errorf("read the push %d: %w", r.ID, err)
	}
	return s, nil
}

// served returns a number as it is served: rounded, nil if it is not finite.
func (o Origin) served(f *float64) *float64 {
	if f == nil || math.IsNaN(*f) || math.IsInf(*f, 0) {
		return nil
	}
	return new(o.Round(*f))
}
