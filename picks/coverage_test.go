package picks

import (
	"flag"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/concepts"
	"tidemark/internal/equity"
)

// moreFacts is a folder with further answers of the SEC, each as its wire has it, to count over: go test ./picks -run Coverage -v -facts=DIR.
var moreFacts = flag.String("facts", "", "a folder with further files of company facts")

// financials, by file, have no debt apart from their trade: American Express, JPMorgan Chase, Bank of America, Berkshire Hathaway.
var financials = []string{"AXP", "JPM", "CIK0000019617", "CIK0000070858", "CIK0001067983"}

// realBooks returns all recorded companies with a balance sheet under US rules in dollars, each on the last day that its file covers. Files
// that were cut to some tags are separate: they have only two tags of debt.
func realBooks(t *testing.T) (whole, trimmed map[string]*Financials) {
	t.Helper()
	whole, trimmed = map[string]*Financials{}, map[string]*Financials{}
	read := func(pattern string, to map[string]*Financials) {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if name := filepath.Base(file); name == "manifest.json" || name == "SPOT.json" { // states nothing under US rules
				continue
			}
			facts := recordedAt(t, file)
			var last time.Time
			for _, f := range facts {
				if f.Filed.After(last) {
					last = f.Filed
				}
			}
			if b := NewBook(facts, last); b.newest(assets).Known() && len(b.years) > 0 {
				to[strings.TrimSuffix(filepath.Base(file), ".json")] = b
			}
		}
	}
	read(recordedFacts+"*.json", whole)
	read(recordedFacts+"../facts-trimmed/*.json", trimmed)
	if *moreFacts != "" {
		read(filepath.Join(*moreFacts, "*.json"), whole)
	}
	if len(whole)+len(trimmed) == 0 {
		t.Skip("the recorded data is not here: sec-edgar")
	}
	return whole, trimmed
}

// The rules as they were before: the first tag of an order, debt at the newest balance alone, a cover between half and twice the average.
func debtBefore(b *Financials) Figure {
	at := Period{End: b.newest(assets).Over.End}
	one := func(tag string) Figure {
		return b.over(concept{Taxonomy: "us-gaap", Unit: "USD", Tags: []string{tag}}, at)
	}
	return one("LongTermDebtNoncurrent").or(one("LongTermDebt").minus(one("LongTermDebtCurrent")))
}

func revenueBefore(b *Financials) Figure {
	c := revenue
	c.Largest = false
	return b.trailing(c)
}

func sharesBefore(b *Financials) Figure {
	cover, average := b.newest(coverShares), b.newestPeriod(dilutedShares)
	if !cover.Known() || average.Known() && (cover.Value < average.Value/2 || cover.Value > average.Value*2) {
		return average
	}
	return cover
}

func TestCoverageOfRealFilings(t *testing.T) {
	t.Parallel()
	whole, trimmed := realBooks(t)
	for _, part := range []struct {
		name  string
		books map[string]*Financials
	}{{"whole files", whole}, {"files cut to 22 tags", trimmed}} {
		companies, financial := len(part.books), 0
		before, after := [3]int{}, [3]int{}
		var unknown, changed []string
		for _, name := range sortedKeys(part.books) {
			b := part.books[name]
			end := b.newest(assets).Over.End
			old := [3]Figure{debtBefore(b), revenueBefore(b), sharesBefore(b)}
			now := [3]Figure{b.newestDebt(end), b.trailing(revenue), sharesOutstanding(b, 0, History{}, b.asOf)}
			for k := range old {
				if k == 0 && slices.Contains(financials, name) {
					financial++
					continue
				}
				if old[k].Known() {
					before[k]++
				}
				if now[k].Known() {
					after[k]++
				} else {
					unknown = append(unknown, name+" "+[3]string{"debt", "revenue", "shares"}[k])
				}
				if old[k].Known() && now[k].Known() && math.Abs(old[k].Value-now[k].Value) > 0.001*math.Abs(old[k].Value) {
					changed = append(changed, fmt.Sprintf("%s %s %.1f -> %.1f million", name, [3]string{"debt", "revenue", "shares"}[k], old[k].Value/1e6, now[k].Value/1e6))
				}
			}
		}
		t.Logf("%s: %d companies, %d of them financial; known before and after: debt %d and %d of %d, revenue %d and %d, shares %d and %d",
			part.name, companies, financial, before[0], after[0], companies-financial, before[1], after[1], before[2], after[2])
		t.Logf("%s: still unknown: %s", part.name, strings.Join(unknown, ", "))
		t.Logf("%s: changed: %s", part.name, strings.Join(changed, "; "))
		if part.name == "whole files" && float64(after[0]) < 0.95*float64(companies-financial) {
			t.Errorf("the debt of %d of %d companies is known, want 95 %%", after[0], companies-financial)
		}
		for k := range before {
			if after[k] < before[k] && k < 2 { // for shares (2), counts of years ago are no longer used
				t.Errorf("%s: fewer known than before: %v, were %v", part.name, after, before)
			}
		}
	}
}

func sortedKeys(m map[string]*Financials) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func TestTheDebtOfTheMostIndebtedIsKnown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ticker, at string
		want       float64 // million
		why        concepts.Reason
	}{
		{"T", "2025-12-31", 134718, concepts.Total},
		{"HD", "2026-02-01", 0, ""},
		{"IBM", "2026-06-30", 0, concepts.Only},
	} {
		b := NewBook(recorded(t, "../facts-trimmed/"+c.ticker+".json"), day("2026-07-24"))
		d := b.newestDebt(b.newest(assets).Over.End)
		if !d.Known() || !d.Over.End.Equal(day(c.at)) || c.want > 0 && d.Value != c.want*1e6 || c.why != "" && d.Why != c.why {
			t.Errorf("%s: debt %v million of %s because %q (%+v), want %v of %s", c.ticker, d.Value/1e6, d.Over.End.Format(time.DateOnly), d.Why, d.From, c.want, c.at)
		}
	}
}

func balance(tag string, value float64) equity.Fact { return stated(tag, "k", "", "2024-12-31", value) }

func TestDebtIsReadFromWhateverLinesStateIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		facts []equity.Fact
		want  float64
		why   concepts.Reason
	}{
		{"one line", []equity.Fact{balance("LongTermDebtNoncurrent", 30)}, 30, concepts.Only},
		{"with leases", []equity.Fact{balance("LongTermDebtNoncurrent", 30), balance("LongTermDebtAndCapitalLeaseObligations", 33)}, 33, concepts.Largest},
		{"convertible debt alone", []equity.Fact{balance("ConvertibleDebtNoncurrent", 12)}, 12, concepts.Sum},
		{"notes beside a loan", []equity.Fact{balance("LongTermNotesPayable", 12), balance("LongTermLineOfCredit", 5)}, 17, concepts.Sum},
		{"one amount under two tags", []equity.Fact{balance("LongTermNotesPayable", 12), balance("ConvertibleDebtNoncurrent", 12)}, 12, concepts.Sum},
		{"all less the current part", []equity.Fact{balance("LongTermDebt", 30), balance("LongTermDebtCurrent", 4)}, 26, concepts.Remainder},
		{"all, where the current part is not stated", []equity.Fact{balance("LongTermDebt", 30)}, 30, concepts.Total},
		{"nothing", nil, -1, ""},
		{"liabilities that add up", []equity.Fact{
			balance("Liabilities", 100), balance("LiabilitiesCurrent", 70), balance("OperatingLeaseLiabilityNoncurrent", 20), balance("OtherLiabilitiesNoncurrent", 10),
		}, 0, concepts.Reconciled},
		{"a line that is within another", []equity.Fact{
			balance("Liabilities", 100), balance("LiabilitiesCurrent", 70), balance("FinanceLeaseLiabilityNoncurrent", 4), balance("OtherLiabilitiesNoncurrent", 30),
		}, 0, concepts.Reconciled},
		{"liabilities that do not", []equity.Fact{
			balance("Liabilities", 100), balance("LiabilitiesCurrent", 60), balance("OperatingLeaseLiabilityNoncurrent", 20), balance("OtherLiabilitiesNoncurrent", 10),
		}, -1, ""},
		{"liabilities as assets less equity", []equity.Fact{balance("StockholdersEquity", 900), balance("LiabilitiesCurrent", 100)}, 0, concepts.Reconciled},
	} {
		b := NewBook(append(c.facts, balance("Assets", 1000)), day("2025-06-30"))
		d := b.newestDebt(day("2024-12-31"))
		if d.Known() != (c.want >= 0) || d.Known() && d.Value != c.want || d.Why != c.why {
			t.Errorf("%s: %v because %q, want %v because %q", c.name, d.Value, d.Why, c.want, c.why)
		}
	}
}

// A company that does not tell its debt must not rank above the same company with a debt that it tells.
func TestSilenceOnDebtIsNoBetterThanTheLargestDebt(t *testing.T) {
	t.Parallel()
	m := synthMarket(3, 60, day("2026-03-16"))
	told := Rank(m, DefaultRules())
	for i := range told.Scores {
		s := &told.Scores[i]
		if low := s.metric(LowDebt); low.Applies && low.Known() {
			for j := range m.Candidates {
				if m.Candidates[j].Company.CIK != s.CIK {
					continue
				}
				silent := m
				silent.Candidates = slices.Clone(m.Candidates)
				silent.Candidates[j].Facts = slices.DeleteFunc(slices.Clone(m.Candidates[j].Facts), func(f equity.Fact) bool { return f.Tag == "LongTermDebtNoncurrent" })
				for _, o := range Rank(silent, DefaultRules()).Scores {
					if o.CIK == s.CIK && o.Groups[Quality] > s.Groups[Quality]+0.2 {
						t.Errorf("%s: quality %+.3f when silent, %+.3f when told", s.Ticker, o.Groups[Quality], s.Groups[Quality])
					}
					if w := o.metric(LowDebt); o.CIK == s.CIK && (w.Known() || math.IsNaN(w.Worst) || w.Worst > 0) {
						t.Errorf("%s: silence on debt counts %v", s.Ticker, w.Worst)
					}
				}
			}
			if i > 6 {
				return
			}
		}
	}
}
