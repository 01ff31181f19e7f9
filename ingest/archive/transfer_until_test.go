package archive

import (
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/series"
)

func TestStepsThatWereDoneLaterAreLeftOut(t *testing.T) {
	t.Parallel()
	at := func(hour int) time.Time { return time.Date(2026, 5, 1, hour, 0, 0, 0, time.UTC) }
	stored := func(fetch int64, known time.Time) series.Step {
		return series.Step{Source: "s", Answers: []series.StepAnswer{{Fetch: 1, KnownAt: at(1)}, {Fetch: fetch, KnownAt: known}}}
	}
	computed := func(at time.Time) series.Step { return series.Step{Signal: "x", At: at} }
	all := []series.Step{stored(2, at(2)), computed(at(3)), stored(absent, at(4)), stored(4, at(6)), computed(at(7))}
	broken := errors.New("broken")
	from := func(yield func(series.Step, error) bool) {
		for _, s := range all {
			if !yield(s, nil) {
				return
			}
		}
		yield(series.Step{}, broken)
	}
	read := func(steps iter.Seq2[series.Step, error]) (list []series.Step, last error) {
		for s, err := range steps {
			if err != nil {
				return list, err
			}
			list = append(list, s)
		}
		return list, nil
	}
	for name, c := range map[string]struct {
		until time.Time
		want  []series.Step
	}{
		"without a bound": {time.Time{}, all},
		"until five":      {at(5), all[:2]}, // the third is with an answer that is absent, the fourth was accepted later
		"until three":     {at(3), all[:2]},
		"until two":       {at(2), all[:1]},
		"before all":      {at(0), nil},
	} {
		got, err := read(stepsUntil(from, c.until))
		if d := cmp.Diff(c.want, got); d != "" || !errors.Is(err, broken) {
			t.Errorf("%s (-want +got), %v:\n%s", name, err, d)
		}
	}
}
