package picks

import (
	"strings"
	"testing"
	"time"

	"tidemark/internal/series"
)

// Two meetings of 2026 as they were told: the range, and the votes.
func TestARateDecisionIsToldWithItsVotes(t *testing.T) {
	t.Parallel()
	def := indicator("fomc")
	var all []series.Observation
	tell := func(id series.ID, meeting string, value float64, known time.Duration) {
		all = append(all, series.Observation{Series: id, ObservedAt: day(meeting), VintageAt: day(meeting).Add(known), Value: value})
	}
	for _, m := range []struct {
		day     string
		yes, no float64
	}{{"2026-06-17", 12, 0}, {"2026-07-29", 9, 3}} {
		tell("fed.FOMC.AGAINST", m.day, m.no+1, 100*time.Hour) // a later reading of the statement changes nothing
		tell("fed.FOMC.UPPER", m.day, 3.75, 18*time.Hour)
		tell("fed.FOMC.LOWER", m.day, 3.5, 18*time.Hour)
		tell("fed.FOMC.FOR", m.day, m.yes, 18*time.Hour)
		tell("fed.FOMC.AGAINST", m.day, m.no, 18*time.Hour)
	}
	events := def.Events(all)
	if len(events) != 2 {
		t.Fatalf("%d events", len(events))
	}
	text, err := events[1].Text(English)
	if err != nil || text.Title != "The Federal Reserve keeps its rate between 3.50% and 3.75%" || !strings.Contains(text.Summary, "The vote was 9 to 3.") {
		t.Errorf("%+v, %v", text, err)
	}
	if events[0].Severity != 2 || events[1].Severity != 3 {
		t.Errorf("severities %d and %d, want 2 and 3", events[0].Severity, events[1].Severity)
	}
	if inputs := def.Inputs(); len(inputs) != 4 || inputs[0] != def.Series || len(indicator("cpi").Inputs()) != 1 {
		t.Errorf("inputs are %v", inputs)
	}
}
