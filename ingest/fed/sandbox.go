package fed

import (
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tidemark/ingest/world/synth"
)

// Sandbox answers for the feed of press releases on monetary policy and for the Committee's statements with synthetic decisions as of the
// world's clock. There are eight meetings a year: holds mostly, a quarter of a point now and then, and dissents. The handlers are safe for
// concurrent use.
func Sandbox(mux *http.ServeMux, w synth.World) {
	s := &sandbox{now: w.Now, moves: w.Noise("fed decisions"), dissents: w.Noise("fed dissents")}
	mux.HandleFunc("GET "+host+feedPath, s.feed)
	mux.HandleFunc("GET "+host+statementPrefix[:strings.LastIndex(statementPrefix, "/")+1]+"{page}", s.statement)
}

type sandbox struct {
	now             func() time.Time
	moves, dissents synth.Noise

	mu        sync.Mutex
	decisions []decision
}

// decision is one meeting's outcome, in quarters of a point.
type decision struct {
	day            time.Time
	move, quarters int // quarters is the lower end
	against        int
}

// firstYear is the year of the first synthetic meeting; lowest, usual and highest bound the lower end.
const firstYear, lowest, usual, highest = 2019, 0, 14, 24

// meetings are the last days of a year's meetings, all Wednesdays, as in most years. They are the third of March, June and September, the
// second of December, and the last of January, April, July and October.
func meetings(year int) []time.Time {
	wednesday := func(m time.Month, nth int) time.Time {
		first := time.Date(year, m, 1, 0, 0, 0, 0, time.UTC)
		day := 1 + (int(time.Wednesday-first.Weekday())+7)%7 + 7*(nth-1)
		if nth == 5 && time.Date(year, m, day, 0, 0, 0, 0, time.UTC).Month() != m {
			day -= 7
		}
		return time.Date(year, m, day, 0, 0, 0, 0, time.UTC)
	}
	return []time.Time{
		wednesday(time.January, 5), wednesday(time.March, 3), wednesday(time.April, 5), wednesday(time.June, 3),
		wednesday(time.July, 5), wednesday(time.September, 3), wednesday(time.October, 5), wednesday(time.December, 2),
	}
}

// until are the decisions published by an instant, ascending. Each follows from the ones before it and from its day.
func (s *sandbox) until(t time.Time) []decision {
	s.mu.Lock()
	defer s.mu.Unlock()
	for year := firstYear + len(s.decisions)/8; year <= t.UTC().Year(); year++ {
		for _, day := range meetings(year) {
			level := usual
			if n := len(s.decisions); n > 0 {
				level = s.decisions[n-1].quarters
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
			against := 0
			for n, share := range []float64{0.3, 0.12, 0.05} {
				if s.dissents.Chance(day, share) {
					against = n + 1
				}
			}
			s.decisions = append(s.decisions, decision{day, move, level + move, against})
		}
	}
	n, _ := slices.BinarySearchFunc(s.decisions, t, func(d decision, t time.Time) int {
		if published(d.day).After(t) {
			return 1
		}
		return -1
	})
	return s.decisions[:n:n]
}

// items is how many press releases the feed holds.
const items = 20

var feedPage = template.Must(template.New("feed").Funcs(template.FuncMap{"gmt": func(t time.Time) string { return t.UTC().Format(http.TimeFormat) }}).Parse(
	`<rss version="2.0"><channel><title>FRB: Press Release - Monetary Policy (synthetic)</title><link>https://www.federalreserve.gov/feeds/feeds.htm</link>{{range .}}
<item><title>{{.Title}}</title><link>{{.Link}}</link><guid>{{.Link}}</guid><description>{{.Title}}</description><category>Monetary Policy</category><pubDate>{{gmt .At}}</pubDate></item>{{end}}
</channel></rss>
`))

type item struct {
	Title, Link string
	At          time.Time
}

// feed writes the newest press releases: the statements, and three weeks after each the minutes.
func (s *sandbox) feed(w http.ResponseWriter, _ *http.Request) {
	now := s.now()
	var list []item
	for _, d := range s.until(now) {
		at := published(d.day)
		list = append(list, item{"Federal Reserve issues FOMC statement", "https://" + host + statementPath(d.day.Format(compactDate)), at})
		if minutes := at.AddDate(0, 0, 21); !minutes.After(now) {
			link := "https://" + host + statementPath(minutes.Format(compactDate))
			list = append(list, item{"Minutes of the Federal Open Market Committee, " + d.day.Format("January 2, 2006"), link, minutes})
		}
	}
	slices.SortFunc(list, func(a, b item) int { return b.At.Compare(a.At) })
	w.Header().Set("Content-Type", "text/xml")
	_, _ = w.Write([]byte("\ufeff<?xml version=\"1.0\" encoding=\"utf-8\" ?>\n"))
	_ = feedPage.Execute(w, list[:min(items, len(list))]) // an error means that the client has gone
}

var statementPage = template.Must(template.New("statement").Parse(`<!DOCTYPE html>
<html lang="en"><head><title>Federal Reserve issues FOMC statement (synthetic)</title></head><body>
<p class="article__time">{{.Day}}</p><h3 class="title">Federal Reserve issues FOMC statement</h3>
<div class="col-xs-12 col-sm-8 col-md-8">
<p>Synthetic text, drawn by a sandbox. Not a statement of the Federal Reserve.</p>
<p>The Committee decided to {{.Verb}} the target range for the federal funds rate {{.Range}} percent.</p>
<p>Voting for the monetary policy action were {{.For}}.{{if .Against}} Voting against this action {{.Against}}, who preferred {{.Preferred}}.{{end}}</p>
</div></body></html>
`))

// members are the Committee's. None of them is a person.
var members = []string{
	"Ada A. Alder", "Ben B. Birch", "Cleo Cedar", "Dora D. Dogwood", "Emil Elm", "Fay F. Fir", "Gil G. Ginkgo", "Hope Hazel", "Ivo I. Ironwood",
	"Joan Juniper", "Kurt K. Katsura", "Lea Linden",
}

func (s *sandbox) statement(w http.ResponseWriter, r *http.Request) {
	decisions := s.until(s.now())
	i := slices.IndexFunc(decisions, func(d decision) bool { return statementPath(d.day.Format(compactDate)) == r.URL.Path })
	w.Header().Set("Content-Type", "text/html")
	if i < 0 {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte("<html><head><title>Page not found</title></head><body></body></html>\n"))
		return
	}
	d := decisions[i]
	yes, no := members[:len(members)-d.against], members[len(members)-d.against:]
	page := struct{ Day, Verb, Range, For, Against, Preferred string }{
		Day: d.day.Format("January 2, 2006"), Verb: "maintain", Preferred: "to lower the range by 1/4 percentage point at this meeting",
		Range: "at " + bounds(d.quarters), For: strings.Join(yes[:len(yes)-1], "; ") + "; and " + yes[len(yes)-1],
	}
	switch {
	case d.move > 0:
		page.Verb, page.Range = "raise", "by 1/4 percentage point, to "+bounds(d.quarters)
	case d.move < 0:
		page.Verb, page.Range, page.Preferred = "lower", "by 1/4 percentage point to "+bounds(d.quarters), "no change at this meeting"
	}
	switch len(no) {
	case 0:
	case 1:
		page.Against = "was " + no[0]
	default:
		page.Against = "were " + strings.Join(no[:len(no)-1], ", ") + " and " + no[len(no)-1]
	}
	_ = statementPage.Execute(w, page) // an error means that the client has gone
}

// bounds writes a range of a quarter of a point as the Committee does, with a hard hyphen in mixed numbers.
func bounds(low int) string {
	one := func(q int) string {
		part := [4]string{"", "1/4", "1/2", "3/4"}[q%4]
		switch {
		case part == "":
			return strconv.Itoa(q / 4)
		case q < 4:
			return part
		}
		return fmt.Sprintf("%d\u2011%s", q/4, part)
	}
	return one(low) + " to " + one(low+1)
}
