package pages

import (
	"html"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/api/view"
	"tidemark/internal/locale/languages"
)

// The return of the first session is zero by definition: with it, all curves begin at one point, on the day of their start.
func TestTheWeeklyPointsBeginWithTheFirstSession(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ sessions, want []string }{
		{[]string{"2026-10-28", "2026-10-29", "2026-10-30", "2026-11-02", "2026-11-06", "2026-11-09"}, []string{"2026-10-28", "2026-10-30", "2026-11-06", "2026-11-09"}},
		{[]string{"2026-10-30", "2026-11-02", "2026-11-03"}, []string{"2026-10-30", "2026-11-03"}}, // a Friday
		{[]string{"2026-10-28"}, []string{"2026-10-28"}},
	} {
		var history []view.HistorySnapshot
		for _, day := range c.sessions {
			history = append(history, view.HistorySnapshot{Date: day})
		}
		var got []string
		for _, s := range weekly(history) {
			got = append(got, s.Date)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("of %v it keeps %v, want %v", c.sessions, got, c.want)
		}
	}
}

// A position that was bought at the newest close has no return yet, as on the page of the picks.
func TestAPositionBoughtAtTheNewestCloseHasNoReturn(t *testing.T) {
	t.Parallel()
	p, err := New(Options{PublicURL: "https://tidemark.example"})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range languages.All() {
		local := localizer{Lang: l.Code}
		positions := []view.Position{
			{Ticker: "NEWSYN", Sector: "Energy", Region: "Europe", WeightPct: 5, EntryDate: "2026-11-20", ReturnPct: new(0.0), ContributionPct: new(0.0)},
			{Ticker: "OLDSYN", Sector: "Trade", Region: "Asia Pacific", EntryDate: "2026-11-19", ReturnPct: new(1.25), ContributionPct: new(-0.5)},
		}
		body := portfolioBody{
			localizer: local, Portfolio: &view.Portfolio{AsOf: "2026-11-20"}, Open: positions, held: positions,
			Sectors: []view.Sector{{Sector: "Energy", WeightPct: 5, ReturnPct: new(0.0)}, {Sector: "Trade", WeightPct: 4, ReturnPct: new(1.25)}},
			Regions: []view.Region{{Region: "Europe", WeightPct: 5, ReturnPct: new(0.0), Countries: []view.Country{{WeightPct: 3.5}, {WeightPct: 1.5}}}, {Region: "Asia Pacific", WeightPct: 4, ReturnPct: new(1.25)}},
		}
		var out strings.Builder
		if err := p.templates["portfolio"].ExecuteTemplate(&out, "main", body); err != nil {
			t.Fatal(err)
		}
		_, page, _ := strings.Cut(html.UnescapeString(out.String()), "NEWSYN</a>")
		row, rest, _ := strings.Cut(page, "</tr>")
		if !strings.Contains(row, local.T("at close")) || strings.Contains(row, local.Pct(new(0.0))) {
			t.Errorf("%s: a pick that was just bought: %s", l.Code, row)
		}
		if row, _, _ := strings.Cut(rest, "</tr>"); !strings.Contains(row, local.Pct(new(1.25))) || !strings.Contains(row, ">"+local.Signed(new(-0.5))+"<") {
			t.Errorf("%s: a pick of the day before: %s", l.Code, row)
		}
		if countries := local.T("unknown") + " " + local.Share(3.5) + "</span>" + local.Separator() + `<span class="whole">`; !strings.Contains(html.UnescapeString(out.String()), countries) {
			t.Errorf("%s: the countries of a region are not separated by %q", l.Code, local.Separator())
		}
		for _, id := range []string{"sectors", "regions"} {
			_, page, _ := strings.Cut(html.UnescapeString(out.String()), `id="`+id+`"`)
			_, page, _ = strings.Cut(page, "<tbody>")
			table, _, _ := strings.Cut(page, "</tbody>")
			bought, earned, _ := strings.Cut(table, "</tr>")
			if !strings.Contains(bought, local.T("at close")) || strings.Contains(bought, local.Pct(new(0.0))) || !strings.Contains(earned, local.Pct(new(1.25))) {
				t.Errorf("%s: %s with positions that were just bought: %s", l.Code, id, table)
			}
		}
	}
}

// A small plot of a long history is reduced, and keeps the best and the worst day of both lines.
func TestASmallPlotKeepsAllDaysOrTheExtremes(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 27, 300, 5000} {
		history := make([]view.HistorySnapshot, n)
		for i := range history {
			history[i] = view.HistorySnapshot{Date: time.Date(2026, time.January, 1+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly), ReturnPct: new(float64(i % 7)), BenchmarkReturnPct: new(float64(i % 5))}
		}
		history[n/3].ReturnPct, history[n/2].BenchmarkReturnPct = new(-90.), new(80.)
		kept := visible(history)
		if n <= 300 && len(kept) != n || len(kept) > 8*smallStretches+8 {
			t.Errorf("%d of %d days are drawn", len(kept), n)
		}
		for _, day := range []string{history[0].Date, history[n/3].Date, history[n/2].Date, history[n-1].Date} {
			if !slices.ContainsFunc(kept, func(s view.HistorySnapshot) bool { return s.Date == day }) {
				t.Errorf("of %d days %s is not drawn", n, day)
			}
		}
	}
}
