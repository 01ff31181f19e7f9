package series

import "time"

// Severity is the consequence of a finding for the response that it is about.
type Severity string

// The severities.
const (
	// SeverityWarn means that the response is stored, and the finding with the run.
	SeverityWarn Severity = "warn"
	// SeverityError means that the response is not stored before an operator has decided about it.
	SeverityError Severity = "error"
)

// Finding is the result of a check of a publisher's response. Runs and the quarantine keep it as JSON.
type Finding struct {
	Check    string   `json:"check"`
	Severity Severity `json:"severity"`
	// Series is empty for a finding about the whole response.
	Series ID `json:"series,omitempty"`
	// From and To limit the observation times of the finding; zero means no limit.
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
	// Observed and Expected are for people: numbers with their units, dates, counts.
	Observed string `json:"seen"`
	Expected string `json:"expected"`
}

// Known is the known history of a series before a response.
type Known struct {
	// ConfirmedAt is the time of the response that last confirmed it. Zero means that its first load is not complete.
	ConfirmedAt time.Time
	// Readings are the newest ones, ascending: for each time the newest vintage, without withdrawn readings. They end with the newest
	// known reading, unless the reader asked for a window that ends earlier.
	Readings []Reading
	// Complete reports whether nothing older is known.
	Complete bool
}
