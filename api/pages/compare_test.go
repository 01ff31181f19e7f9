package pages

import (
	"testing"

	"tidemark/api/view"
	"tidemark/picks"
)

func TestTheBoundsOfALagShowOnWhichSideOfZeroTheyAre(t *testing.T) {
	t.Parallel()
	for lang, want := range map[picks.Lang]string{"en": "−0.004 to 0.39", "es": "de −0,004 a 0,39"} {
		at := view.ComparisonAtLag{Interval: &view.CorrelationInterval{Level: 0.9, Lo: -0.004, Hi: 0.39}}
		if got := (compareBody{localizer: localizer{Lang: lang}}).Range(at); got != want {
			t.Errorf("%s: %q, want %q", lang, got, want)
		}
	}
}
