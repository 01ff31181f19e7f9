package picks

import (
	"math"
	"strings"
	"testing"
)

// American Express's revenue of twelve months is made of three facts of two reports: each is told exactly, and leads to its own report.
func TestEachPartOfASumLeadsToItsFiling(t *testing.T) {
	t.Parallel()
	w := briefWriter{brief: &Brief{}, day: day("2026-07-24")}
	w.amount("revenue", NewBook(recorded(t, "../facts-trimmed/AXP.json"), day("2026-07-24")).trailing(revenue))
	sum, reports := 0.0, map[string]bool{}
	for i, want := range []struct {
		id, value, asOf, form string
		sign                  float64
	}{
		{"revenue_part_1", "72229", "2025-12-31", "Form 10-K", 1},
		{"revenue_part_2", "18907", "2026-03-31", "Form 10-Q", 1},
		{"revenue_part_3", "16967", "2025-03-31", "Form 10-Q", -1},
	} {
		d, ok := w.brief.Facts.Find(want.id)
		if !ok || d.Value != want.value || d.AsOf.Format("2006-01-02") != want.asOf || d.Source < 0 || !strings.HasPrefix(w.brief.Sources[d.Source].Title, want.form) {
			t.Fatalf("part %d is %+v of %+v, want %+v", i+1, d, w.brief.Sources, want)
		}
		sum += want.sign * d.Number()
		reports[w.brief.Sources[d.Source].Title] = true
	}
	whole, _ := w.brief.Facts.Find("revenue")
	if math.Abs(sum/1000-whole.Number()) > 0.05 || len(reports) < 2 {
		t.Errorf("the parts make %v million of %d reports, the figure is %s %s", sum, len(reports), whole.Value, whole.Unit)
	}
}

// wantParts fails if a card tells an amount of twelve months and not the parts that make it, each of a report.
func wantParts(t *testing.T, b Brief, s Score) {
	t.Helper()
	for id, f := range map[string]Figure{"net_income": s.Income, "revenue": s.Revenue, "cash_flow": s.CashFlow} {
		if !b.Facts.Has(id) || len(f.From) < 2 {
			continue
		}
		sum := 0.0
		for i, sign := range []float64{1, 1, -1} {
			d, ok := b.Facts.Find(id + "_part_" + string(rune('1'+i)))
			if !ok || d.Source < 0 || d.Source >= len(b.Sources) {
				t.Errorf("%s: part %d of %s has no report: %+v", s.Ticker, i+1, id, d)
			}
			sum += sign * d.Number() * 1e6
		}
		if math.Abs(sum-f.Value) > 1 {
			t.Errorf("%s: the parts of %s make %v, not %v", s.Ticker, id, sum, f.Value)
		}
	}
}
