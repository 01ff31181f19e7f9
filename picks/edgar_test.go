package picks

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"tidemark/internal/equity"
)

const recordedFacts = "../../shared/upstream/sec-edgar/companyfacts/"

func day(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return t
}

// recorded reads the facts of a company as the SEC published them, or skips the test where the recorded data is not here.
func recorded(t *testing.T, file string) []equity.Fact {
	t.Helper()
	return recordedAt(t, recordedFacts+file)
}

// recordedAt is recorded for a file by its whole path.
func recordedAt(t *testing.T, file string) []equity.Fact {
	t.Helper()
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the recorded data is not here: " + file)
	} else if err != nil {
		t.Fatal(err)
	}
	var body struct {
		CIK   any // a number, in some copies a string with zeros before it
		Facts map[string]map[string]struct {
			Units map[string][]struct {
				Start, End, Accn, FP, Form, Filed string
				Val                               float64
				FY                                int
			}
		}
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		t.Fatal(err)
	}
	cik, err := strconv.ParseFloat(fmt.Sprint(body.CIK), 64)
	if err != nil {
		t.Fatal(err)
	}
	var facts []equity.Fact
	for taxonomy, tags := range body.Facts {
		for tag, concept := range tags {
			for unit, values := range concept.Units {
				for _, v := range values {
					f := equity.Fact{
						CIK: equity.CIK(cik), Taxonomy: taxonomy, Tag: tag, Unit: unit, End: day(v.End), Value: v.Val,
						Accession: v.Accn, Form: v.Form, Filed: day(v.Filed), FY: v.FY, FP: v.FP,
					}
					if v.Start != "" {
						f.Start = day(v.Start)
					}
					facts = append(facts, f)
				}
			}
		}
	}
	slices.SortFunc(facts, func(a, b equity.Fact) int {
		return cmp.Or(cmp.Compare(a.Tag, b.Tag), a.End.Compare(b.End), cmp.Compare(a.Accession, b.Accession), a.Start.Compare(b.Start))
	})
	return facts
}

const apple = "CIK0000320193.json"

func TestFScoreOfAppleIsThePublishedOne(t *testing.T) {
	t.Parallel()
	book := NewBook(recorded(t, apple), day("2026-02-28"))
	want := map[string]int{
		"2025-09-27": 8, "2024-09-28": 7, "2023-09-30": 7, "2022-09-24": 6, "2021-09-25": 7, "2020-09-26": 7, "2019-09-28": 6,
		// Reading the newest figures separately gives 5. The annual report of 2020 counts the shares of fiscal 2018 after the split of four
		// for one. The report of 2019 counts the shares of fiscal 2017 before it, which looks like dilution.
		"2018-09-29": 6,
	}
	for n, year := range book.Years() {
		end := year.End.Format(time.DateOnly)
		s, checked := want[end]
		if !checked {
			continue
		}
		got := book.FScoreOf(n)
		t.Logf("Apple, the year to %s: F-score %d of %d known", end, got.Score, got.Known)
		if got.Score != s || got.Known != 9 {
			t.Errorf("the year to %s scores %d of %d known, want %d of 9", end, got.Score, got.Known, s)
			for _, g := range got.Signals {
				t.Logf("%s: known %v, good %v, now %v, before %v", g.Name, g.Known, g.Good, g.Now.Value, g.Before.Value)
			}
		}
		delete(want, end)
	}
	if len(want) > 0 {
		t.Errorf("years not found: %v", want)
	}
	if newest := book.FScore(); newest.Signals[3].Name != SignalAccruals || newest.Signals[3].Good || !newest.Signals[3].Known {
		t.Errorf("of fiscal 2025 the cash flow was below the income, got %+v", newest.Signals[3])
	}
}

func TestASplitIsNotDilution(t *testing.T) {
	t.Parallel()
	book := NewBook(recorded(t, apple), day("2026-02-28"))
	year, last := Period{day("2017-10-01"), day("2018-09-29")}, Period{day("2016-09-25"), day("2017-09-30")}
	if book.over(dilutedShares, year).Value <= book.over(dilutedShares, last).Value {
		t.Fatal("the newest figures of the two years no longer count different shares: the test shows nothing")
	}
	if got := book.noNewShares(year, last); !got.Good || got.Now.Value != 5000109000 || got.Before.Value != 5251692000 {
		t.Errorf("fiscal 2018, when Apple bought back a twentieth of its shares: %+v", got)
	}
}

func TestRestatementCountsFromTheDayItWasFiled(t *testing.T) {
	t.Parallel()
	facts := recorded(t, apple)
	fiscal2008 := Period{day("2007-09-30"), day("2008-09-27")}
	for _, c := range []struct {
		asOf string
		want float64
	}{
		{"2009-10-26", 0},
		{"2009-10-27", 4834e6}, // the annual report of 2009
		{"2010-01-24", 4834e6},
		{"2010-01-25", 6119e6}, // its amendment: new rules for revenue
		{"2026-01-31", 6119e6},
	} {
		if got := NewBook(facts, day(c.asOf)).over(netIncome, fiscal2008); got.Value != c.want || got.Known() != (c.want > 0) {
			t.Errorf("as of %s net income of fiscal 2008 is %v, want %v", c.asOf, got.Value, c.want)
		}
	}
}

func TestShareCountsOfTwoYearsComeFromOneFiling(t *testing.T) {
	t.Parallel()
	facts := recorded(t, apple)
	year, last := Period{day("2019-09-29"), day("2020-09-26")}, Period{day("2018-09-30"), day("2019-09-28")}
	now, before := NewBook(facts, day("2020-10-30")).pair(dilutedShares, year, last)
	// The split of August 2020 made four shares of one. Both years as the annual report of October 2020 counts them.
	if now.Value != 17528214000 || before.Value != 18595651000 {
		t.Errorf("diluted shares %v and %v, want 17,528,214,000 and 18,595,651,000", now.Value, before.Value)
	}
	if now.From[0].Accession != before.From[0].Accession {
		t.Errorf("two filings: %s and %s", now.From[0].Accession, before.From[0].Accession)
	}
}

func TestRevenueFollowsTheCompanyFromTagToTag(t *testing.T) {
	t.Parallel()
	facts := recorded(t, apple)
	for _, c := range []struct {
		asOf, tag string
		want      float64
	}{
		// Twelve months to June 2018, under the old tag: 229,234 + 202,695 - 176,655 million.
		{"2018-09-01", "SalesRevenueNet", 255274e6},
		// Fiscal 2018, of the annual report that used the tag Revenues alone.
		{"2018-11-30", "Revenues", 265595e6},
		// Twelve months to December 2025: 416,161 + 143,756 - 124,300 million.
		{"2026-02-28", "RevenueFromContractWithCustomerExcludingAssessedTax", 435617e6},
	} {
		got := NewBook(facts, day(c.asOf)).trailing(revenue)
		if !got.Known() || got.Value != c.want || got.From[0].Tag != c.tag {
			t.Errorf("as of %s trailing revenue is %v (%+v), want %v under %s", c.asOf, got.Value, got.From, c.want, c.tag)
		}
	}
}

func TestFourthQuarterIsTheYearMinusNineMonths(t *testing.T) {
	t.Parallel()
	facts := recorded(t, apple)
	book := NewBook(facts, day("2026-02-28"))
	// Apple stopped to state fourth quarters after fiscal 2020; its press release of October 2025 says 27,466 million.
	got := book.quarter(netIncome, day("2025-09-27"))
	if got.Value != 27466e6 || len(got.From) != 2 || !got.Over.Start.Equal(day("2025-06-29")) {
		t.Errorf("fourth quarter of fiscal 2025: %v from %d facts over %v, want 27,466 million from 2", got.Value, len(got.From), got.Over)
	}
	// Stated as such: the fourth quarter of fiscal 2019, 13,686 million.
	if got := book.quarter(netIncome, day("2019-09-28")); got.Value != 13686e6 || len(got.From) != 1 {
		t.Errorf("fourth quarter of fiscal 2019: %v from %d facts, want 13,686 million from 1", got.Value, len(got.From))
	}
	// Cash flows are stated as year to date only: the second quarter is six months minus three.
	if got := book.quarter(operatingCash, day("2025-03-29")); len(got.From) != 2 || got.Value != 23952e6 {
		t.Errorf("operating cash flow of the quarter to March 2025: %v from %d facts, want 23,952 million from 2", got.Value, len(got.From))
	}
}

func TestCurrentReportsAreNotRead(t *testing.T) {
	t.Parallel()
	facts := recorded(t, apple)
	eightK := 0
	for _, f := range facts {
		if f.Form == "8-K" {
			eightK++
		}
	}
	if eightK == 0 {
		t.Fatal("the recorded file has no facts from current reports")
	}
	for k, list := range NewBook(facts, day("2026-02-28")).stated {
		for _, f := range list {
			if f.Form == "8-K" {
				t.Fatalf("%v holds a fact of a current report", k)
			}
		}
	}
}

func TestWhatACompanyDoesNotStateIsUnknown(t *testing.T) {
	t.Parallel()
	// Snowflake has losses, and stated no long-term debt in most of its years.
	facts := recorded(t, "CIK0001640147.json")
	s := NewBook(facts, day("2024-06-30")).FScore()
	if s.Known == 0 || s.Known == 9 {
		t.Errorf("Snowflake's score knows %d signals", s.Known)
	}
	if s.Signals[0].Good {
		t.Error("Snowflake's loss passes for income")
	}
	if s.Signals[4].Known {
		t.Error("a debt that is not stated passes for none")
	}
	// The annual report of 2025 states the convertible debt of that year, and none for the year before.
	if debt := NewBook(facts, day("2025-06-30")).FScore().Signals[4]; !debt.Known || debt.Good {
		t.Errorf("the debt that Snowflake took up is %+v", debt)
	}
}

func TestAForeignCompanyStatesNothingThatIsRead(t *testing.T) {
	t.Parallel()
	book := NewBook(recorded(t, "CIK0001997711.json"), day("2026-06-30"))
	if len(book.Years()) != 0 || book.FScore().Known != 0 {
		t.Errorf("a company under other rules has %d years and scores %+v", len(book.Years()), book.FScore())
	}
}
