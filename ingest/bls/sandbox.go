package bls

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/world/synth"
)

// Sandbox answers for the API with synthetic figures as of the world's clock: a figure is shown from its release on, and some are revised
// by the next. The history is drawn once for each call and grows with the clock; the handler is safe for concurrent use.
func Sandbox(mux *http.ServeMux, w synth.World) {
	s := sandbox{now: w.Now, boards: map[string]*synth.ReleaseHistory{}}
	for _, f := range figures {
		p := scripts[f.id]
		p.process.Name, p.process.Decimals = "bls "+f.id, -1
		s.boards[f.id] = synth.NewBoard(w.Series(p.process), f.prints(w.Noise("bls first print of "+f.id), p))
	}
	mux.HandleFunc("POST "+host+path, s.answer)
}

// script defines how a figure of the sandbox moves. Levels, trends and revisions are set by eye to the real figures; none of it is a
// forecast or a fit.
type script struct {
	process synth.Process
	// first is the standard deviation of the change from the first print to the second; zero: it is not revised.
	first    float64
	decimals int
}

// begin is the first month that is drawn.
var begin = time.Date(2008, time.January, 1, 0, 0, 0, 0, time.UTC)

// trend grows by a step with every month since begin.
func trend(step float64) func(time.Time) float64 {
	return func(day time.Time) float64 {
		return step * float64(12*(day.Year()-begin.Year())+int(day.Month()-begin.Month()))
	}
}

var scripts = map[string]script{
	"CUSR0000SA0L1E": {
		process:  synth.Process{Calendar: synth.Months(begin), Mean: 213, Log: true, Season: trend(0.0021), Reversion: 0.05, Volatility: 0.0009},
		decimals: 3,
	},
	"CES0500000003": {
		process: synth.Process{Calendar: synth.Months(begin), Mean: 21.3, Log: true, Season: trend(0.0026), Reversion: 0.08, Volatility: 0.0013},
		first:   0.02, decimals: 2,
	},
	"WPSFD4": {
		process: synth.Process{Calendar: synth.Months(begin), Mean: 98, Log: true, Season: trend(0.002), Reversion: 0.06, Volatility: 0.003},
		first:   0.1, decimals: 3,
	},
	"JTS000000000000000JOL": {
		process: synth.Process{Calendar: synth.Months(begin), Mean: 6_500, Log: true, Reversion: 0.05, Volatility: 0.03, Floor: 2_000, Ceiling: 13_000},
		first:   70,
	},
}

// prints defines how a figure is printed: at its release, which is never at a weekend, and again a month later.
func (f figure) prints(noise synth.Noise, s script) synth.Publisher {
	weekday := func(at time.Time) time.Time {
		switch at.In(ingest.NewYork()).Weekday() {
		case time.Saturday:
			return at.AddDate(0, 0, -1)
		case time.Sunday:
			return at.AddDate(0, 0, -2)
		case time.Monday: // no run requests it on a Monday
			return at.AddDate(0, 0, -3)
		}
		return at
	}
	return func(points []synth.Point) []synth.Print {
		last := points[len(points)-1]
		first := synth.Print{KnownAt: weekday(f.published(last.At)), Value: synth.Round(last.Value+s.first*noise.Normal(last.At), s.decimals)}
		if s.first == 0 {
			return []synth.Print{first}
		}
		second := synth.Print{KnownAt: weekday(f.published(last.At.AddDate(0, 1, 0))), Value: synth.Round(last.Value, s.decimals)}
		return []synth.Print{first, second}
	}
}

type sandbox struct {
	now    func() time.Time
	boards map[string]*synth.ReleaseHistory
}

// reply is the whole answer of the API.
type reply struct {
	Status       string       `json:"status"`
	ResponseTime int          `json:"responseTime"`
	Message      []string     `json:"message"`
	Results      replyResults `json:"Results"`
}

type replyResults struct {
	Series []replySeries `json:"series"`
}

type replySeries struct {
	ID   string       `json:"seriesID"`
	Data []replyDatum `json:"data"`
}

type replyDatum struct {
	Year       string              `json:"year"`
	Period     string              `json:"period"`
	PeriodName string              `json:"periodName"`
	Value      string              `json:"value"`
	Footnotes  []map[string]string `json:"footnotes"`
}

func (s sandbox) answer(w http.ResponseWriter, r *http.Request) {
	var q fetchRequest
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&q)
	now := s.now().In(ingest.NewYork())
	first, last := now.Year()-2, now.Year()
	if q.First != "" {
		var err1, err2 error
		first, err1 = strconv.Atoi(q.First)
		last, err2 = strconv.Atoi(q.Last)
		if err == nil && (err1 != nil || err2 != nil || last < first || last-first >= maxYears) {
			err = strconv.ErrRange
		}
	}
	out := reply{Status: succeeded, Message: []string{}, Results: replyResults{Series: []replySeries{}}}
	if err != nil || len(q.Series) == 0 {
		out.Status, out.Message = "REQUEST_NOT_PROCESSED", []string{"Your request was invalid."}
		q.Series = nil
	}
	for _, id := range q.Series {
		one := replySeries{ID: id, Data: []replyDatum{}}
		if board := s.boards[id]; board == nil {
			out.Message = append(out.Message, "Series does not exist for Series "+id)
		} else {
			one.Data = data(board.AsOf(s.now()), first, last)
		}
		out.Results.Series = append(out.Results.Series, one)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out) // an error means that the client has gone
}

// data are the months of some years, the newest first.
func data(points []synth.Point, first, last int) []replyDatum {
	list := []replyDatum{}
	for _, p := range slices.Backward(points) {
		if p.At.Year() < first || p.At.Year() > last {
			continue
		}
		list = append(list, replyDatum{
			Year: strconv.Itoa(p.At.Year()), Period: p.At.Format("M01"), PeriodName: p.At.Month().String(),
			Value: strconv.FormatFloat(p.Value, 'f', -1, 64), Footnotes: []map[string]string{{}},
		})
	}
	return list
}
