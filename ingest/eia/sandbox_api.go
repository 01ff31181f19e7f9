package eia

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/ingest/world/synth"
	"tidemark/internal/series"
)

// keyPattern is the form of EIA's keys. The sandbox takes every key of this form for a good one.
var keyPattern = regexp.MustCompile(`^[0-9A-Za-z]{40}$`)

// apiHandler answers the API v2's data routes. It returns the members that documents and recorded responses show; the other columns of a
// row (area, product, process) are left out.
type apiHandler struct {
	group  group
	route  string
	now    func() time.Time
	boards map[series.ID]*synth.ReleaseHistory
}

// apiReply is the answer of a data route. Total and values are strings, as they have been since version 2.1.6.
type apiReply struct {
	Response   apiResponse `json:"response"`
	Request    apiEcho     `json:"request"`
	APIVersion string      `json:"apiVersion"`
}

type apiResponse struct {
	Warnings    []apiWarning  `json:"warnings,omitempty"`
	Total       string        `json:"total"`
	DateFormat  string        `json:"dateFormat"`
	Frequency   string        `json:"frequency"`
	Data        []apiReplyRow `json:"data"`
	Description string        `json:"description"`
}

// apiReplyRow is one row. A client that does not ask for data[]=value gets neither value nor units.
type apiReplyRow struct {
	Period      string `json:"period"`
	Series      string `json:"series"`
	Description string `json:"series-description"`
	Value       string `json:"value,omitempty"`
	Units       string `json:"units,omitempty"`
}

type apiWarning struct {
	Warning     string `json:"warning"`
	Description string `json:"description"`
}

// apiEcho repeats the request, without the key.
type apiEcho struct {
	Command string         `json:"command"`
	Params  map[string]any `json:"params"`
}

func (a apiHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch key := q.Get("api_key"); {
	case key == "":
		apiKeyError(w, "API_KEY_MISSING", "No api_key was supplied.  Please register for one at https://www.eia.gov/opendata/register.php")
		return
	case !keyPattern.MatchString(key):
		apiKeyError(w, "API_KEY_INVALID", "An invalid api_key was supplied.  Please register for one at https://www.eia.gov/opendata/register.php")
		return
	}
	ask, problem := readAsk(q, a.group.frequency)
	if problem != "" {
		writeJSON(w, http.StatusBadRequest, map[string]any{"error": problem, "code": http.StatusBadRequest})
		return
	}
	rows := a.rows(ask)
	total := len(rows)
	rows = rows[min(ask.offset, total):]
	rows = rows[:min(ask.length, len(rows))]
	warnings := ask.warnings
	if len(rows) == apiLength && total > apiLength {
		warnings = append(warnings, apiWarning{
			"incomplete return",
			"The API can only return 5000 rows in JSON format.  Please consider constraining your request with facet, start, or end, or using offset to paginate results.",
		})
	}
	writeJSON(w, http.StatusOK, apiReply{
		Response: apiResponse{
			Warnings: warnings, Total: strconv.Itoa(total), DateFormat: "YYYY-MM-DD", Frequency: a.group.frequency,
			Data: rows, Description: syntheticNote,
		},
		Request: apiEcho{Command: r.URL.Path, Params: map[string]any{
			"frequency": a.group.frequency, "data": ask.data, "facets": map[string]any{"series": ask.series},
			"offset": ask.offset, "length": ask.length,
		}},
		APIVersion: "2.1.12",
	})
}

// apiAsk is a client's request to a data route.
type apiAsk struct {
	data, series   []string
	start, end     string
	ascending      bool
	offset, length int
	warnings       []apiWarning
}

// readAsk reads the parameters. The second result says what is wrong with them.
func readAsk(q url.Values, frequency string) (apiAsk, string) {
	ask := apiAsk{start: q.Get("start"), end: q.Get("end"), length: apiLength}
	if f := q.Get("frequency"); f != "" && f != frequency {
		return ask, fmt.Sprintf("Invalid frequency '%s' provided. The only valid frequency is '%s'.", f, frequency)
	}
	for name, values := range q {
		member, isFacet := strings.CutPrefix(name, "facets[")
		switch {
		case isFacet && strings.HasPrefix(member, "series]"):
			ask.series = append(ask.series, values...)
		case isFacet:
			facet, _, _ := strings.Cut(member, "]")
			return ask, fmt.Sprintf("Invalid facet '%s' provided. The only valid facet is 'series'.", facet)
		case strings.HasPrefix(name, "data["), name == "data":
			ask.data = append(ask.data, values...)
		}
	}
	ask.ascending = q.Get("sort[0][column]") == "period" && q.Get("sort[0][direction]") == "asc"
	for name, into := range map[string]*int{"offset": &ask.offset, "length": &ask.length} {
		if text := q.Get(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 {
				return ask, fmt.Sprintf("Invalid %s '%s' provided.", name, text)
			}
			*into = n
		}
	}
	if ask.length > apiLength {
		ask.length = apiLength
		ask.warnings = append(ask.warnings, apiWarning{"parameter out of range: length", "The maximum value is 5000."})
	}
	return ask, ""
}

// rows lists all rows that fit, before they are cut to a page: of the series asked for, or of all. A series that the route does
// not have yields none. Without an order the newest come first.
func (a apiHandler) rows(ask apiAsk) []apiReplyRow {
	rows := []apiReplyRow{}
	release := a.group.release(a.now())
	for _, h := range a.group.histories {
		if h.route != a.route || len(ask.series) > 0 && !slices.Contains(ask.series, h.id) {
			continue
		}
		for _, v := range asOf(a.boards[h.series()], h.series(), release) {
			period := v.ObservedAt.Format(time.DateOnly)
			if ask.start != "" && period < ask.start || ask.end != "" && period > ask.end {
				continue
			}
			row := apiReplyRow{Period: period, Series: h.id, Description: h.title()}
			if slices.Contains(ask.data, "value") {
				row.Value = strconv.FormatFloat(v.Value, 'f', h.decimals, 64)
				row.Units = h.code
			}
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(x, y apiReplyRow) int {
		if ask.ascending {
			return strings.Compare(x.Period, y.Period)
		}
		return strings.Compare(y.Period, x.Period)
	})
	return rows
}

func apiKeyError(w http.ResponseWriter, code, message string) {
	writeJSON(w, http.StatusForbidden, map[string]any{"error": map[string]string{"code": code, "message": message}})
}

func apiNotFound(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusNotFound, map[string]any{"error": "Not found.", "code": http.StatusNotFound})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil { // no part of it can fail
		status, text = http.StatusInternalServerError, []byte(`{"error":"Internal error."}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // an error means that the client has gone
}
