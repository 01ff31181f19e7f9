package ecb

import (
	"fmt"
	"hash/fnv"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"tidemark/ingest/world/synth"
)

// Sandbox answers for the data portal, the feed of press releases and the releases with synthetic decisions as of the world's clock. It has
// the meetings of the list and then one every six weeks: holds mostly, a quarter of a point now and then. The handlers are safe for
// concurrent use.
func Sandbox(mux *http.ServeMux, w synth.World) {
	s := &sandbox{now: w.Now, moves: w.Noise("ecb decisions")}
	mux.HandleFunc("GET "+portalHost+portalPath, s.portal)
	mux.HandleFunc("GET "+pressHost+feedPath, s.feed)
	mux.HandleFunc("GET "+pressHost+"/press/pr/date/{year}/html/{page}", s.release)
}

type sandbox struct {
	now   func() time.Time
	moves synth.Noise

	mu        sync.Mutex
	decisions []decision
}

// decision is one meeting's outcome, in quarters of a point.
type decision struct {
	day            time.Time
	move, quarters int
}

// lowest, usual and highest bound the rate; usual is also the rate before the first meeting.
const lowest, usual, highest = -2, 8, 18

// meetingWeeks is how far meetings are apart after the list.
const meetingWeeks = 6

// path is the release's path, with its own digest.
func (d decision) path() string {
	digest := fnv.New32a()
	_, _ = digest.Write([]byte(d.day.String())) // never fails
	return fmt.Sprintf("/press/pr/date/%d/html/ecb.mp%s~%08x.en.html", d.day.Year(), d.day.Format("060102"), digest.Sum32())
}

// until are the decisions published by an instant, ascending. Each follows from the ones before it and from its day.
func (s *sandbox) until(t time.Time) []decision {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		n := len(s.decisions)
		level, day := usual, begin
		if n > 0 {
			level, day = s.decisions[n-1].quarters, s.decisions[n-1].day.AddDate(0, 0, 7*meetingWeeks)
		}
		if n < len(meetings) {
			day, _ = time.Parse(compactDate, meetings[n]) // every entry of the list is a day
		}
		if published(day).After(t) {
			return s.decisions[:n:n]
		}
		move := 0
		// The farther from the usual level, the likelier the way back.
		pull := float64(usual-level) / (highest - lowest) / 4
		switch draw := s.moves.Uniform(day); {
		case draw < 0.14-pull && level > lowest:
			move = -1
		case draw > 0.86-pull && level < highest:
			move = 1
		}
		s.decisions = append(s.decisions, decision{day, move, level + move})
	}
}

// rate writes quarters as a number of percent.
func rate(quarters int) string { return strconv.FormatFloat(float64(quarters)/4, 'f', 2, 64) }

// portal writes the rate in force on each day up to today.
func (s *sandbox) portal(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	now := s.now().UTC()
	decisions := s.until(now)
	text := []byte("KEY,FREQ,REF_AREA,CURRENCY,PROVIDER_FM,INSTRUMENT_FM,PROVIDER_FM_ID,DATA_TYPE_FM,TIME_PERIOD,OBS_VALUE\n")
	level := usual
	for day := begin; !day.After(now); day = day.AddDate(0, 0, 1) {
		for len(decisions) > 0 && !decisions[0].day.AddDate(0, 0, 6).After(day) {
			level, decisions = decisions[0].quarters, decisions[1:]
		}
		date := day.Format(time.DateOnly)
		if date < q.Get("startPeriod") || q.Has("endPeriod") && date > q.Get("endPeriod") {
			continue
		}
		text = append(text, "FM."+portalKey+",D,U2,EUR,4F,KR,DFR,LEV,"+date+","+rate(level)+"\n"...)
	}
	w.Header().Set("Content-Type", "text/csv")
	_, _ = w.Write(text) // an error means that the client has gone
}

// items is how many press releases the feed holds.
const items = 15

type item struct {
	Title, Link string
	At          time.Time
}

var feedPage = template.Must(template.New("feed").Funcs(template.FuncMap{"date": func(t time.Time) string { return t.Format(time.RFC1123Z) }}).Parse(
	`<rss version="2.0"><channel><title>ECB - European Central Bank (synthetic)</title><link>https://www.ecb.europa.eu/</link>{{range .}}
<item><title>{{.Title}}</title><link>{{.Link}}</link><guid>{{.Link}}</guid><pubDate>{{date .At}}</pubDate></item>{{end}}
</channel></rss>
`))

// feed writes the newest press releases: the decisions, and a weekly financial statement on every Tuesday.
func (s *sandbox) feed(w http.ResponseWriter, _ *http.Request) {
	now := s.now()
	var list []item
	for _, d := range s.until(now) {
		list = append(list, item{"Monetary policy decisions", "https://" + pressHost + "/" + d.path(), published(d.day)})
	}
	tuesday := now.UTC().Truncate(24 * time.Hour)
	for tuesday.Weekday() != time.Tuesday {
		tuesday = tuesday.AddDate(0, 0, -1)
	}
	for n := range items {
		day := tuesday.AddDate(0, 0, -7*n)
		if at := published(day); !at.After(now) {
			link := fmt.Sprintf("https://%s//press/pr/wfs/%d/html/ecb.fst%s.en.html", pressHost, day.Year(), day.Format("060102"))
			list = append(list, item{"Consolidated financial statement of the Eurosystem", link, at})
		}
	}
	slices.SortFunc(list, func(a, b item) int { return b.At.Compare(a.At) })
	w.Header().Set("Content-Type", "text/xml")
	_, _ = w.Write([]byte("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"))
	_ = feedPage.Execute(w, list[:min(items, len(list))]) // an error means that the client has gone
}

var releasePage = template.Must(template.New("release").Parse(`<!DOCTYPE html>
<html lang="en"><head><title>Monetary policy decisions (synthetic)</title></head><body><main>
<p class="ecb-publicationDate">{{.Day}}</p><h1>Monetary policy decisions</h1>
<p>Synthetic text, drawn by a sandbox. Not a release of the European Central Bank.</p>
<h2>Key ECB interest rates</h2>
<p>The interest rates on the deposit facility, the main refinancing operations and the marginal lending facility will {{.Verb}} {{.Deposit}}%, {{.Main}}% and {{.Lending}}% respectively{{.Since}}.</p>
</main></body></html>
`))

func (s *sandbox) release(w http.ResponseWriter, r *http.Request) {
	decisions := s.until(s.now())
	i := slices.IndexFunc(decisions, func(d decision) bool { return d.path() == r.URL.Path })
	w.Header().Set("Content-Type", "text/html; charset=UTF-8")
	if i < 0 {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte("<html><head><title>Page not found</title></head><body></body></html>\n"))
		return
	}
	d := decisions[i]
	page := struct{ Day, Verb, Deposit, Main, Lending, Since string }{
		Day: d.day.Format("2 January 2006"), Verb: "remain unchanged at", Deposit: rate(d.quarters),
		// The two others lie 0.15 and 0.40 points above.
		Main: strconv.FormatFloat(float64(d.quarters)/4+0.15, 'f', 2, 64), Lending: strconv.FormatFloat(float64(d.quarters)/4+0.4, 'f', 2, 64),
	}
	if d.move != 0 {
		page.Verb = map[int]string{1: "be increased to", -1: "be decreased to"}[d.move]
		page.Since = ", with effect from " + d.day.AddDate(0, 0, 6).Format("2 January 2006")
	}
	_ = releasePage.Execute(w, page) // an error means that the client has gone
}
