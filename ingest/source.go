// Package ingest knows upstreams: how to ask them politely, how their bytes are archived before anything reads them, and what
// an adapter has to say about one. It knows nothing of signals. Start at Source; the engine that runs one is Engine.
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
	// Redistributable tells that the licence lets anyone pass the publisher's bytes on as they came.
	Redistributable bool
	HomeURL         string
	Cadence         series.Cadence
	Limits          Limits
	// Series lists all that Parse may yield; a reading of any other series fails the run. It is empty for a source that speaks of
	// companies. Such a source asks about one company at a time, and some have nothing to say: that nothing came is then a good
	// answer, and where it is not, Parse says so.
	Series []series.Info
	// Request builds the first requests for observations of a window (zero: the whole history). It does no I/O.
	Request func(w series.Window) ([]Request, error)
	// Window narrows what a scheduled run asks for once each of the source's series has been loaded: slot is the instant that
	// the run is for, newest the time of the newest observation of any of them. The zero window is the whole history again, which
	// a source should return now and then, because a publisher may revise what is old. Nil: always the whole history. It is pure.
	Window func(slot, newest time.Time) series.Window
	// Reestimates tells that a release may estimate the whole history anew, so that all known values may differ from one day to the
	// next. What one run brings is then one release: it is stored whole or not at all. Where it is false, an answer in which a large
	// part of what is known differs is not stored before a person has looked at it.
	Reestimates bool
	// Epoch says what Parse sees of the time of an answer, beside the request, the media type and the body: where two answers with the
	// same bytes have the same text, it makes the same of them. What comes again is then not parsed again in the same process. Nil: Parse
	// may see anything of the answer.
	Epoch func(fetchedAt time.Time) string
	// Parse turns one archived answer into readings. It does no I/O, keeps no state and yields the same batch for the same
	// bytes, so that a parser is repaired by parsing the archive again. A body that is not what the publisher promises is an
	// error that names the page and what was expected, never an empty batch.
	Parse func(Response) (Batch, error)
}

// Limits bound what an upstream is asked and what it may answer. Zero fields take the engine's defaults.
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
	// Forbidden is how long nobody asks the host again after status 403, where that is how the publisher tells those who ask too much
	// to stay away; the trouble then is Temporary. Zero: 403 is a no that stands.
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
	// Absent lists the statuses, such as 404, by which this upstream says that there is nothing at the address, or not yet. The
	// chain of pages then goes on with Else, and ends where that is nil. Empty: every status but 200 is a failure.
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

// Coverage claims that every observation of a series in a window is in the batch: a known one that is not has been withdrawn.
type Coverage = series.Coverage

// Batch is what one answer held: readings of series, or what it said of companies, or both. Lists are in any order, but for Companies.
type Batch struct {
	// Readings without two of one series at one time.
	Readings []Reading
	Covers   []Coverage
	// Vintages are what the publisher says that it showed before, each with the instant since which it did, the present values
	// included: of each time the newest one is the reading. They are stored when a series is loaded for the first time. What was
	// answered between then and now stays what it was.
	Vintages []series.Observation

	// Companies without two of one CIK, in the answer's own order: a list by size begins with the largest. An empty field says nothing:
	// this answer does not know, and takes nothing back. Listings without dates are those at the time of the answer.
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

	// Next is the request for the following page, nil after the last.
	Next *Request
}

// Empty tells whether the answer held nothing at all, the address of another page aside.
func (b Batch) Empty() bool {
	return len(b.Readings)+len(b.Companies)+len(b.Filings)+len(b.Facts)+len(b.Bars)+len(b.Actions)+len(b.News) == 0
}

// Published tells when a value of one of the source's series is assumed to have become known, where nobody saw it arrive. A series
// without a rule, or without a place in Series, was known at once.
func (s Source) Published(id series.ID, observedAt time.Time) time.Time {
	for _, i := range s.Series {
		if i.ID == id && i.Published != nil {
			return i.Published(observedAt)
		}
	}
	return observedAt
}
