// Package ingest fetches data from publishers, archives the bytes before anything parses them, and defines what an adapter declares about
// a publisher's source. It knows nothing of signals. Start at Source; Engine runs one.
package ingest

import (
	"net/http"
	"time"

	"tidemark/internal/equity"
	"tidemark/internal/series"
)

// Source declares one upstream job: what is asked, how often, within which limits, and how its bytes become readings. An adapter
// folder under ingest returns such values; package sources lists them.
type Source struct {
	// ID is stable and lower case, for example "eia-petroleum-spot". It is the subject of the ingest task.
	ID        string
	Name      string
	Publisher string
	// License is the licence of the data and the attribution it asks for.
	License string
	// TermsSetting is the setting with which an operator accepts the publisher's terms. Without it a live installation does not ask the source.
	// It is empty if nothing need be accepted.
	TermsSetting string
	// Redistributable reports whether the licence lets anyone pass the publisher's bytes on unchanged.
	Redistributable bool
	HomeURL         string
	Cadence         series.Cadence
	Limits          Limits
	// Series lists every series that Parse may return; a reading of any other series fails the run. It is empty for a source about
	// companies. Such a source requests one company at a time, and some companies have no data. An empty batch is then valid; if it is
	// not, Parse returns an error.
	Series []series.Info
	// Request builds the first requests for observations of a window (zero: the whole history). It does no I/O.
	Request func(w series.Window) ([]Request, error)
	// Window narrows the request of a scheduled run, after each of the source's series has been loaded. It takes the instant of the run and
	// the time of the newest observation of any of the series. The zero window is the whole history. A source should return it now and
	// then, because publishers revise old values. If Window is nil, every run requests the whole history. Window is pure.
	Window func(slot, newest time.Time) series.Window
	// Reestimates reports whether a release may estimate the whole history again, so that all known values can differ from one day to the
	// next. The readings of one run are then one release, which is stored whole or not at all. If it is false, a response that changes a
	// large part of the known values waits for an operator's review before it is stored.
	Reestimates bool
	// Epoch returns as text all that Parse uses of a response's fetch time. Parse otherwise uses only the request, the media type and the
	// body. Parse returns the same batch for two responses with the same bytes and the same text. So one process parses such a response
	// once, and the store compares the same bytes again when the text is another one. If Epoch is nil, Parse may use anything in the
	// response, and the same bytes are not compared again: a source that reads more of the same bytes later needs an Epoch.
	Epoch func(fetchedAt time.Time) string
	// Parse turns one archived response into readings. It does no I/O, keeps no state and returns the same batch for the same bytes. A
	// parser is therefore repaired by parsing the archive again. If a body does not match the publisher's format, Parse returns an error
	// that names the page and the expected content, never an empty batch.
	Parse func(Response) (Batch, error)
	// Locate finds the place where a response states the value of a series about a time. Parse must be able to read the response. If the
	// response does not state the value, or the source does not know where, Locate reports false. It does no I/O. It may be nil.
	Locate func(r Response, id series.ID, observedAt time.Time) (p Place, found bool)
}

// Limits bound the requests to a publisher and the size of its responses. Zero fields use the engine's defaults.
type Limits struct {
	// Interval is the least time between the starts of two requests to one host, over all processes.
	Interval time.Duration
	// Timeout bounds one exchange, body included.
	Timeout time.Duration
	// MaxBytes bounds one body. A longer one is refused whole, never cut.
	MaxBytes int64
	// ContentTypes lists the media types a good answer may have, without parameters. Empty: any.
	ContentTypes []string
	// Pages bounds how often Batch.Next is followed in one run.
	Pages int
	// Forbidden is the time without requests to a host after status 403, for publishers that use this status for rate limiting. The error
	// is then Temporary. Zero means that 403 is a permanent error.
	Forbidden time.Duration
}

// Request is one thing to ask. The zero Method is GET.
type Request struct {
	Method string
	URL    string
	Header http.Header
	Body   []byte
	// Secret names the query parameters whose values must never be stored or logged. The ledger's URL carries "REDACTED".
	Secret []string
	// Absent lists the statuses, such as 404, that this publisher returns if the address has no content, or none yet. The chain of pages
	// then continues with Else, and ends if Else is nil. If Absent is empty, every status but 200 is a failure.
	Absent []int
	Else   *Request
}

// Response is one archived answer of status 200.
type Response struct {
	Request Request
	Header  http.Header
	Body    []byte
	// FetchedAt is the world's time of the answer, in UTC.
	FetchedAt time.Time
}

// Reading is one value as a publisher states it, before it has a vintage.
type Reading = series.Reading

// Coverage claims that every observation of a series in a window is in the batch. A known observation that is missing from the batch has
// been withdrawn.
type Coverage = series.Coverage

// Batch is the parsed content of one response: readings of series, data about companies, or both. Lists are in any order, except
// Companies.
type Batch struct {
	// Readings without two of one series at one time.
	Readings []Reading
	Covers   []Coverage
	// Vintages are earlier values that the publisher reports, each with the instant when it was first shown. They include the present
	// values: for each time, the newest vintage is the reading. They are stored when a series is loaded for the first time. They do not
	// change what the API returned between then and now.
	Vintages []series.Observation

	// Companies has at most one entry for each CIK, in the response's own order: a list by size begins with the largest. An empty field
	// means that this response does not know the value; it does not delete a known one. Listings without dates are those at the time of
	// the response.
	Companies []equity.Company
	// Filings without two of one company and accession number. What several companies file together is a filing of each.
	Filings []equity.Filing
	// Facts without two of one company, taxonomy, tag, unit, period and accession number.
	Facts []equity.Fact
	// Bars without two of one company, date and source.
	Bars []equity.Bar
	// Actions without two of one company, kind, date and source.
	Actions []equity.Action
	// News without two of one source and id.
	News []equity.NewsItem
	// Risks without two of one company and accession number.
	Risks []equity.RiskFactors

	// Next is the request for the following page, nil after the last.
	Next *Request
}

// Empty reports whether the response held nothing, apart from the address of another page.
func (b Batch) Empty() bool {
	return len(b.Readings)+len(b.Companies)+len(b.Filings)+len(b.Facts)+len(b.Bars)+len(b.Actions)+len(b.News)+len(b.Risks) == 0
}

// Rounding returns the difference below which two values of one of the source's series are the same; see series.Info.
func (s Source) Rounding(id series.ID) float64 {
	for _, i := range s.Series {
		if i.ID == id {
			return i.Rounding
		}
	}
	return 0
}

// Published returns the time at which a value of one of the source's series is assumed to have become known, if its arrival was not
// observed. A series without a rule, or one missing from Series, was known at once.
func (s Source) Published(id series.ID, observedAt time.Time) time.Time {
	for _, i := range s.Series {
		if i.ID == id && i.Published != nil {
			return i.Published(observedAt)
		}
	}
	return observedAt
}
