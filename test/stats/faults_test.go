package stats

import (
	"fmt"
	"strings"
	"testing"
)

// faults are what the program once said and what was not so. Each has the tests that fail on the code as it was then.
var faults = []struct {
	was   string
	tests []string
}{
	{"\"90%\" meant another thing at each signal, and nothing said what, nor how often it held", []string{"test/stats.TestTheTableOfIntervals", "test/stats.TestIntervalsHaveTheRecordsThatTheirBriefsState", "test/stats.TestNoTextClaimsAProbabilityThatNoTableCarries"}},
	{"the interval of Hormuz was symmetric, and re-estimates are not", []string{"signals.TestHormuzIntervalLeansToWhereReestimatesGoAndHoldsTheNextOnes"}},
	{"`look_ahead_safe` was true whatever came", []string{
		"signals.TestLookAheadSafeIsFalseForCasesOfWhichTheFirstValueIsNotKnown", "signals.TestALookAheadThatIsPlantedOnSomeDaysOrInTheCasesIsFound", "workers.TestABacktestOfAssumedVintagesIsSafeWhileItsSourceWasSeenToLeaveOldValues",
	}},
	{"`ingested_at` and `retrieved_at` of old values lay before the first request", []string{"workers.TestNothingIsIngestedBeforeItsBytesCame"}},
	{"`provenance` named some of the bodies", []string{"api.TestProvenanceIsOfEveryBody"}},
	{"a final of corn had an interval of no width", []string{"signals.TestCornHasOnePointForEachStateOfKnowledge"}},
	{"code counted years with too few values, and the brief did not", []string{
		"signals.TestAYearWithAScantWindowDoesNotEnter", "signals.TestHormuzYearsCountFromSixteenMeansOn", "test/stats.TestCrackSpreadAgreesWithSQL", "test/stats.TestHormuzTransitAgreesWithSQL",
		"test/stats.TestWeeklyPetroleumAgreesWithSQL", "test/stats.TestLNGArbitrageAgreesWithSQL", "test/stats.TestIowaCornYieldAgreesWithSQL", "test/stats.TestTheIndexOfNO2IsWhatItsBriefSays",
	}},
	{"the brief of the crack spread had other shares than real later prices", []string{"test/stats.TestTheCrackIntervalHeldWhatItsBriefSaysOfEachHorizon", "test/stats.TestEveryFigureOfABriefIsFoundByATest"}},
	{"the naive forecast was the worse of two directions, and the publisher's own was not compared", []string{"test/stats.TestTheOppositeOfMomentumBeatsTheCrackSpread", "test/stats.TestTheForecastsOfNASSAloneAreCompared", "signals.TestWhoWinsABacktest"}},
	{"a relation of the wrong sign was an edge", []string{"signals.TestASignificantRelationOfTheWrongSignIsNoEdge"}},
	{"p-values of figures that persist were too small", []string{"signals.TestAShiftTestKnowsWhatPersists"}},
	{"nothing said from when on a number was served", []string{"internal/postgres.TestASnapshotIsServedFromWhenItsNumbersWereStored"}},
	{"a workbook with two decimals was 131 revisions of the LNG prices", []string{"test/stats.TestACopyOfThePinkSheetWithTwoDecimalsHasNoRevisions", "internal/postgres.TestOtherDigitsOfAValueAreNoRevision"}},
	{"nothing said that an expected figure is rounded before its z-score", []string{"picks.TestAnExpectedFigureBetweenTwoDigitsIsRoundedAndTheTextSaysSo"}},
	{"regional means of NO2 were rounded to four decimals before use", []string{"ingest/temis.TestCases"}},
}

// faultsTable is the section of docs/signals.md about them.
func faultsTable() string {
	var b strings.Builder
	b.WriteString("\n## What was once claimed and was not true\n\nEach line has the tests that fail on the program as it was then.\n\n| what was wrong | held by |\n| --- | --- |\n")
	for _, f := range faults {
		_, _ = fmt.Fprintf(&b, "| %s | `%s` |\n", f.was, strings.Join(f.tests, "`, `"))
	}
	return b.String()
}

func TestEachFaultOfTheTableHasItsTests(t *testing.T) {
	t.Parallel()
	for _, f := range faults {
		for _, test := range f.tests {
			folder, name, _ := strings.Cut(test, ".Test")
			if !hasTest(t, "../../"+folder, "Test"+name) {
				t.Errorf("%q is to be held by %s, which does not exist", f.was, test)
			}
		}
	}
}
