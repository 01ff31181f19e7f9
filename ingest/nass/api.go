package nass

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tidemark/ingest"
	"tidemark/internal/series"
)

const apiPath = "/api/api_GET"

// apiRequests sends both queries. A window is requested in whole years. The API returns 400 both for a query without any row and for a
// wrong one. For a window with an end it can be the first case, for a whole history it cannot.
func apiRequests(key string, w series.Window) []ingest.Request {
	requests := make([]ingest.Request, len(asked))
	for i, filters := range asked {
		q := url.Values{"key": {key}, "format": {"JSON"}, "domain_desc": {allFarms}}
		for _, f := range filters {
			q.Set(f.column, f.value)
		}
		if !w.From.IsZero() {
			q.Set("year__GE", strconv.Itoa(w.From.UTC().Year()))
		}
		u := url.URL{Scheme: "https", Host: host, Path: apiPath + "/"}
		requests[i] = ingest.Request{Secret: []string{"key"}}
		if !w.To.IsZero() {
			q.Set("year__LE", strconv.Itoa(w.To.UTC().Year()))
			requests[i].Absent = []int{http.StatusBadRequest}
		}
		u.RawQuery = q.Encode()
		requests[i].URL = u.String()
	}
	return requests
}

// apiAnswer is the part of an answer that is read.
type apiAnswer struct {
	Data  []apiRow       `json:"data"`
	Error jsontext.Value `json:"error"`
}

type apiRow struct {
	Source     text `json:"source_desc"`
	Year       text `json:"year"`
	Period     text `json:"reference_period_desc"`
	WeekEnding text `json:"week_ending"`
	Level      text `json:"agg_level_desc"`
	State      text `json:"state_name"`
	Item       text `json:"short_desc"`
	Domain     text `json:"domain_desc"`
	Value      text `json:"Value"`
	Loaded     text `json:"load_time"`
}

// text is a member that is a string, as all of them are documented to be, or a number. Null is not a text.
type text string

// UnmarshalJSONFrom takes a value that is not a string as written.
func (t *text) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch kind := d.PeekKind(); kind {
	case jsontext.KindString, jsontext.KindNumber, jsontext.KindNull:
		token, err := d.ReadToken()
		if err != nil {
			return err //nolint:wrapcheck // it says where
		}
		if kind != jsontext.KindNull {
			*t = text(token.String())
		}
		return nil
	}
	raw, err := d.ReadValue()
	if err != nil {
		return err //nolint:wrapcheck // it says where
	}
	return fmt.Errorf("%.60q is neither a string nor a number", raw)
}

// parseAPI reads the rows of the API, which come in any order and all at once.
func parseAPI(r ingest.Response) (ingest.Batch, error) {
	var a apiAnswer
	if err := json.Unmarshal(r.Body, &a); err != nil {
		if semantic, ok := errors.AsType[*json.SemanticError](err); ok && semantic.Err != nil {
			err = fmt.Errorf("%s: %w", semantic.JSONPointer, semantic.Err)
		}
		return ingest.Batch{}, fmt.Errorf("want a JSON object: %w", err)
	}
	if len(a.Error) > 0 {
		return ingest.Batch{}, fmt.Errorf("nass answers with the error %.200s", a.Error)
	}
	if a.Data == nil {
		return ingest.Batch{}, errors.New("no member data")
	}
	rows := make([]Row, len(a.Data))
	for i, d := range a.Data {
		rows[i] = Row{
			Program: string(d.Source), Year: string(d.Year), Period: string(d.Period), WeekEnding: string(d.WeekEnding),
			Level: string(d.Level), State: string(d.State), Item: string(d.Item), Domain: string(d.Domain), Value: string(d.Value),
			Loaded: string(d.Loaded),
		}
	}
	found, err := read(rows, r.FetchedAt)
	if err != nil {
		return ingest.Batch{}, err
	}
	return ingest.Batch{Readings: found.list(), Covers: found.covers()}, nil
}
