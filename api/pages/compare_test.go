package pages

import (
	"strings"
	"testing"

	"tidemark/api/view"
	"tidemark/picks"
)

func TestTheBoundsOfALagShowOnWhichSideOfZeroTheyAre(t *testing.T) {
	t.Parallel()
	for lang, want := range map[picks.Lang]string{"en": "−0.004 to 0.39", "es": "de −0,004 a 0,39"} {
		at := view.ComparisonAtLag{Interval: &view.CorrelationInterval{Level: 0.9, Lo: -0.004, Hi: 0.39}}
		body := compareBody{localizer: localizer{Lang: lang}, Comparison: &view.Comparison{ByLag: []view.ComparisonAtLag{{Correlation: new(0.2), Interval: at.Interval}}}}
		if got := body.Range(at); got != want {
			t.Errorf("%s: %q, want %q", lang, got, want)
		}
		if body.draw(); !strings.Contains(string(body.LagPoints), `"range":"`+want+`"`) {
			t.Errorf("%s: the points of the script are %s, want %q", lang, body.LagPoints, want)
		}
	}
}
