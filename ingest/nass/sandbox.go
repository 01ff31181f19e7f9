package nass

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark/ingest/world/synth"
)

// Sandbox answers for quickstats.nass.usda.gov, for the two steps of its web form and for its API, with synthetic figures as of the world's
// clock. A row is shown from its release on. A report is cancelled now and then, the row of a running crop year repeats the newest
// forecast, and a final is revised after a census. It also has rows that are not Iowa's, which a query must exclude. Responses change at
// releases only. The handlers are safe for concurrent use.
func Sandbox(mux *http.ServeMux, w synth.World) {
	s := &sandbox{now: w.Now, fields: draw(w), questions: map[string]url.Values{}, files: map[string]file{}, answers: map[string]file{}}
	mux.HandleFunc(host+encodePath, s.encode)
	mux.HandleFunc(host+spreadsheetPath+"{file}", s.spreadsheet)
	mux.HandleFunc(host+apiPath, s.api)
	mux.HandleFunc(host+apiPath+"/{$}", s.api)
}

// maxQuestions bounds how many questions the sandbox remembers. A program has two.
const maxQuestions = 100

type sandbox struct {
	now    func() time.Time
	fields fields

	mu        sync.Mutex
	questions map[string]url.Values
	// files holds the newest file of each question, until the next release, and answers the newest answer to each question that was put
	// to the API, by its columns.
	files, answers map[string]file
}

type file struct {
	release time.Time
	body    []byte
}

// encode names a query. The same query always has the same name, in any order of its columns.
func (s *sandbox) encode(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	question := url.Values{}
	for column, values := range r.Form {
		if column != "breadcrumb" {
			question[column] = values
		}
	}
	digest := sha256.Sum256([]byte(question.Encode()))
	digest[6] = digest[6]&0x0f | 0x30
	digest[8] = digest[8]&0x3f | 0x80
	text := strings.ToUpper(hex.EncodeToString(digest[:16]))
	name := strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-")
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.questions[name]; !known && len(s.questions) >= maxQuestions {
		http.Error(w, "too many questions", http.StatusServiceUnavailable)
		return
	}
	s.questions[name] = question
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write([]byte(`"` + name + `"`)) // an error means that the client has gone
}

// spreadsheet answers the question of a name.
func (s *sandbox) spreadsheet(w http.ResponseWriter, r *http.Request) {
	body, found := s.file(strings.TrimSuffix(r.PathValue("file"), ".csv"))
	if !found {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	_, _ = w.Write(body)
}

func (s *sandbox) file(name string) ([]byte, bool) {
	now := s.now()
	release := lastRelease(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	question, found := s.questions[name]
	if !found {
		return nil, false
	}
	if kept, ok := s.files[name]; ok && kept.release.Equal(release) {
		return kept.body, true
	}
	records, _ := s.fields.matching(question, now) // an unknown column keeps everything out
	rows := make([]Row, len(records))
	for i, r := range records {
		rows[i] = r.row
	}
	body := Spreadsheet(rows)
	s.files[name] = file{release, body}
	return body, true
}

// api answers a keyed question. Keys have the form of a UUID; the sandbox takes each of that form for a good one.
func (s *sandbox) api(w http.ResponseWriter, r *http.Request) {
	question := r.URL.Query()
	key, format := question.Get("key"), question.Get("format")
	question.Del("key")
	question.Del("format")
	if !questionName.MatchString(key) {
		reply(w, http.StatusUnauthorized, map[string]any{"error": []string{"unauthorized"}})
		return
	}
	now := s.now()
	release, name := lastRelease(now), question.Encode()
	s.mu.Lock()
	kept, known := s.answers[name]
	s.mu.Unlock()
	if known && kept.release.Equal(release) && jsonFormat(format) {
		fetchResponse(w, http.StatusOK, kept.body)
		return
	}
	records, ok := s.fields.matching(question, now)
	switch {
	case !ok || len(records) == 0 || !jsonFormat(format): // it supports neither CSV nor XML
		reply(w, http.StatusBadRequest, map[string]any{"error": []string{"bad request - invalid query"}})
	case len(records) > 50_000:
		reply(w, http.StatusRequestEntityTooLarge, map[string]any{"error": []string{"exceeds limit=50000"}})
	default:
		list := make([]map[string]string, len(records))
		for i, r := range records {
			list[i] = r.members()
		}
		body := reply(w, http.StatusOK, map[string]any{"data": list})
		s.mu.Lock()
		defer s.mu.Unlock()
		if !known && len(s.answers) >= maxQuestions {
			clear(s.answers)
		}
		s.answers[name] = file{release, body}
	}
}

func jsonFormat(format string) bool { return format == "" || strings.EqualFold(format, "JSON") }

// reply answers with a value, and returns what it wrote.
func reply(w http.ResponseWriter, status int, v any) []byte {
	body, _ := json.Marshal(v) // maps of strings encode
	body = append(body, '\n')
	fetchResponse(w, status, body)
	return body
}

func fetchResponse(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that the client has gone
}

// record is a row with the columns that a question may name and a file does not show.
type record struct {
	row                                       Row
	statistic, unit, frequency, use, practice string
}

// columns are the members of a row in the API.
var columns = []string{
	"source_desc", "sector_desc", "group_desc", "commodity_desc", "class_desc", "prodn_practice_desc", "util_practice_desc",
	"statisticcat_desc", "unit_desc", "short_desc", "domain_desc", "domaincat_desc", "agg_level_desc", "state_ansi", "state_fips_code",
	"state_alpha", "state_name", "asd_code", "asd_desc", "county_ansi", "county_code", "county_name", "region_desc", "zip_5",
	"watershed_code", "watershed_desc", "congr_district_code", "country_code", "country_name", "location_desc", "year", "freq_desc",
	"begin_code", "end_code", "reference_period_desc", "week_ending", "load_time", "Value", "CV (%)",
}

// column is a member of the row, empty if the row has nothing to say.
func (r record) column(name string) string {
	switch name {
	case "source_desc":
		return r.row.Program
	case "sector_desc":
		return "CROPS"
	case "group_desc":
		return "FIELD CROPS"
	case "commodity_desc":
		return "CORN"
	case "class_desc":
		return "ALL CLASSES"
	case "prodn_practice_desc":
		return r.practice
	case "util_practice_desc":
		return r.use
	case "statisticcat_desc":
		return r.statistic
	case "unit_desc":
		return r.unit
	case "short_desc":
		return r.row.Item
	case "domain_desc":
		return r.row.Domain
	case "domaincat_desc":
		return "NOT SPECIFIED"
	case "agg_level_desc":
		return r.row.Level
	case "state_ansi", "state_fips_code":
		return ansi[r.row.State]
	case "state_alpha":
		return alpha[r.row.State]
	case "state_name", "location_desc":
		return r.row.State
	case "watershed_code":
		return "00000000"
	case "country_code":
		return "9000"
	case "country_name":
		return "UNITED STATES"
	case "year":
		return r.row.Year
	case "freq_desc":
		return r.frequency
	case "begin_code", "end_code":
		if week, weekly := strings.CutPrefix(r.row.Period, "WEEK #"); weekly {
			return week
		}
		return "00"
	case "reference_period_desc":
		return r.row.Period
	case "week_ending":
		return r.row.WeekEnding
	case "load_time":
		return r.row.Loaded
	case "Value":
		return r.row.Value
	case "CV (%)":
		return r.row.CV
	}
	return ""
}

var alpha = map[string]string{"IOWA": "IA", "ILLINOIS": "IL"}

// members is the row as the API gives it.
func (r record) members() map[string]string {
	m := make(map[string]string, len(columns))
	for _, name := range columns {
		m[name] = r.column(name)
	}
	return m
}

// matching lists the rows that match a query at an instant: each column has one of the values named for it, or fits the comparison after
// its name. It is not ok if the column is unknown.
func (f fields) matching(question url.Values, at time.Time) (list []record, ok bool) {
	type test struct {
		column, operator string
		values           []string
	}
	var tests []test
	for name, values := range question {
		column, operator, _ := strings.Cut(name, "__")
		if !slices.Contains(columns, column) || !slices.Contains([]string{"", "GE", "GT", "LE", "LT", "NE"}, operator) {
			return nil, false
		}
		tests = append(tests, test{column, operator, values})
	}
	for _, r := range f.records(at) {
		if !slices.ContainsFunc(tests, func(t test) bool { return !fits(r.column(t.column), t.operator, t.values) }) {
			list = append(list, r)
		}
	}
	return list, true
}

func fits(value, operator string, wanted []string) bool {
	if operator == "" {
		return slices.Contains(wanted, value)
	}
	return !slices.ContainsFunc(wanted, func(w string) bool {
		c := cmp.Compare(value, w) // years and times compare as text
		return !map[string]bool{"GE": c >= 0, "GT": c > 0, "LE": c <= 0, "LT": c < 0, "NE": c != 0}[operator]
	})
}

// records lists everything that is on show at an instant, the newest year first.
func (f fields) records(at time.Time) []record {
	var list []record
	for year := at.Year(); year >= firstYear; year-- {
		c := f.crop(year)
		yields := c.shown(at)
		list = append(list, yields...)
		list = append(list, others(c, yields)...)
		list = append(list, f.rated(c, at)...)
	}
	return list
}

// others are rows about other things than the yield of Iowa's corn for grain that share one column or another with it.
func others(c crop, yields []record) []record {
	if len(yields) == 0 || c.year < 2010 {
		return nil
	}
	with := func(change func(*record)) record {
		r := yields[0]
		change(&r)
		return r
	}
	list := []record{
		with(func(r *record) {
			r.row.Item, r.row.Value, r.unit, r.use = "CORN, SILAGE - YIELD, MEASURED IN TONS / ACRE", "22.5", "TONS / ACRE", "SILAGE"
		}),
		with(func(r *record) { r.row.State, r.row.Value = "ILLINOIS", " (D)" }),
	}
	if c.year%5 == 2 {
		list = append(list, with(func(r *record) {
			r.row.Program, r.row.Item, r.practice = "CENSUS", "CORN, GRAIN, IRRIGATED, ENTIRE CROP - YIELD, MEASURED IN BU / ACRE", "IRRIGATED, ENTIRE CROP"
			r.row.Value, r.row.CV = "1,061.2", "(H)"
		}))
	}
	return list
}

// lastRelease is the newest report of either kind at or before an instant.
func lastRelease(at time.Time) time.Time {
	var last time.Time
	note := func(t time.Time) {
		if !t.After(at) && t.After(last) {
			last = t
		}
	}
	for year := at.Year() - 1; year <= at.Year(); year++ {
		for _, month := range []time.Month{time.January, time.August, time.September, time.October, time.November} {
			note(reportAt(year, month))
		}
		for week := time.Date(year, time.May, 20, 0, 0, 0, 0, time.UTC); week.Month() < time.November; week = week.AddDate(0, 0, 1) {
			if week.Weekday() == time.Sunday {
				note(conditionPublished(week))
			}
		}
	}
	return last
}
