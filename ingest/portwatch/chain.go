package portwatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"tidemark/ingest"
)

// pageSize is the most days that the service gives in one answer.
const pageSize = 1000

// where selects the strait.
const where = "portid='" + chokepoint + "'"

// The parameters that store a page's position in the chain. The parser keeps no state and the fetch log no fragment of a URL, so the state
// is in the query. The service ignores unknown parameters, for example the parameters with which browsers avoid caches.
const (
	// countParam is how many days the layer had when the chain began.
	countParam = "tidemark_count"
	// lastParam tells the row with which the page before ended. The page begins with it again.
	lastParam = "tidemark_last"
)

func countURL() string {
	return queryURL(url.Values{"where": {where}, "returnCountOnly": {"true"}, "f": {"json"}})
}

// asked is the query of a page's request.
type asked struct {
	// offset is the offset of the first row, length the max number of rows of the page.
	offset, length int
	count          int
	// last is empty on the first page.
	last string
}

// url returns the request's address. It requests all attributes, so that attributes unused today are in the archive. The order is unique,
// since pages of an order with ties can overlap.
func (a asked) url() string {
	q := url.Values{
		"where":             {where},
		"outFields":         {"*"},
		"orderByFields":     {"date ASC,ObjectId ASC"},
		"returnGeometry":    {"false"},
		"resultOffset":      {strconv.Itoa(a.offset)},
		"resultRecordCount": {strconv.Itoa(a.length)},
		"f":                 {"json"},
		countParam:          {strconv.Itoa(a.count)},
	}
	if a.last != "" {
		q.Set(lastParam, a.last)
	}
	return queryURL(q)
}

func queryURL(q url.Values) string {
	u := url.URL{Scheme: "https", Host: layerHost, Path: queryPath, RawQuery: q.Encode()}
	return u.String()
}

// readAsked reads a page's request.
func readAsked(q url.Values) (asked, error) {
	a := asked{last: q.Get(lastParam)}
	for _, p := range []struct {
		name  string
		least int
		into  *int
	}{{"resultOffset", 0, &a.offset}, {"resultRecordCount", 2, &a.length}, {countParam, 1, &a.count}} {
		n, err := strconv.Atoi(q.Get(p.name))
		if err != nil || n < p.least {
			return asked{}, fmt.Errorf("%s %.40q of the request is not a count of at least %d", p.name, q.Get(p.name), p.least)
		}
		*p.into = n
	}
	return a, nil
}

// after returns the request for the next page, after a page of rows rows that ended with last. The next page begins with that row again.
// If the row has changed, or the page does not end where the count said, the layer changed between two responses, which together never
// were its state. It returns nil when the count is reached.
func (a asked) after(rows int, exceeded bool, last string) (*ingest.Request, error) {
	end := a.offset + rows
	more := exceeded || rows >= a.length
	switch {
	case end == a.count && !exceeded:
		return nil, nil
	case end >= a.count && exceeded:
		return nil, fmt.Errorf("%w: it had %d days, and has more than %d", errMoved, a.count, end)
	case end > a.count, !more:
		return nil, fmt.Errorf("%w: it had %d days, and has %d", errMoved, a.count, end)
	case rows < 2:
		return nil, fmt.Errorf("a page of %d rows leads no further", rows)
	}
	next := asked{offset: end - 1, length: a.length, count: a.count, last: last}
	return &ingest.Request{URL: next.url()}, nil
}

var errMoved = errors.New("the layer moved while it was read")

// fetchResponse is the part of the service's answers that is read.
type fetchResponse struct {
	Error *struct {
		Code    int      `json:"code"`
		Message string   `json:"message"`
		Details []string `json:"details"`
	} `json:"error"`
	Count    *int `json:"count"`
	Exceeded bool `json:"exceededTransferLimit"`
	Features *[]struct {
		Attributes attributes `json:"attributes"`
	} `json:"features"`
}

// attributes are the attributes of a feature that are read, each as in the response: empty if it is missing.
type attributes struct {
	Date           json.RawMessage `json:"date"`
	Year           json.RawMessage `json:"year"`
	Month          json.RawMessage `json:"month"`
	Day            json.RawMessage `json:"day"`
	PortID         json.RawMessage `json:"portid"`
	Total          json.RawMessage `json:"n_total"`
	Tanker         json.RawMessage `json:"n_tanker"`
	Cargo          json.RawMessage `json:"n_cargo"`
	Container      json.RawMessage `json:"n_container"`
	DryBulk        json.RawMessage `json:"n_dry_bulk"`
	GeneralCargo   json.RawMessage `json:"n_general_cargo"`
	RoRo           json.RawMessage `json:"n_roro"`
	CapacityTanker json.RawMessage `json:"capacity_tanker"`
	Capacity       json.RawMessage `json:"capacity"`
}

// readAnswer reads a body. The service answers every request with 200: its errors are in the body. Transient ones are marked as
// ingest.Temporary.
func readAnswer(body []byte) (fetchResponse, error) {
	var a fetchResponse
	if err := json.Unmarshal(body, &a); err != nil {
		return fetchResponse{}, fmt.Errorf("want a JSON object: %w", err)
	}
	if e := a.Error; e != nil {
		err := fmt.Errorf("the service answers with error %d: %.200s (%.200s)", e.Code, e.Message, strings.Join(e.Details, "; "))
		if e.Code == 429 || e.Code >= 500 {
			err = fmt.Errorf("%w: %w", ingest.Temporary, err)
		}
		return fetchResponse{}, err
	}
	return a, nil
}

// parseCount reads the number of days and leads to the first page. A layer without days is being loaded: on 2026-04-28 it had none for
// three hours.
func parseCount(body []byte) (ingest.Batch, error) {
	a, err := readAnswer(body)
	switch {
	case err != nil:
	case a.Count == nil:
		err = errors.New("no member count")
	case *a.Count <= 0:
		err = fmt.Errorf("the layer has %d days of %s, it may be being loaded", *a.Count, chokepoint)
	}
	if err != nil {
		return ingest.Batch{}, fmt.Errorf("parse portwatch count: %w", err)
	}
	first := asked{length: pageSize, count: *a.Count}
	return ingest.Batch{Next: &ingest.Request{URL: first.url()}}, nil
}
