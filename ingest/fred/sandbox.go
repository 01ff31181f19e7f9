package fred

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/world/synth"
)

// Sandbox answers for FRED's graph files and for its API's observations with synthetic figures as of the world's clock. A figure is shown
// from its release on and revised by the next ones; once a year the last five years are revised. The history is drawn once for each call
// and grows with the clock; the handlers are safe for concurrent use.
func Sandbox(mux *http.ServeMux, w synth.World) {
	s := sandbox{now: w.Now, boards: draw(w)}
	mux.HandleFunc("GET "+graphHost+graphPath, s.graph)
	mux.HandleFunc("GET "+apiHost+apiPath, s.api)
}

type sandbox struct {
	now    func() time.Time
	boards map[string]*synth.ReleaseHistory
}

// graph writes the file behind a graph. Of an unknown series FRED shows a page.
func (s sandbox) graph(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	board := s.boards[q.Get("id")]
	if board == nil {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte("<!DOCTYPE html><html><head><title>Error - St. Louis Fed</title></head><body></body></html>\n"))
		return
	}
	w.Header().Set("Content-Type", "application/csv")
	text := append([]byte("observation_date,"), q.Get("id")+"\n"...)
	for _, p := range board.AsOf(s.now()) {
		if date := p.At.Format(time.DateOnly); within(date, q.Get("cosd"), q.Get("coed")) {
			text = append(append(text, date+","...), format(p.Value)+"\n"...)
		}
	}
	_, _ = w.Write(text) // an error means that the client has gone
}

func within(date, first, last string) bool { return date >= first && (last == "" || date <= last) }

func format(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// keyPattern is the form of FRED's keys. The sandbox takes every key of this form for a good one.
var keyPattern = regexp.MustCompile(`^[0-9a-z]{32}$`)

// apiReply is the whole answer of the API.
type apiReply struct {
	RealtimeStart    string   `json:"realtime_start"`
	RealtimeEnd      string   `json:"realtime_end"`
	ObservationStart string   `json:"observation_start"`
	ObservationEnd   string   `json:"observation_end"`
	Units            string   `json:"units"`
	OutputType       int      `json:"output_type"`
	FileType         string   `json:"file_type"`
	OrderBy          string   `json:"order_by"`
	SortOrder        string   `json:"sort_order"`
	Count            int      `json:"count"`
	Offset           int      `json:"offset"`
	Limit            int      `json:"limit"`
	Observations     []apiRow `json:"observations"`
}

func (s sandbox) api(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	board := s.boards[q.Get("series_id")]
	switch {
	case !keyPattern.MatchString(q.Get("api_key")):
		apiError(w, "Bad Request. The value for variable api_key is not registered. Read https://fred.stlouisfed.org/docs/api/api_key.html for more information.")
		return
	case q.Get("file_type") != "json":
		apiError(w, "Bad Request. The sandbox writes file_type json only.")
		return
	case board == nil:
		apiError(w, "Bad Request. The series does not exist.")
		return
	}
	today := s.now().In(ingest.NewYork()).Format(time.DateOnly)
	reply := apiReply{
		RealtimeStart: or(q.Get("realtime_start"), today), RealtimeEnd: or(q.Get("realtime_end"), today),
		ObservationStart: or(q.Get("observation_start"), "1776-07-04"), ObservationEnd: or(q.Get("observation_end"), forever),
		Units: "lin", OutputType: 1, FileType: "json", OrderBy: "observation_date", SortOrder: "asc", Limit: apiLimit,
		Observations: []apiRow{},
	}
	for _, p := range board.History(s.now()) {
		if within(p.At.Format(time.DateOnly), reply.ObservationStart, reply.ObservationEnd) {
			reply.Observations = append(reply.Observations, reply.rows(p)...)
		}
	}
	reply.Count = len(reply.Observations)
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	_ = json.NewEncoder(w).Encode(reply) // an error means that the client has gone
}

// rows are the values of a date that were shown in the reply's real-time period, each with the days of it.
func (reply apiReply) rows(p synth.Printed) []apiRow {
	var list []apiRow
	for i, print := range p.Prints {
		since, value := print.KnownAt.In(ingest.NewYork()).Format(time.DateOnly), format(print.Value)
		if i+1 < len(p.Prints) && p.Prints[i+1].KnownAt.Equal(print.KnownAt) {
			continue // two revisions of one release
		}
		if n := len(list); n > 0 {
			if list[n-1].Value == value {
				continue
			}
			list[n-1].RealtimeEnd = print.KnownAt.In(ingest.NewYork()).AddDate(0, 0, -1).Format(time.DateOnly)
		}
		list = append(list, apiRow{RealtimeStart: since, RealtimeEnd: forever, Date: p.At.Format(time.DateOnly), Value: value})
	}
	shown := list[:0]
	for _, r := range list {
		if r.RealtimeEnd < reply.RealtimeStart || r.RealtimeStart > reply.RealtimeEnd {
			continue
		}
		r.RealtimeStart, r.RealtimeEnd = max(r.RealtimeStart, reply.RealtimeStart), min(r.RealtimeEnd, reply.RealtimeEnd)
		shown = append(shown, r)
	}
	return shown
}

func or(value, otherwise string) string {
	if value != "" {
		return value
	}
	return otherwise
}

func apiError(w http.ResponseWriter, message string) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]any{"error_code": http.StatusBadRequest, "error_message": message})
}
