package edgar

import (
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/world/synth"
)

// event is one invented filing.
type event struct {
	form, accession string
	filed, period   time.Time
	accepted        time.Time
	items           []string
	document        string
	// fy and fp are the fiscal year and period of a report.
	fy      int
	fp      string
	figures []figure
}

// figure is one number that a report states.
type figure struct {
	taxonomy, tag, unit string
	start, end          time.Time
	value               float64
}

// filings are all filings of a company, as far as they were requested.
type filings struct {
	company *synth.Company
	// delay, hour, restated, news, size and risks are drawn once for each report or day.
	delay, hour, restated, news, size, risks synth.Noise

	mu      sync.Mutex
	horizon time.Time
	events  []event
}

func newFilings(w synth.World, c *synth.Company) *filings {
	noise := func(what string) synth.Noise { return w.Noise(fmt.Sprintf("edgar %d %s", c.CIK, what)) }
	return &filings{
		company: c, delay: noise("delay"), hour: noise("hour"), restated: noise("restated"), news: noise("news"), size: noise("size"),
		risks: noise("risks"),
	}
}

// until lists what was accepted at or before an instant, oldest first. The slice is shared and must not be changed.
func (f *filings) until(now time.Time) []event {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !now.Before(f.horizon) {
		f.horizon = time.Date(now.Year()+1, time.July, 1, 0, 0, 0, 0, time.UTC)
		f.events = f.draw(f.horizon)
	}
	n := sort.Search(len(f.events), func(i int) bool { return f.events[i].accepted.After(now) })
	return f.events[:n:n]
}

// draw lists all filings up to a day. Those of a later day change none of them.
func (f *filings) draw(horizon time.Time) []event {
	c := f.company
	quarters := c.Quarters(horizon)
	var all []event
	for n, q := range quarters {
		all = append(all, f.ofQuarter(quarters, n)...)
		if q.Number == 4 && c.Books != synth.Foreign {
			all = append(all, f.event("DEF 14A", q.End.AddDate(0, 0, 95), q.End.AddDate(0, 0, 140)))
		}
	}
	// Some three times a year there is other news.
	for day := synth.FirstDay.AddDate(-3, 0, 0); day.Before(horizon); day = day.AddDate(0, 0, 1) {
		if f.news.Chance(day, 0.009) && c.Books != synth.Foreign {
			e := f.event("8-K", day, day)
			e.items = otherNews[int(f.size.Uniform(day)*float64(len(otherNews)))]
			all = append(all, e)
		}
	}
	if !c.Ended.IsZero() {
		all = append(all, f.event("25-NSE", c.Ended, c.Ended), f.event("15-12G", c.Ended.AddDate(0, 0, 12), time.Time{}))
	}
	// A company reports from its first day on the exchange until shortly after its last. Those that were there before the market's
	// first day have always reported.
	all = slices.DeleteFunc(all, func(e event) bool {
		return !c.Listed.IsZero() && e.filed.Before(c.Listed) || !c.Ended.IsZero() && e.filed.After(c.Ended.AddDate(0, 0, 20))
	})
	slices.SortStableFunc(all, func(a, b event) int { return a.accepted.Compare(b.accepted) })
	return number(c, all)
}

// otherNews are the items of current reports that are not about results.
var otherNews = [][]string{
	{"5.02"}, {"5.02", "9.01"}, {"1.01", "9.01"}, {"7.01", "9.01"}, {"8.01"}, {"5.07"}, {"1.01", "2.03", "9.01"}, {"5.03", "9.01"}, {"2.05"},
}

// ofQuarter lists the filings about the n-th quarter: the results, the report, and now and then its correction.
func (f *filings) ofQuarter(quarters []synth.Quarter, n int) []event {
	q := quarters[n]
	wait := int(10 * f.delay.Uniform(q.End))
	if f.company.Books == synth.Foreign {
		if q.Number < 4 {
			return []event{f.event("6-K", q.End.AddDate(0, 0, 45+wait), q.End)}
		}
		annual := f.event("20-F", q.End.AddDate(0, 0, 105+wait), q.End)
		annual.fy, annual.fp, annual.figures = q.FiscalYear, "FY", foreignAnnual(f.company, quarters, n, annual.filed)
		return []event{annual}
	}
	form, fp, due := "10-Q", fmt.Sprintf("Q%d", q.Number), 30+wait
	if q.Number == 4 {
		form, fp, due = "10-K", "FY", 48+wait
	}
	results := f.event("8-K", q.End.AddDate(0, 0, due-4), q.End.AddDate(0, 0, due-4))
	results.items = []string{"2.02", "9.01"}
	if f.company.CIK%10 == 7 && f.company.Books == synth.Commercial {
		// Some state figures in these as well, in thousands where dollars are meant.
		results.fy, results.fp = q.FiscalYear, fp
		results.figures = []figure{{"us-gaap", "NetIncomeLoss", "USD", q.Start, q.End, q.Net / 1000}}
	}
	report := f.event(form, q.End.AddDate(0, 0, due), q.End)
	report.fy, report.fp = q.FiscalYear, fp
	list := []event{results}
	if q.Number == 4 && f.restated.Chance(q.End, 0.04) {
		// The report's income of the year was wrong. The correction has the figures of the books.
		corrected := f.event("10-K/A", report.filed.AddDate(0, 0, 80+6*wait), q.End)
		corrected.fy, corrected.fp, corrected.figures = q.FiscalYear, fp, statements(f.company, quarters, n, corrected.filed, 1)
		report.figures = statements(f.company, quarters, n, report.filed, 1.06+0.15*f.size.Uniform(q.End))
		return append(list, report, corrected)
	}
	report.figures = statements(f.company, quarters, n, report.filed, 1)
	return append(list, report)
}

// event is a filing of a form on the first weekday from a day on, after the close or before the opening.
func (f *filings) event(form string, day, period time.Time) event {
	for day.Weekday() == time.Saturday || day.Weekday() == time.Sunday {
		day = day.AddDate(0, 0, 1)
	}
	minutes := 16*60 + 5 + int(70*f.hour.Uniform(day))
	if f.hour.Uniform(day.AddDate(0, 0, -1)) < 0.3 {
		minutes = 6*60 + 30 + minutes%60
	}
	e := event{form: form, filed: day, period: period}
	// Two filings of one day are minutes apart.
	minutes += 2 * (len(form) % 5)
	e.accepted = time.Date(day.Year(), day.Month(), day.Day(), 0, minutes, int(60*f.hour.Uniform(day)), 0, ingest.NewYork()).UTC()
	return e
}

// number gives filings their accession numbers: the filer's number, the year and a number within it. That last number comes from the day,
// so that it does not depend on other filings.
func number(c *synth.Company, all []event) []event {
	same := 0
	for i := range all {
		e := &all[i]
		if same++; i == 0 || !all[i-1].filed.Equal(e.filed) {
			same = 0
		}
		e.accession = fmt.Sprintf("%010d-%02d-%06d", c.CIK, e.filed.Year()%100, e.filed.YearDay()*100+same)
		e.document = fmt.Sprintf("synthetic-%s-%d.htm", e.filed.Format("20060102"), same)
	}
	return all
}
