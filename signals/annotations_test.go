package signals_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/signals"
)

func TestEveryEventHasItsDayAndItsSource(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	var last time.Time
	for _, a := range signals.Annotations() {
		if a.ID == "" || strings.Trim(a.ID, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || seen[a.ID] {
			t.Errorf("%q is no id of its own", a.ID)
		}
		seen[a.ID] = true
		if a.Day.Before(last) || !a.Day.Equal(a.Day.Truncate(24*time.Hour)) {
			t.Errorf("%s: %s is not a day after %s", a.ID, a.Day, last)
		}
		last = a.Day
		if u, err := url.Parse(a.Source); err != nil || u.Scheme != "https" || u.Host == "" {
			t.Errorf("%s: its source is %q", a.ID, a.Source)
		}
		if len(a.Signals) == 0 {
			t.Errorf("%s is on no plot", a.ID)
		}
		for _, id := range a.Signals {
			if _, ok := signals.ByID(id); !ok {
				t.Errorf("%s: there is no signal %s", a.ID, id)
			}
		}
	}
}

func TestEventsOfAViewAreWithinItsDays(t *testing.T) {
	t.Parallel()
	day := func(text string) time.Time {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	ids := func(signal, from, to string) (out []string) {
		for _, a := range signals.AnnotationsOf(signal, day(from), day(to)) {
			out = append(out, a.ID)
		}
		return out
	}
	if got := ids("crack-spread-321", "2020-03-11T15:00:00Z", "2020-04-20T00:00:00Z"); !slices.Equal(got, []string{"pandemic", "opec-2020", "wti-negative"}) {
		t.Errorf("both ends count as days: %v", got)
	}
	if got := ids("iowa-corn-yield", "2005-01-01T00:00:00Z", "2020-08-09T00:00:00Z"); got != nil {
		t.Errorf("before the event: %v", got)
	}
}
